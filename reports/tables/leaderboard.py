"""The boards as tables: policies by rank, on adversarial instances, and what only bounds."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from reports.boards import Board, standings
from reports.interval import interval_text, share_text
from reports.metrics import SHIFT_SECONDS, shifted_geometric_mean
from reports.per_instance import family_mean
from reports.rows import MARK_NOTE
from reports.spread import spread_note
from reports.table import WORST_ON, Column, Table, columns
from schedules.gap import gaps

KNOWS = Column("knows", "knows")
#: What the slugs of the boards with ranks begin with.
LEADERBOARD = "leaderboard"
_RULE = (
    "Ranked by the gap, {over}. The "
    "lower end is the gap to the best known schedule, (TEL − UB) / TEL, the upper end the gap to "
    "the best bound, (TEL − LB) / TEL; the gap to OPT lies between them, and “?” is an end that is "
    "not known. A run without a schedule counts as 100 %. Worst ratio: TEL / OPT on the instance "
    "named. Optimal: the share of the instances whose OPT is known and met, the same mean."
)
_AGAIN = "Ranked as the first board, {over}."
_ADVERSARIAL = (
    "Instances made or chosen to show a policy's weakness: traps, late bursts, worst cases and the "
    "papers' example. They count in no rank, mean or sentence above, as one of them may be the "
    "worst of every policy. Each line, by name, is over those that the policy was run on."
)
_BOUNDS = (
    "Methods that make bounds only. Gap left: (UB − LB) / UB with the best known schedule and the "
    "method's own bound, the mean over families of each one's mean, and the worst run; a run "
    "without a bound counts as 100 %. "
    "Closed: runs whose bound meets UB. Shifted mean: of the seconds, shift "
    f"{SHIFT_SECONDS:g} s."
)


def leaderboards(found: Sequence[Board]) -> list[Table]:
    """Return the board of each class as a table; its frame says what its means are ``over``."""
    return [_board(each, rule=each is found[0]) for each in found]


def adversarial_board(adversarial: pd.DataFrame) -> Table:
    """Return the policies on the instances that no rank is made of; that of a unit of time."""
    lines = standings(adversarial[~adversarial["engine"]]).sort_values("label")
    counted = columns("count", instances="instances")
    shown = (Column("label", "policy", "name"), *_COLUMNS, KNOWS, *counted)
    note = _ADVERSARIAL + spread_note(lines["spread"])
    return Table("adversarial", "Adversarial instances", note, shown, _written(lines))


def bounds_board(runs: pd.DataFrame) -> Table:
    """Return one line a method that makes bounds only; ``runs`` is that of a unit of time."""
    own = runs[runs["bound_only"]]
    bound = own["lower_bound"].where(own["believed"])
    left = gaps(own["upper"], bound).where(bound.notna(), 1.0)
    frame = own.assign(
        bound=bound, left=left, closed=left.eq(0), seconds=own["seconds"].fillna(0.0)
    )
    lines = frame.groupby("label", sort=True).agg(
        instances=("id", "nunique"),
        runs=("id", "size"),
        bounded=("bound", "count"),
        closed=("closed", "sum"),
        worst=("left", "max"),
        shifted=("seconds", shifted_geometric_mean),
    )
    shown = (
        Column("label", "method", "name"),
        *columns("count", instances="instances", runs="runs", unbounded="no bound"),
        Column("closed", "closed", "count"),
        *columns("share", mean="mean gap left", worst="worst gap left"),
        Column("shifted", "shifted mean, s", "seconds"),
    )
    lines["mean"] = family_mean(frame, "left")
    lines["unbounded"] = lines["runs"] - lines["bounded"]
    frame = lines.reset_index().sort_values(["mean", "label"])
    return Table("bounds-board", "Bounds", _BOUNDS, shown, frame)


def _board(board: Board, *, rule: bool) -> Table:
    # What holds for all boards stands below the first.
    note = (_RULE if rule else _AGAIN).format(over=board.over) + spread_note(board.lines["spread"])
    if board.lines["marked"].any():
        note += f" {MARK_NOTE}"
    if board.elsewhere:
        others = ", ".join(f"{name} ({count:,})" for name, count in board.elsewhere.items())
        note += f" Not ranked, run on fewer instances: {others}."
    told = [KNOWS] if board.lines["knows"].ne(board.knows).any() else []
    return Table(
        f"{LEADERBOARD}-{board.knows.removeprefix('with ').replace(' ', '-')}",
        f"Leaderboard: {board.knows}",
        note,
        (Column("rank", "rank", "count"), Column("label", "policy", "name"), *_COLUMNS, *told),
        _written(board.lines).assign(over=board.over),
    )


def _written(lines: pd.DataFrame) -> pd.DataFrame:
    gaps = share_text(lines["gap_low"], lines["gap_high"])
    penalties = "(" + lines["unsolved"].astype(str) + " failed)"
    gaps = gaps.where(lines["unsolved"].eq(0), gaps + " " + penalties)
    return lines.assign(
        # A mean of penalties only is no gap.
        gap=gaps.where(lines["unsolved"].lt(lines["instances"]), ""),
        worst=interval_text(lines["ratio_low"], lines["ratio_high"], lines["known"]),
    )


_COLUMNS = (
    Column("gap", "gap", "share", sort="gap_low", spread="spread"),
    Column("worst", "worst ratio", "ratio", sort="ratio_low"),
    Column("instance", WORST_ON, "name"),
    Column("optimal", "optimal", "share"),
    Column("seconds", "seconds", "seconds"),
)
