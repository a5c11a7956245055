"""The boards as tables: policies by rank, those outside the problem, and what only bounds."""

from __future__ import annotations

import pandas as pd

from reports.boards import Board, boards, outside, standings
from reports.interval import interval_text, share_text
from reports.metrics import SHIFT_SECONDS, shifted_geometric_mean
from reports.spread import spread_note
from reports.table import WORST_ON, Column, Table
from schedules.gap import gaps
from support.text import counted

_RULE = (
    "Rule: ranked by the mean gap to the best known schedule, (TEL − UB) / TEL, over the "
    "{instances} that all of these policies were run on; seeds are averaged, and a run without a "
    "schedule counts as 100 %; the number of such instances stands beside the gap. The mean gap to "
    "OPT lies in the interval, whose upper end is the mean gap to the bound, (TEL − LB) / TEL; it "
    "is one number where every OPT is known. Worst ratio: TEL / OPT on the instance named, an "
    "interval where OPT is open there, with “?” where there is no bound or no schedule on some "
    "instance. Optimal: share of the instances whose OPT is known and met. Seconds: mean over the "
    "runs."
)
_OUTSIDE = (
    "These policies keep tokens over evictions: an easier problem, in which a TEL below OPT (a "
    "negative gap) is possible. They have no rank, and each line is over the instances that the "
    "policy was run on."
)
_ADVERSARIAL = (
    "Instances made or chosen to show a policy's weakness: traps, late bursts, worst cases and the "
    "papers' example. They count in no rank, mean or sentence above, as one of them may be the "
    "worst of every policy. Each line, by name, is over those that the policy was run on."
)
_BOUNDS = (
    "Methods that make bounds only. Gap left: (UB − LB) / UB with the best known schedule and the "
    "method's own bound, mean and worst over its runs; a run without a bound counts as 100 %. "
    "Closed: runs whose bound meets UB. Shifted mean: of the seconds, shift "
    f"{SHIFT_SECONDS:g} s."
)


def leaderboards(averaged: pd.DataFrame) -> list[Table]:
    """Return the boards with ranks; ``averaged`` is that of a :class:`reports.units.Unit`."""
    return [_board(position, board) for position, board in enumerate(boards(averaged))]


def outside_board(averaged: pd.DataFrame) -> Table:
    """Return the policies that are marked, without ranks."""
    columns = (Column("label", "policy", "name"), *_COLUMNS, _OVER)
    title = "Outside the problem, marked *"
    lines = outside(averaged)
    note = _OUTSIDE + spread_note(lines["spread"])
    return Table("outside", title, note, columns, _written(lines))


def adversarial_board(adversarial: pd.DataFrame) -> Table:
    """Return the policies on the instances that no rank is made of; that of a unit of time."""
    lines = standings(adversarial[~adversarial["engine"]]).sort_values("label")
    columns = (Column("label", "policy", "name"), *_COLUMNS, _OVER)
    note = _ADVERSARIAL + spread_note(lines["spread"])
    return Table("adversarial", "Adversarial instances", note, columns, _written(lines))


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
        mean=("left", "mean"),
        worst=("left", "max"),
        shifted=("seconds", shifted_geometric_mean),
    )
    columns = (
        Column("label", "method", "name"),
        Column("instances", "instances", "count"),
        Column("runs", "runs", "count"),
        Column("unbounded", "no bound", "count"),
        Column("closed", "closed", "count"),
        Column("mean", "mean gap left", "share"),
        Column("worst", "worst gap left", "share"),
        Column("shifted", "shifted mean, s", "seconds"),
    )
    lines["unbounded"] = lines["runs"] - lines["bounded"]
    frame = lines.reset_index().sort_values(["mean", "label"])
    return Table("bounds-board", "Bounds", _BOUNDS, columns, frame)


def _board(position: int, board: Board) -> Table:
    where = "" if position == 0 else f" on {counted(board.instances, 'instance')}"
    return Table(
        "leaderboard" if position == 0 else f"leaderboard-{position + 1}",
        f"Leaderboard{where}",
        _RULE.format(instances=counted(board.instances, "instance"))
        + spread_note(board.lines["spread"]),
        (Column("rank", "rank", "count"), Column("label", "policy", "name"), *_COLUMNS),
        _written(board.lines),
        note_below=True,
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
    Column("gap", "mean gap", "share", sort="gap_low", spread="spread"),
    Column("worst", "worst ratio", "ratio", sort="ratio_low"),
    Column("instance", WORST_ON, "name"),
    Column("optimal", "optimal", "share"),
    Column("knows", "class"),
    Column("unsolved", "no schedule", "count"),
    Column("seconds", "seconds", "seconds"),
)
_OVER = Column("instances", "instances", "count")
