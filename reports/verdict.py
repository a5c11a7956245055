"""The verdict: sentences that a report begins with, every figure computed from its rows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd

from kvopt.methods.knowledge import CLASSES, OF_CLASSES
from kvopt.methods.witness import is_own
from reports.boards import Board, firsts
from reports.interval import at_most, ratios, shares
from reports.units import Unit
from support.text import counted

#: Names that are listed; of more the number is told.
_MOST_NAMES = 3
#: What the words of a report mean, for who reads its first screen only.
WORDS = (
    "TEL: the total latency of all requests. OPT: the least TEL of any schedule that knows all "
    "lengths and arrivals, which no online policy can reach on all instances. UB: the TEL of the "
    "best known schedule. LB: the best bound; every TEL is at least that. Gap: what share of its "
    "own TEL a policy would save with the better schedule; 0 % is best. Ratio: TEL / OPT; 1 is "
    "best. [a, b]: between a and b, since OPT lies between LB and UB; ?: not known. *: may keep "
    "tokens over evictions, an easier problem, in which its gap is: at least the gap to UB, at "
    "most the gap to a bound that holds for it. "
    f"{OF_CLASSES[0].upper()}{OF_CLASSES[1:]}."
)


class Name(str):
    """A name from the rows, which may hold anything; all other text of a sentence is ours."""

    __slots__ = ()


@dataclass(frozen=True)
class Sentence:
    """A sentence as pieces of text, of which names are shown apart.

    ``ids`` are the ``id`` of the instances that it names.
    """

    parts: tuple[str, ...]
    ids: tuple[str, ...] = ()

    def __str__(self) -> str:
        return "".join(self.parts)

    @property
    def marked(self) -> list[tuple[str, bool]]:
        """The pieces, each with whether it is a name."""
        return [(str(part), isinstance(part, Name)) for part in self.parts]


def verdict(found: Sequence[Unit]) -> tuple[Sentence, ...]:
    """Return for each unit of time the answer, the best of each class, and the worst ratio seen."""
    several = len(found) > 1
    return tuple(
        Sentence((*(_where(unit, several) if several or not at else ()), *each.parts), each.ids)
        for unit in found
        for at, each in enumerate((*answers(unit), *_of_unit(unit)))
    )


def answers(unit: Unit) -> tuple[Sentence, ...]:
    """Return the conclusion of the answer (:mod:`serving.answer`), empty where there is none."""
    if unit.compared is None or unit.compared.answer is None:
        return ()
    pieces = unit.compared.answer.conclusion()
    found = Sentence(tuple(Name(text) if is_name else text for text, is_name in pieces))
    return (found,) if found.parts else ()


def _where(unit: Unit, several: bool) -> list[str]:
    if unit.batch_time:
        return ["In seconds under ", Name(unit.batch_time), ": "]
    return ["In rounds: "] if several else []


def _of_unit(unit: Unit) -> tuple[Sentence, ...]:
    if unit.policies.empty:
        return _solvers(unit) or (Sentence(("No policy was run.",)),)
    classes = {board.knows: _of_board(board) for board in unit.boards}
    lines = unit.standings
    for knows in dict.fromkeys(CLASSES.values()):
        own = lines[lines["class"].eq(knows)]
        if knows not in classes and (len(own) or knows != CLASSES["unknown"]):
            classes[knows] = _unranked(knows, own)
    return (
        *(classes[each] for each in dict.fromkeys(CLASSES.values()) if each in classes),
        *(sentence for board in unit.boards for sentence in _own(board)),
        _worst(lines),
    )


def _solvers(unit: Unit) -> tuple[Sentence, ...]:
    """Return what the first solvers prove, in the words and figures of the solver table."""
    if unit.given.runs.empty:
        return ()
    lines = unit.solvers.frame
    lines = lines.assign(share=-lines["solved"] / lines["runs"])
    lines = lines.sort_values(["share", "shifted", "label"])
    parts = ["Solvers: "]
    for label, solved, runs, mean in (
        lines[["label", "solved", "runs", "shifted"]].iloc[:_MOST_NAMES].itertuples(index=False)
    ):
        parts += ["; " if len(parts) > 1 else "", Name(label)]
        parts += [f" solves {solved:,} of {counted(runs, 'run')} (shifted mean {mean:.3g} s)"]
    more = len(lines) - _MOST_NAMES
    return (Sentence((*parts, *([f"; and {more} more"] if more > 0 else []), ".")),)


def _of_board(board: Board) -> Sentence:
    """Return the first policies of a class, and what they leave."""
    parts = [f"{board.knows.capitalize()}, {counted(len(board.lines), 'policy')}: "]
    for k, (_, equal) in enumerate(firsts(board.lines).groupby("rank", sort=True)):
        offline = " (offline)" if equal["offline"].all() else ""
        parts += ["; " if k else "", *_names(equal), offline, _leaves(equal)]
    return Sentence((*parts, f" ({board.over})."))


def _own(board: Board) -> Iterator[Sentence]:
    """Yield the place of each method of one's own that is not among the first."""
    own = board.lines["method"].map(is_own) & ~board.lines["label"].isin(
        firsts(board.lines)["label"]
    )
    for place in board.lines.index[own]:
        line = board.lines.loc[[place]]
        count = counted(len(board.lines), "policy")
        rank = f" is number {line['rank'].iloc[0]} of {count} ({board.knows}) and"
        yield Sentence((*_names(line), rank, _leaves(line), f" ({board.over})."))


def _unranked(knows: str, lines: pd.DataFrame) -> Sentence:
    """Return that a class has no board: nothing of it was run, or too little."""
    if lines.empty:
        kind = f"policy {knows}" if knows.startswith("with") else f"{knows} policy"
        return Sentence((f"No {kind} was run.",))
    told = f"{knows.capitalize()}: not ranked, run on too few common instances: "
    return Sentence((told, *_names(lines), "."))


def _worst(lines: pd.DataFrame) -> Sentence:
    """Return the worst ratio of all policies, and who has no schedule."""
    failed = lines[lines["unsolved"].gt(0)]
    none = [] if failed.empty else ["; without a schedule on some instance: ", *_names(failed)]
    lines = lines.dropna(subset="ratio_low")
    if lines.empty:
        return Sentence(("No run has a ratio to OPT: there is no schedule to compare", *none, "."))
    worst = lines.sort_values(["ratio_low", "label"], ascending=[False, True]).iloc[0]
    parts = ["The worst ratio to OPT seen is ", _ratio(worst), " (", Name(worst["label"])]
    return Sentence((*parts, " on ", Name(worst["instance"]), ")", *none, "."), (worst["id"],))


def _names(lines: pd.DataFrame) -> list[str]:
    """Return a few names, and how many more there are."""
    names: list[str] = []
    for label in lines["label"].iloc[:_MOST_NAMES]:
        names += [", " if names else "", Name(label)]
    more = len(lines) - _MOST_NAMES
    return [*names, f" and {more} more"] if more > 0 else names


def _leaves(lines: pd.DataFrame) -> str:
    """Return what policies with equal gaps leave, of which the first is told; with the verb."""
    line = lines.iloc[0]
    low, high, failed = line["gap_low"], line["gap_high"], int(line["unsolved"])
    leaves, have = ("leaves", "has") if len(lines) == 1 else ("leave", "have")
    if failed == line["instances"]:
        return f" {have} a schedule on none of them"
    if pd.isna(low):  # there is no schedule to compare with
        told = "an unknown share"
    elif pd.isna(high):
        told = f"at least {_percent(low)}"
    elif shares(float(low), high).startswith("["):
        most = at_most(low, high)
        told = f"{_percent(low)} to the best known schedules, at most {most} to OPT"
    else:
        told = f"{_percent(low)} to OPT"
    without = f" ({counted(failed, 'instance')} without a schedule at 100 %)" if failed else ""
    return f" {leaves} {told}{without}"


def _percent(share: float) -> str:
    return shares(float(share), float(share))


def _ratio(line: Any) -> str:
    return ratios(line["ratio_low"], line["ratio_high"], bool(line["known"]))
