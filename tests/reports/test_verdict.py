"""The sentences of a report name who stands first in the table under them, and deny nobody."""

from collections import Counter
from dataclasses import replace
from math import floor
from statistics import fmean
from typing import Any

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from instances.batch_time import NANOSECONDS
from kvopt.methods.knowledge import knowledge
from kvopt.methods.method_names import shown_method
from kvopt.runs.row_columns import Record
from reports.tables.leaderboard import leaderboards
from reports.time_units import Unit
from reports.verdict_sentences import verdict
from tests.reports.synthetic import record, units_of

#: Told the outputs, online and offline; nothing; intervals; the file's; nothing and outside the
#: problem; not declared, of one's own and of another program.
METHODS = (
    *("svf", "mc-sf", "local-search", "alpha-beta", "a-min with interval", "a-min", "vllm-v1"),
    *("sglang-ratio", "file:mine.py", "file:yours.py", "another", "a-min with exact"),
)
CLASSES = {
    "clairvoyant policy": {"outputs"},
    "policy with predictions": {"exact", "file", "intervals"},
    "non-clairvoyant policy": {"nothing"},
}


def _unit(*records: Record) -> tuple[list[Unit], list[str]]:
    found = units_of(*records)
    return found, [str(each) for each in verdict(found)]


def _run(method: str, instance: str, tel: int | None, batch_time: str = "") -> Record:
    unit = NANOSECONDS if batch_time else 1
    given: dict[str, Any] = {"method": method, "instance": instance, "batch_time": batch_time}
    given |= {"tel": None, "status": "no_solution"} if tel is None else {"tel": tel * unit}
    return record(**given, key=f"{method} {instance} {batch_time}", lower_bound=90 * unit)


@st.composite
def stores(draw: st.DrawFn) -> list[Record]:
    """Draw runs of some methods on some instances each, in rounds, in seconds or in both."""
    texts = draw(st.sampled_from([("",), ("affine(base=1,token=0)",), ("", "linear")]))
    runs = []
    for text in texts:
        for method in draw(st.lists(st.sampled_from(METHODS), min_size=1, unique=True)):
            names = draw(st.lists(st.sampled_from("abcd"), min_size=1, unique=True))
            tels = st.one_of(st.none(), st.integers(100, 130))
            runs += [_run(method, name, draw(tels), text) for name in names]
    return runs


def _gaps(runs: list[Record]) -> dict[str, dict[str, float]]:
    """Return (TEL - UB) / TEL by label and instance, from the records alone; 1 without a TEL."""
    best_of: dict[str, int] = {}
    for run in runs:
        if run.tel is not None and run.method not in OUTSIDE:
            best_of[run.instance] = min(run.tel, best_of.get(run.instance, run.tel))
    gaps: dict[str, dict[str, float]] = {}
    for run in runs:
        best = best_of.get(run.instance)
        label = shown_method(run.method) + (" *" if run.method in OUTSIDE else "")
        if run.method in OUTSIDE and run.tel is not None:
            best = min(run.tel, best or run.tel)
        if run.tel is None:
            gaps.setdefault(label, {})[run.instance] = 1.0
        elif best is not None:
            gaps.setdefault(label, {})[run.instance] = (run.tel - best) / run.tel
    return gaps


OUTSIDE = ("vllm-v1", "sglang-ratio")


def _about(unit: Unit, sentences: list[str], several: bool) -> list[str]:
    where = f"In seconds under {unit.batch_time}: " if unit.batch_time else "In rounds: "
    if not several:
        return [each.removeprefix(where) for each in sentences]
    return [each.removeprefix(where) for each in sentences if each.startswith(where)]


@pytest.mark.slow("repeats")
@settings(max_examples=25, deadline=None)
@given(stores())
def test_every_unit_s_sentences_follow_from_its_rows(records: list[Record]) -> None:
    """Whatever was run, in rounds and in seconds: the best of each class, the worst ratio."""
    found, sentences = _unit(*records)
    for unit in found:
        told_of_it = _about(unit, sentences, len(found) > 1)
        runs = [each for each in records if each.batch_time == unit.batch_time]
        gaps = _gaps(runs)
        ran_on = Counter(run.instance for run in runs)
        most = len({run.method for run in runs}) / 2
        shared = [name for name, count in ran_on.items() if count > most]
        for table in leaderboards(unit.boards):
            lines = table.frame
            for label, low in lines[["label", "gap_low"]].itertuples(index=False):
                own: list[Any] = [gaps.get(label, {}).get(name) for name in shared]
                # Where an instance has no UB the gap is not known.
                assert pd.isna(low) if None in own else low == pytest.approx(fmean(own))
            start = f"{lines['class'][0]},"
            (said,) = [each for each in told_of_it if each.lower().startswith(start)]
            assert str(lines["label"].iloc[0]) in said
        (worst,) = [each for each in told_of_it if "ratio to OPT" in each] or [""]
        ratios = [1 / (1 - gap) for each in gaps.values() for gap in each.values() if gap < 1]
        if ratios and worst:
            # The lower end of an interval is rounded down.
            ends = (max(ratios), floor(1000 * max(ratios) + 1e-7) / 1000)
            assert any(f"{each:.3f}" in worst.split("(")[0] for each in ends)
        for what, kinds in CLASSES.items():
            ran = {knowledge(run.method).lengths for run in runs}
            if any(each == f"No {what} was run." for each in told_of_it):
                assert not ran & kinds


def test_seconds_are_told_as_rounds_are() -> None:
    """Classes, the worst ratio and who failed; of seconds bounds hold where tokens are kept."""
    told_of = [
        _run(method, name, tel, text)
        for text in ("", "linear")
        for method, tels in (("mc-sf", (100, 110)), ("vllm-v1", (150, 90)), ("svf", (100, None)))
        for name, tel in zip("ab", tels, strict=True)
    ]
    found, sentences = _unit(*told_of)
    both, same = (_about(unit, sentences, several=True) for unit in found)
    over = "(mean over 2 instances)."
    # mc-sf: 0 to 10 / 100 and 0 to 20 / 110; vllm-v1: 50 / 150 to 60 / 150, and its own best on b.
    assert same == [
        f"Clairvoyant, 2 policies: mc-sf leaves 0.0 % to the best known schedules, at most 14.1 % "
        f"to OPT {over}",
        "No policy with predictions was run.",
        "Non-clairvoyant, 1 policy: vllm-v1 * leaves 16.6 % to the best known schedules, at most "
        f"20.0 % to OPT {over}",
        "The worst ratio to OPT, seeds averaged, is [1.500, 1.667] (vllm-v1 * on a); without a "
        "schedule on some instance: svf.",
    ]
    assert both == [
        *same[:2],
        f"Non-clairvoyant, 1 policy: vllm-v1 * leaves at least 16.6 % {over}",
        same[3].replace("1.667", "?"),
    ]
    lines = leaderboards(found[0].boards)[0].frame.set_index("label")
    assert lines.loc["svf", "worst"] == "[1.000, ?]"
    assert lines.loc["svf", "gap"] == "[50.0, 55.0] % (1 failed)"


def test_what_only_fails_shows_no_ratio_and_no_gap() -> None:
    """A mean of penalties is none; policies with one gap are named together."""
    found, _ = _unit(_run("svf", "a", None), _run("mc-sf", "a", 110))
    lines = leaderboards(found[0].boards)[0].frame.set_index("label")
    assert (lines.loc["svf", "worst"], lines.loc["svf", "gap"]) == ("", "")
    _, alone = _unit(_run("svf", "a", None), _run("h-sf", "a", 100), _run("fcfs", "a", 100))
    assert "Clairvoyant, 3 policies: fcfs, h-sf leave 0.0 %" in alone[0]


def test_a_method_of_one_s_own_has_its_place() -> None:
    """Also where it is not the first of its class: who wrote it looks for it."""
    runs = [_run("svf", "a", 100), _run("mc-sf", "a", 110), _run("file:mine.py", "a", 125)]
    runs[2] = replace(runs[2], told="clairvoyant")
    _, sentences = _unit(*runs)
    exact = replace(_run("file:mine.py", "b", 125), told="with exact predictions")
    both, _ = _unit(replace(runs[2], told="with predictions"), exact)
    assert [board.knows for board in both[0].boards] == ["with predictions"]
    assert (
        "file:mine.py is number 3 of 3 policies (clairvoyant) and leaves 20.0 % to the best known "
        "schedules, at most 28.0 % to OPT (mean over 1 instance)." in sentences
    )


def test_the_answer_is_about_one_instance() -> None:
    runs = [_run("file:mine.py", "a", 100), _run("svf", "a", 110), _run("vllm-v1", "a", 120)]
    _, (answer, first, none, second, third, _) = _unit(*runs)
    assert answer == "No scheduler within the problem has a mean below 22.500."
    assert first.startswith("Clairvoyant, 1 policy: svf leaves 9.0 %")
    assert none == "No policy with predictions was run."
    assert second.startswith("Non-clairvoyant, 1 policy: vllm-v1 * leaves at least 16.6 %")
    assert third.startswith("Not declared, 1 policy: file:mine.py leaves 0.0 %")


def test_who_shares_no_instances_is_named() -> None:
    policies = ("svf", "mc-sf", "alpha-beta")
    runs = [_run(name, f"{place}", 100) for place, name in enumerate(policies)]
    found, (_, first, _, third, _) = _unit(*runs)
    assert not leaderboards(found[0].boards)
    assert first == "Clairvoyant: not ranked, run on too few common instances: mc-sf, svf."
    assert third == "Non-clairvoyant: not ranked, run on too few common instances: alpha-beta."
