"""The verdict: sentences that a report begins with, every figure computed from its rows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd

from kvopt.methods.knowledge import OF_CLASSES, Lengths
from kvopt.methods.knowledge import WORDS as KNOWS
from kvopt.methods.witness import is_own
from reports.boards import Board, boards, inside, outside, standings
from reports.compared import compared
from reports.interval import at_most, ratios, shares
from reports.tables.solvers import solver_table
from reports.units import Unit
from support.text import counted

#: The classes of policies: who is in a class, and what is told to each of its kinds.
_CLASSES: tuple[tuple[str, tuple[Lengths, ...]], ...] = (
    ("clairvoyant policy", ("outputs",)),
    ("policy with predictions", ("exact", "file", "deciles", "intervals")),
    ("non-clairvoyant policy", ("nothing",)),
)
#: Names that are listed; of more the number is told.
_MOST_NAMES = 3


#: What the words of a report mean, for who reads its first screen only.
WORDS = (
    "TEL: the total latency of all requests. OPT: the least TEL of any schedule that knows all "
    "lengths and arrivals, which no online policy can reach on all instances. UB: the TEL of the "
    "best known schedule. LB: the best bound; every TEL is at least that. Gap: what share of its "
    "own TEL a policy would save with the better schedule; 0 % is best. Ratio: TEL / OPT; 1 is "
    "best. [a, b]: between a and b, since OPT lies between LB and UB; ?: not known. *: may keep "
    "tokens over evictions, an easier problem: its latency compares with the others', but it has "
    "no rank, and OPT and LB hold for it only where that is said. "
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
    """Return for each unit of time the answer, the best of each class, and the worst ratio seen.

    Every name, and every figure but those of the answer, is of a line of the unit's boards.
    """
    several = len(found) > 1
    return tuple(
        Sentence((*(_where(unit, several) if several or not at else ()), *each.parts), each.ids)
        for unit in found
        for at, each in enumerate((*answers(unit), *_of_unit(unit)))
    )


def answers(unit: Unit) -> tuple[Sentence, ...]:
    """Return the answer (:mod:`kvopt.answer`), empty where there is none."""
    found = compared(unit)
    if found is None or found.answer is None:
        return ()
    pieces = found.answer.pieces()
    return (Sentence(tuple(Name(text) if is_name else text for text, is_name in pieces)),)


def _where(unit: Unit, several: bool) -> list[str]:
    if unit.batch_time:
        return ["In seconds under ", Name(unit.batch_time), ": "]
    return ["In rounds: "] if several else []


def _of_unit(unit: Unit) -> tuple[Sentence, ...]:
    averaged = unit.judged
    if inside(averaged).empty:
        solvers = _solvers(unit)
        nobody = "No policy within the problem was run, so none is ranked here"
        beyond = [part for _, each in _CLASSES for part in _outside(None, averaged, each)]
        first = Sentence((nobody, *beyond, "."))
        if not beyond:
            return solvers or (first,)
        return (*solvers, first, _worst(averaged, []))
    ranked = boards(averaged)
    overall = _overall(ranked)
    return (
        *([Sentence((*overall, "."))] if overall else []),
        *(_of_class(ranked, averaged, *each) for each in _CLASSES),
        *_own(ranked),
        _worst(averaged, ranked),
    )


def _solvers(unit: Unit) -> tuple[Sentence, ...]:
    """Return what the first solvers prove, in the words and figures of the solver table."""
    if unit.given.runs.empty:
        return ()
    lines = solver_table(unit.given.runs).frame
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


def _overall(found: Sequence[Board]) -> list[str]:
    """Return who stands first on the leaderboard, where that is no clairvoyant policy."""
    if not found or found[0].lines["lengths"].iloc[0] == "outputs":
        return []
    board = found[0]
    first = board.lines[board.lines["rank"].eq(1)]
    verb = " is first overall and" if len(first) == 1 else " are first overall and"
    return [*_names(first), verb, *_leaves(first), _mean_over(board)]


def _own(found: Sequence[Board]) -> Iterator[Sentence]:
    """Yield for each method of one's own its place on the first board that it is on.

    Who is first of all is named by another sentence.
    """
    seen = set(found[0].lines.loc[found[0].lines["rank"].eq(1), "label"]) if found else set()
    for board in found:
        lines = board.lines[board.lines["method"].map(is_own) & ~board.lines["label"].isin(seen)]
        seen |= set(lines["label"])
        for place in range(len(lines)):
            line = lines.iloc[place : place + 1]
            rank = f" is number {line['rank'].iloc[0]} of {counted(len(board.lines), 'policy')} and"
            yield Sentence((*_names(line), rank, *_leaves(line), _mean_over(board), "."))


def _of_class(
    found: Sequence[Board], averaged: pd.DataFrame, what: str, lengths: tuple[Lengths, ...]
) -> Sentence:
    """Return who is best of a class, of each kind that there is on a board."""
    clauses = [clause for kind in lengths if (clause := _best_of_kind(found, kind))]
    parts = [part for k, clause in enumerate(clauses) for part in (["; "] if k else []) + clause]
    if not parts:
        parts = _nobody(averaged, lengths, what)
    beyond = _outside(found[0] if found else None, averaged, lengths)
    # The first piece is a word of ours.
    return Sentence((parts[0][:1].upper() + parts[0][1:], *parts[1:], *beyond, "."))


def _best_of_kind(found: Sequence[Board], kind: Lengths) -> list[str]:
    """Return who is best of those that are told so much, online and offline, on their board."""
    board, lines = _first(found, kind)
    if board is None:
        return []
    parts: list[str] = [f"{KNOWS[kind]}: "]
    groups = [
        (word, lines[lines["offline"].eq(word == "offline")]) for word in ("online", "offline")
    ]
    for word, own in groups:
        if len(own):
            parts += ["; " if len(parts) > 1 else "", *_best(own, word)]
    return [*parts, _mean_over(board), *_beside(found, board, kind)]


def _nobody(averaged: pd.DataFrame, lengths: tuple[Lengths, ...], what: str) -> list[str]:
    """Return the beginning of a sentence about those of whom no board has one, and why.

    Nobody is denied: who was run on too few of the others' instances is named, and so is who is
    outside the problem, by :func:`_outside`.
    """
    lines = standings(inside(averaged))
    own = lines[lines["lengths"].isin(lengths)]
    if len(own):
        return [f"no {what} was run on enough common instances to be ranked; run: ", *_names(own)]
    beyond = outside(averaged)
    if beyond["lengths"].isin(lengths).any():
        return [f"no {what} within the problem was run"]
    if lines["lengths"].eq("unknown").any() or beyond["lengths"].eq("unknown").any():
        return [f"no policy was run that declares to be a {what}"]
    return [f"no {what} was run"]


def _beside(found: Sequence[Board], board: Board, kind: Lengths) -> list[str]:
    """Return what the best non-clairvoyant policy leaves there, where its own sentence does not."""
    less = board.lines[board.lines["lengths"].eq("nothing")]
    if kind == "nothing" or less.empty or board is _first(found, "nothing")[0]:
        return []
    return [", where ", Name(less["label"].iloc[0]), *_leaves(less.iloc[:1])]


def _outside(
    board: Board | None, averaged: pd.DataFrame, lengths: tuple[Lengths, ...]
) -> list[str]:
    """Return the best policy that keeps tokens and is told so much, empty for none.

    On the instances of a board, where one was run on all of them; else over its own instances, the
    one with most of them first.
    """
    lines = outside(averaged)
    if board is not None:
        on_it = outside(averaged[averaged["id"].isin(board.ids)])
        on_it = on_it[on_it["instances"].eq(board.instances)]
        if on_it["lengths"].isin(lengths).any():
            lines = on_it
    lines = lines[lines["lengths"].isin(lengths)]
    if lines.empty:
        return []
    best = lines.sort_values(["instances", "gap_low", "label"], ascending=[False, True, True])
    shared = counted(best["instances"].iloc[0], "instance")
    told = f" ({shared}; * keeps tokens over evictions, an easier problem)"
    return ["; outside the problem, ", Name(best["label"].iloc[0]), *_leaves(best.iloc[:1]), told]


def _worst(averaged: pd.DataFrame, found: Sequence[Board]) -> Sentence:
    """Return the worst ratio of all policies, and of the first; and who has no schedule."""
    lines = standings(averaged[~averaged["engine"]])
    failed = lines[lines["unsolved"].gt(0)]
    none = [] if failed.empty else ["; without a schedule on some instance: ", *_names(failed)]
    lines = lines.dropna(subset="ratio_low")
    if lines.empty:
        return Sentence(("No run has a ratio to OPT: there is no schedule to compare", *none, "."))
    lines = lines.sort_values(["ratio_low", "label"], ascending=[False, True])
    worst = lines.iloc[0]
    parts = ["The worst ratio to OPT seen is ", _ratio(worst), " (", Name(worst["label"])]
    parts += [" on ", Name(worst["instance"]), ")"]
    ids = [worst["id"]]
    leader = found[0].lines.iloc[0] if found else worst
    if leader["label"] != worst["label"] and leader["instance"]:
        parts += ["; the worst of ", Name(leader["label"]), ", first of the leaderboard, is "]
        parts += [_ratio(leader), " (on ", Name(leader["instance"]), ")"]
        ids.append(leader["id"])
    return Sentence((*parts, *none, "."), tuple(ids))


def _first(found: Iterable[Board], kind: Lengths) -> tuple[Board | None, pd.DataFrame]:
    """Return the first board with policies that are told so much, and their lines."""
    for board in found:
        lines = board.lines[board.lines["lengths"].eq(kind)]
        if len(lines):
            return board, lines
    return None, pd.DataFrame()


def _best(lines: pd.DataFrame, what: str) -> list[str]:
    """Return who is first, of how many, and what that leaves; equal ones are named together.

    ``what`` says which of a class, which the sentence has named, they are.
    """
    equal = lines[lines["rank"].eq(lines["rank"].min())]
    if len(lines) == 1:
        return [*_names(equal), f", the only {what} one,", *_leaves(equal)]
    verb = f" {'is' if len(equal) == 1 else 'are'} best of {len(lines):,} {what} policies and"
    return [*_names(equal), verb, *_leaves(equal)]


def _names(lines: pd.DataFrame) -> list[str]:
    """Return a few names, and how many more there are; what declares nothing says so."""
    names: list[str] = []
    for label, lengths in lines[["label", "lengths"]].iloc[:_MOST_NAMES].itertuples(index=False):
        names += [", " if names else "", Name(label)]
        names += [" (undeclared)"] if lengths == "unknown" else []
    more = len(lines) - _MOST_NAMES
    return [*names, f" and {more} more"] if more > 0 else names


def _leaves(lines: pd.DataFrame) -> list[str]:
    """Return what policies with equal gaps leave, of which the first is told; with the verb."""
    line, one = lines.iloc[0], len(lines) == 1
    low, high = line["gap_low"], line["gap_high"]
    leaves, have, are = (" leaves", " has", " is") if one else (" leave", " have", " are")
    failed = int(line["unsolved"])
    if failed == line["instances"]:
        return [f"{have} a schedule on none of them"]
    counts = [f" ({counted(failed, 'instance')} without a schedule at 100 %)"] if failed else []
    if pd.isna(low):  # there is no schedule to compare with
        return [f"{leaves} {_most(low, high)} to OPT", *counts]
    interval = shares(float(low), high)
    known = not interval.startswith("[")
    reference = "OPT" if known else "the best known schedules"
    if _percent(low).startswith("-"):
        its = "its" if one else "their"
        told = f"{are} {_percent(-low)} of {its} TEL below {reference}"
    else:
        told = f"{leaves} {_percent(low)} to {reference}"
    if not known and pd.notna(high) and high < 0:
        told += f", {_percent(-high)} below the best bound"
    elif not known:
        told += f", {_most(low, high)} to OPT"
    return [told, *counts]


def _most(low: Any, high: Any) -> str:
    return "an unknown share" if pd.isna(high) else f"at most {at_most(low, high)}"


def _percent(share: float) -> str:
    return shares(float(share), float(share))


def _mean_over(board: Board) -> str:
    return f" (mean gap over {counted(board.instances, 'instance')})"


def _ratio(line: Any) -> str:
    return ratios(line["ratio_low"], line["ratio_high"], bool(line["known"]))
