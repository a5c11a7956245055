"""Rounds and seconds, and two batch times, are in no mean together: of no table, of no figure."""

from dataclasses import replace
from typing import Any

import pandas as pd
import pytest

from instances.batch_time import NANOSECONDS
from kvopt.runs.row_columns import Record
from reports.build import make_report
from reports.figures.ranking import ranking_table
from reports.page_parts import ReportFigure
from reports.stored_results import Results
from reports.table import Table
from reports.terminal_report import format_leaderboard
from tests.reports.synthetic import frame, record, units_of

FAST, SLOW = "affine(base=0.01,token=0)", "affine(base=2,token=0)"
#: What has a line a run or instance, or counts runs: no line of it is about two units.
LISTED = ("instances", "runs", "instances-seconds", "runs-seconds", "serving")
COUNTED = ("statuses",)


def _store(batch_time: str, worse: int) -> list[Record]:
    """Return runs of policies, solvers and a bound on instances of one unit."""
    made = []
    for k, name in enumerate(("trap_16", "trap_32", "trap_64", "b_1", "b_2", "planted_1")):
        family = {"t": "mcsf-trap", "b": "uniform", "p": "planted"}[name[0]]
        about: dict[str, Any] = {"instance": name, "family": family, "n": 4 + k}
        about |= {"memory": 16 << (k % 3), "batch_time": batch_time}
        if name[0] == "p" and not batch_time:
            about["known_optimum"] = 100
        unit = NANOSECONDS if batch_time else 1
        for method, tel in (
            *(("svf", 110 + worse * k), ("mc-sf", 130), ("fcfs", 150 - 3 * k)),
            ("vllm-v1", 120 + worse),
        ):
            made.append(record(**about, method=method, tel=tel * unit, seconds=0.1 + worse))
        engine = {"tel": 105 * unit, "lower_bound": 100 * unit, "seconds": 2.0 + worse}
        trace = {"incumbents": [(0.5, 140 * unit), (1.0 + worse, 105 * unit)]}
        trace["bounds"] = [(0.5, 80 * unit), (1.5, 100 * unit)]
        made.append(record(**about, **engine, **trace, method="cpsat", solver="x"))
        bound = {"lower_bound": (90 + worse) * unit, "bound_source": "prices"}
        made.append(record(**about, method="bound", **bound))
    crashed = {"method": "a-min with exact", "status": "crashed", "batch_time": batch_time}
    made.append(record(instance="b_1", family="uniform", **crashed))
    keyed = [f"{batch_time}{place}" for place in range(len(made))]
    return [replace(each, key=key) for each, key in zip(made, keyed, strict=True)]


ROUNDS, FASTER, SLOWER = _store("", 5), _store(FAST, 20), _store(SLOW, 45)


#: Each with what its slugs end in, where all are in one store.
UNITS = [(ROUNDS, ""), (FASTER, "-seconds"), (SLOWER, "-seconds-2")]


def _parts(*records: Record) -> dict[str, Table | ReportFigure]:
    return {part.slug: part for part in make_report(Results(frame(*records))).shown}


def _renamed(alone: list[Record], mark: str) -> dict[str, Table | ReportFigure]:
    """Return what a unit gives alone, by the slug that it has beside others."""
    single = "-seconds" if mark else ""
    return {
        slug.removesuffix(single) + mark: part
        for slug, part in _parts(*alone).items()
        if slug not in (*LISTED, *COUNTED)
    }


def _holds(part: Table | ReportFigure) -> Any:
    if isinstance(part, ReportFigure):
        return part.drawing.svg, part.note
    return part.note, [[cell.text for cell in row] for row in part.rows(10**6)]


@pytest.fixture(scope="module")
def together() -> dict[str, Table | ReportFigure]:
    return _parts(*FASTER, *ROUNDS, *SLOWER)


@pytest.mark.slow("repeats")
@pytest.mark.parametrize(("alone", "mark"), UNITS)
def test_a_unit_s_tables_are_what_they_are_without_the_others(
    together: dict[str, Table | ReportFigure], alone: list[Record], mark: str
) -> None:
    """Walks over all tables and figures: each is that of a store with its unit alone."""
    renamed = _renamed(alone, mark)
    assert len(renamed) >= 12
    expected = "leaderboard-clairvoyant solvers bounds-board main-result tel-profiles"
    assert set(expected.split()) <= {slug.removesuffix(mark) for slug in renamed}
    for slug, part in renamed.items():
        assert _holds(together[slug]) == _holds(part), slug


@pytest.mark.slow("repeats")
def test_no_part_is_about_more_than_its_unit(together: dict[str, Table | ReportFigure]) -> None:
    """Beside those of the units there is only what lists or counts, and titles tell them apart."""
    expected = [slug for alone, mark in UNITS for slug in _renamed(alone, mark)]
    assert sorted(together) == sorted([*expected, *LISTED, *COUNTED])
    titles = [part.title for part in together.values()]
    assert len(set(titles)) == len(titles)
    title = together["leaderboard-clairvoyant-seconds-2"].title
    assert title == f"Leaderboard: clairvoyant (arrivals in seconds, {SLOW})"


def test_the_note_on_kept_tokens_is_of_its_unit() -> None:
    """In seconds the bounds hold for what keeps tokens, so no upper end is unknown."""
    timed = _store(FAST, 5)
    for runs, told in (
        (ROUNDS, "end is unknown (?)"),
        (timed, "Their runs say that the lower"),
    ):
        (unit,) = units_of(*runs)
        assert told in ranking_table(unit.boards).notes[1]


def test_the_leaderboard_command_keeps_them_apart() -> None:
    told = " ".join(format_leaderboard(Results(frame(*ROUNDS, *FASTER))).split())
    assert "Leaderboard: non-clairvoyant (arrivals in seconds)" in told
    assert "Bounds (arrivals in seconds)" in told
    assert f"In seconds under {FAST}: Clairvoyant, 3 policies: mc-sf leaves" in told
    assert "In rounds: Clairvoyant, 3 policies: mc-sf leaves" in told


def test_any_text_may_be_a_batch_time() -> None:
    bad = [replace(each, batch_time="[x](y) <b>", key=f"b{each.key}") for each in FASTER]
    found = units_of(*bad, *SLOWER)
    words = [each.words for each in found]
    assert words == [" (arrivals in seconds, batch time 1)", f" (arrivals in seconds, {SLOW})"]
    assert isinstance(found[0].rows, pd.DataFrame)
