"""The sentences of a report name who stands first in the table under them, and deny nobody."""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from instances.batch_time import NANOSECONDS
from kvopt.methods.told import told
from kvopt.running.record import Record
from reports.measured import measured
from reports.references import references
from reports.rows import prepare
from reports.table import Table
from reports.tables.leaderboard import leaderboards, outside_board
from reports.units import Unit, units
from reports.verdict import verdict
from tests.reports.synthetic import frame, record

#: Told the outputs, online and offline; nothing; intervals; the file's; nothing and outside the
#: problem; not declared, of one's own and of another program.
METHODS = (
    *("svf", "mc-sf", "local-search", "alpha-beta", "a-min with interval", "a-min", "vllm-v1"),
    *("sglang-ratio", "file:mine.py", "file:yours.py", "another"),
)
KNOWN, UNKNOWN = {"outputs", "file"}, {"nothing", "intervals"}


def _unit(*records: Record) -> tuple[list[Unit], list[str]]:
    rows = prepare(frame(*records))
    found = units(rows, measured(rows, references(rows)))
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


@settings(max_examples=150, deadline=None)
@given(stores())
def test_who_is_first_in_the_table_is_named_and_nobody_is_denied(records: list[Record]) -> None:
    """Whatever was run: the first sentence has the table's first line, and no sentence is false."""
    found, sentences = _unit(*records)
    first, lines = found[0], sentences[0]
    boards = leaderboards(first.averaged)
    if boards:
        assert _first(boards[0]) in lines
    others = [each for each in found[1:] if not each.averaged["marked"].all()]
    for other, sentence in zip(others, sentences[len(sentences) - len(others) :], strict=True):
        for board in leaderboards(other.averaged)[:1]:
            assert _first(board) in sentence
    averaged = first.averaged
    lengths = {told(method).lengths for method in averaged["method"]}
    inside = {told(method).lengths for method in averaged.loc[~averaged["marked"], "method"]}
    for sentence in sentences:
        denied = sentence.startswith("No policy was run that")
        declared = "by its own declaration" in sentence
        if "No policy within the problem was run, so" in sentence:
            assert not inside
        kinds = UNKNOWN if "does not know" in sentence else KNOWN
        if denied:
            assert not lengths & kinds
            assert declared == ("unknown" in lengths)
        if sentence.startswith("No policy within the problem was run that"):
            assert not inside & kinds
            assert lengths & kinds
            assert _first(outside_board(averaged)).removesuffix(" *") in METHODS
            assert "; outside the problem, " in sentence


def _first(table: Table) -> str:
    return str(table.frame["label"].iloc[0])


def test_a_method_of_one_s_own_that_is_first_is_said_to_be() -> None:
    """Here svf is second in the table: it is best of those that know the outputs, not of all."""
    runs = [_run("file:mine.py", "a", 100), _run("svf", "a", 110), _run("vllm-v1", "a", 120)]
    _, (first, second, _) = _unit(*runs)
    assert first == (
        "file:mine.py (undeclared) is first overall and leaves 0.0 % to the best known schedules, "
        "at most 10.0 % to OPT (mean gap over 1 instances); where output lengths are known, svf is "
        "the only online policy and leaves 9.1 % to the best known schedules, at most 18.2 % to "
        "OPT (mean gap over 1 instances)."
    )
    assert second == (
        "No policy within the problem was run that does not know the output lengths; outside the "
        "problem, vllm-v1 * leaves 16.7 % to the best known schedules, at most 25.0 % to OPT "
        "(1 instances; * keeps tokens over evictions, an easier problem)."
    )


def test_what_nobody_declares_is_said_so() -> None:
    """A file may know the outputs or not: neither is denied of it."""
    _, (first, second, _) = _unit(_run("file:mine.py", "a", 100))
    assert first.startswith("file:mine.py (undeclared) is first overall")
    assert second == (
        "No policy was run that by its own declaration does not know the output lengths."
    )


def test_who_shares_no_instances_is_named() -> None:
    """Three policies on an instance each: no board, and no denial."""
    runs = [
        _run(name, f"{place}", 100) for place, name in enumerate(("svf", "mc-sf", "alpha-beta"))
    ]
    found, (first, second, _) = _unit(*runs)
    assert not leaderboards(found[0].averaged)
    assert first == (
        "No policy that knows the output lengths shares instances enough to be ranked; run: "
        "mc-sf, svf."
    )
    assert second.endswith("shares instances enough to be ranked; run: alpha-beta.")
