"""What pages show as printed is what is printed today: the registry moves, and so do they."""

from __future__ import annotations

import re
from collections.abc import Iterator

import nbformat
import pytest

from heuristics.registry import policies
from heuristics.simulator import run_policy
from instances import read_instance
from instances.named import find_instance
from kvopt.registered import registered
from tests.docs.pages import PAGES, ROOT, blocks


def _printed() -> Iterator[tuple[str, str]]:
    """Yield every block of a page, and every output of the notebook, with where it stands."""
    for page in PAGES:
        for block in blocks(page):
            yield f"{page.name}:{block.line}", block.text
    notebook = nbformat.read(ROOT / "docs" / "quickstart.ipynb", as_version=4)
    for number, cell in enumerate(notebook.cells):
        for output in cell.get("outputs", []):
            yield f"quickstart.ipynb:{number}", output.get("text", "")


SUMMARIES = {
    where: dict(re.findall(r"^(\S.*?)  +(.+)$", text, re.MULTILINE))
    for where, text in _printed()
    if re.match(r"instance  +\S", text) and "\nbest known " in text
}


def test_there_are_summaries() -> None:
    """The README's, and the notebook's."""
    assert {where.partition(":")[0] for where in SUMMARIES} >= {"README.md", "quickstart.ipynb"}


@pytest.mark.parametrize("where", sorted(SUMMARIES))
def test_a_summary_is_true_today(where: str) -> None:
    """Whatever depends on the time lies within what the registry allows, all else is equal."""
    shown = SUMMARIES[where]
    instance = read_instance(find_instance(shown["instance"]))
    known = registered(instance)
    assert known is not None
    assert shown["best known"] == str(known)
    assert (shown["n"], shown["M"]) == (str(len(instance)), f"{instance.memory} tokens")
    tel, bound = (int(shown[label].split()[0]) for label in ("TEL", "lower bound"))
    assert known.lower <= tel
    assert bound <= known.upper
    assert shown["gap to best"] == known.compared(tel, bound)
    assert shown["gap %"] == f"{100 * (tel - bound) / tel:.3f}"
    assert shown["AEL"] == f"{tel / len(instance):.3f}"


def test_what_the_readme_says_of_mc_sf_is_true() -> None:
    """Its TEL, how many wait for the first request, and both values of the picture."""
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    instance = read_instance(find_instance("example_3_1"))
    schedule = run_policy(policies()["mc-sf"], instance)
    waiting = sum(start > min(schedule.starts) for start in schedule.starts)
    known = registered(instance)
    assert known is not None
    assert f"MC-SF needs {schedule.tel}:" in readme
    assert f"and {waiting} requests wait for it" in readme
    assert f"the optimum, TEL {known.upper}, above that of MC-SF, TEL {schedule.tel}," in readme
