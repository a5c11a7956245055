"""What the site adds to the documentation: who is best, what is open, and the pages of both."""

from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest

from kvopt.best_known import known_values, read_registry
from kvopt.best_known.library_and_ladder import LibraryWithLadder
from reports.nightly.__main__ import FOLDER, ROWS
from reports.nightly.night_rows import read_rows
from reports.site_results import SiteResults, make_site_results
from tests.docs.followed import broken
from tests.reports.folders import fill

NAMES = ("uniform_100", "am2_07", "tiny_handover")


@pytest.fixture(scope="module")
def night() -> pd.DataFrame:
    """The committed rows of three instances, and of a trap, as if of sources of before."""
    rows = read_rows(FOLDER / ROWS)
    chosen = rows["instance"].isin([*NAMES, "mcsf_trap_16"]) & rows["section"].eq("policies")
    return rows[chosen].reset_index(drop=True).assign(code="0" * 16)


@pytest.fixture(scope="module")
def made(night: pd.DataFrame) -> SiteResults:
    registry = read_registry()
    assert registry is not None
    few = tuple(each for each in registry.instances if each.instance in NAMES)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("reports.build._figure", lambda *_: None)
        return make_site_results(replace(registry, instances=few), known_values(), night, 0)


def test_the_first_screen(made: SiteResults, night: pd.DataFrame) -> None:
    """One line a class, then the open instances with their gaps, and of what rows that is."""
    lines = made.first.splitlines()
    # Offline, online, with predictions, without, and without any that keeps tokens.
    best = [line for line in lines if line.startswith(("| clairvoyant", "| with", "| non-"))]
    assert len(best) == 5
    assert "`vllm-v1 *`" in best[3]
    assert "`local-search`" in best[0]
    still = [line for line in lines if "](library/instances/" in line]
    assert {line.split("`")[1] for line in still} == {"am2_07", "uniform_100"}
    gaps = [float(line.split("|")[-2].strip(" %")) for line in still]
    assert gaps == sorted(gaps, reverse=True)
    # One of the three is an instance of the ladder, too.
    unrun = f"{len(LibraryWithLadder({})) - 1} more, of the ladder, were never run"
    assert f"3 instances ({unrun}), 1 of them with UB = LB" in made.first
    assert f"{len(night):,} of {len(night):,} runs used an older version" in made.first


def test_the_pages_link_each_other(made: SiteResults, tmp_path: Path) -> None:
    """From the leaderboard to the library's pages, and from all back; the rest is MkDocs'."""
    fill(tmp_path, {"index.html": "", "source/papers/index.html": "", **made.files})
    assert broken(tmp_path) == []
    board = made.files["leaderboard/index.html"]
    assert 'href="../library/instances/' in board
    assert 'href="../index.html"' in board
    assert "used an older version of their method" in board


def test_files_of_the_library_have_their_place(made: SiteResults) -> None:
    """A link to an instance leads to its page, one to a proof to its copy."""
    assert made.places["instances/tiny/handover.json"] == "library/instances/tiny_handover.html"
    bound = made.places["instances/best_known/bounds/am2_07.json"]
    assert bound == "library/files/am2_07.bound.json"
    assert set(made.places.values()) <= set(made.files)
