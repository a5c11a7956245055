"""What pages show as printed is what is printed today: the registry moves, and so do they."""

import re
from collections.abc import Iterator

import nbformat
import pytest

from heuristics.policy_registry import policies
from heuristics.simulator import run_policy
from instances import read_instance
from instances.instance_names import find_instance
from kvopt.registry_lookup import find_registered
from tests.docs.pages import PAGES, ROOT, blocks

_NOTEBOOK = nbformat.read(ROOT / "docs" / "quickstart.ipynb", as_version=4)
#: The source of each cell of the notebook that shows something, and what that is.
_CELLS = [(cell.source, output) for cell in _NOTEBOOK.cells for output in cell.get("outputs", [])]


def _printed() -> Iterator[tuple[str, str]]:
    """Yield every block of a page, and every output of the notebook, with where it stands."""
    for page in PAGES:
        for block in blocks(page):
            yield f"{page.name}:{block.line}", block.text
    for number, (_, output) in enumerate(_CELLS):
        yield f"quickstart.ipynb:{number}", output.get("text", "")


def _shown(source: str, kind: str = "plain") -> str:
    """Return what the cell of the notebook shows in whose source some words stand."""
    shown: str = next(output["data"][f"text/{kind}"] for told, output in _CELLS if source in told)
    return shown


SUMMARIES = {
    where: dict(re.findall(r"^(\S.*?)  +(.+)$", text, re.MULTILINE))
    for where, text in _printed()
    if re.match(r"instance  +\S", text) and "\nbest known " in text
}


def test_there_are_summaries() -> None:
    assert {where.partition(":")[0] for where in SUMMARIES} >= {"README.md", "quickstart.ipynb"}


@pytest.mark.parametrize("where", sorted(SUMMARIES))
def test_a_summary_is_true_today(where: str) -> None:
    """Whatever depends on the time lies within what the registry allows, all else is equal."""
    shown = SUMMARIES[where]
    instance = read_instance(find_instance(shown["instance"]))
    known = find_registered(instance)
    assert known is not None
    assert shown["best known"] == str(known)
    assert (shown["n"], shown["M"]) == (str(len(instance)), f"{instance.memory} tokens")
    tel, bound = (int(shown[label].split()[0]) for label in ("TEL", "lower bound"))
    assert known.lower <= tel
    assert bound <= known.upper
    assert shown["gap to these"] == known.compared(tel, bound)
    assert shown["gap %"] == f"{100 * (tel - bound) / tel:.3f}"
    assert shown["AEL"] == f"{tel / len(instance):.3f}"


def test_the_example_of_the_index_is_true() -> None:
    """How many requests wait under MC-SF, and both values of the picture."""
    index = (ROOT / "docs" / "index.md").read_text(encoding="utf-8")
    instance = read_instance(find_instance("example_3_1"))
    schedule = run_policy(policies()["mc-sf"], instance)
    waiting = sum(start > min(schedule.starts) for start in schedule.starts)
    known = find_registered(instance)
    assert known is not None
    assert f"and {waiting} requests wait for it" in index
    assert f"optimum, TEL {known.upper}, above the schedule of MC-SF, TEL {schedule.tel}," in index


def test_what_the_notebook_shows_is_true_today() -> None:
    """Its table of many runs: what policies that know all reach, and what the registry knows."""
    table = _shown("kvopt.compare", "html")
    names = re.findall(r"<th>(\w+)</th>", table.partition("<tbody>")[0])
    rows = [re.findall(r"<td>(.*?)</td>", row) for row in table.split("<tr>")[1:]]
    runs = [dict(zip(names, row, strict=True)) for row in rows if row]
    assert len(runs) == 6
    for run in runs:
        instance = read_instance(find_instance(run["instance"]))
        known = find_registered(instance)
        assert known is not None
        tel, best, bound = (int(run[name]) for name in ("tel", "best", "best_bound"))
        assert (best, bound) == (known.upper, known.lower)
        if run["method"] in policies():
            assert tel == run_policy(policies()[run["method"]], instance).tel
        assert float(run["gap"]) == round((tel - int(run["bound"])) / tel, 3)
        shown = (float(run["ratio_low"]), float(run["ratio_high"]))
        assert shown == (round(tel / best, 3), round(tel / bound, 3))


def test_what_the_notebook_says_of_one_run_is_one_run() -> None:
    """Its numbers are those of the summary, and its curve ends there."""
    shown = next(SUMMARIES[where] for where in SUMMARIES if where.startswith("quickstart"))
    tel, bound = (int(shown[label].split()[0]) for label in ("TEL", "lower bound"))
    gap = (tel - bound) / tel
    assert _shown("result.tel,") == str((tel, bound, gap, "feasible"))
    assert _shown("result.trace").split()[-3:-1] == [str(tel), str(bound)]
    instance = read_instance(find_instance("uniform_100"))
    assert f"TEL {run_policy(policies()['mc-sf'], instance).tel}, " in _shown("kvopt.run(")
