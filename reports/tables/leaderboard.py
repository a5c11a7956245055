"""The boards as tables: policies by rank, on adversarial instances, and methods of bounds only."""

from collections.abc import Sequence
from dataclasses import replace

import pandas as pd

from reports.formulas import SHIFT_SECONDS, shifted_geometric_mean
from reports.per_instance import family_mean, spread_note
from reports.policy_boards import Board, standings
from reports.prepared_rows import MARK_NOTE
from reports.table import WORST_ON, Column, Table, columns, write_column, write_ratio, write_share
from schedules.gap import gaps

KNOWS = Column("knows", "knows")
#: The beginning of the slugs of the boards with ranks.
LEADERBOARD = "leaderboard"
_ADVERSARIAL = (
    "Instances made or chosen to show a policy's weakness: traps, late bursts, worst cases and the "
    "papers' example. They count in no rank, mean or sentence above. Each line, by name, is over "
    "the instances that the policy was run on."
)
_BOUNDS = "Methods that make bounds only; a run without a bound counts as a gap of 100 %."


def leaderboards(found: Sequence[Board]) -> list[Table]:
    """Return the board of each class as a table; on a page the first one defines the columns."""
    return [_board(each, _COLUMNS if each is found[0] else _PLAIN) for each in found]


def adversarial_board(adversarial: pd.DataFrame) -> Table:
    """Return the policies on a unit's adversarial instances, without a rank."""
    lines = standings(adversarial[~adversarial["engine"]]).sort_values("label")
    counts = columns("count", instances="instances")
    shown = (Column("label", "policy", "name"), *_PLAIN, KNOWS, *counts)
    note = _ADVERSARIAL + spread_note(lines)
    return Table("adversarial", "Adversarial instances", note, shown, _written(lines))


def bounds_board(runs: pd.DataFrame) -> Table:
    """Return one line a method that makes bounds only; ``runs`` are a unit's."""
    own = runs[runs["bound_only"]]
    bound = own["lower_bound"].where(own["believed"])
    left = gaps(own["upper"], bound).where(bound.notna(), 1.0)
    frame = own.assign(
        lacking=bound.isna(), left=left, closed=left.eq(0), seconds=own["seconds"].fillna(0.0)
    )
    lines = frame.groupby("label", sort=True).agg(
        instances=("id", "nunique"),
        runs=("id", "size"),
        unbounded=("lacking", "sum"),
        closed=("closed", "sum"),
        worst=("left", "max"),
        shifted=("seconds", shifted_geometric_mean),
    )
    mean = "(UB − LB) / UB with the best known schedule, mean over families of each one's mean."
    shown = (
        Column("label", "method", "name"),
        *columns("count", instances="instances", runs="runs", unbounded="no bound"),
        Column("closed", "closed", "count", note="runs whose bound meets UB."),
        Column("mean", "mean gap left", "share", note=mean),
        Column("worst", "worst gap left", "share"),
        Column("shifted", "shifted mean, s", "seconds", note=f"shift {SHIFT_SECONDS:g} s."),
    )
    lines = lines.assign(mean=family_mean(frame, "left")).reset_index()
    return Table("bounds-board", "Bounds", _BOUNDS, shown, lines.sort_values(["mean", "label"]))


def _board(board: Board, means: Sequence[Column]) -> Table:
    note = f"Ranked by the gap, {board.over}." + spread_note(board.lines)
    if board.elsewhere:
        others = ", ".join(f"{name} ({count:,})" for name, count in board.elsewhere.items())
        note += f" Not ranked, run on fewer instances: {others}."
    marked = MARK_NOTE if board.lines["marked"].any() else ""
    knows = [KNOWS] if board.lines["knows"].ne(board.knows).any() else []
    label = Column("label", "policy", "name", note=marked)
    return Table(
        f"{LEADERBOARD}-{board.knows.removeprefix('with ').replace(' ', '-')}",
        f"Leaderboard: {board.knows}",
        note,
        (Column("rank", "rank", "count"), label, *means, *knows),
        _written(board.lines),
    )


def _written(lines: pd.DataFrame) -> pd.DataFrame:
    gaps = write_column(write_share, lines["gap_low"], lines["gap_high"])
    failed = gaps + " (" + lines["unsolved"].astype(str) + " failed)"
    gaps = gaps.where(lines["unsolved"].eq(0), failed)
    ratios = (lines["ratio_low"], lines["ratio_high"], lines["known"].astype(bool))
    # A mean of penalties only is no gap.
    some = lines["gap_low"].ne(1).fillna(True)
    return lines.assign(
        gap=gaps.where(some, ""),
        spread=lines["spread"].where(some),
        worst=write_column(write_ratio, *ratios),
    )


_GAP = (
    "the share of its own total latency TEL that a policy would save with the optimum. [a, b]: a "
    "with the best known schedule UB, (TEL − UB) / TEL; b by the best bound LB, (TEL − LB) / TEL. "
    "?: not known. A run without a schedule counts as 100 %."
)
_RATIO = "TEL / OPT, seeds averaged: [TEL / UB, TEL / LB] where the lower end is greatest."
_OPTIMAL = "share of instances with LB = UB that it meets, mean over the families that have any."
_COLUMNS = (
    Column("gap", "gap", "share", sort="gap_low", spread="spread", note=_GAP),
    Column("worst", "worst ratio", "number", sort="ratio_low", note=_RATIO),
    Column("instance", WORST_ON, "name"),
    Column("optimal", "optimal", "share", note=_OPTIMAL),
    Column("seconds", "seconds", "seconds"),
)
_PLAIN = tuple(replace(each, note="", above=each.note) for each in _COLUMNS)
