"""The verdict: sentences that a report begins with, every figure computed from its rows."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import pandas as pd

from kvopt.methods.knowledge import CLASSES, OF_CLASSES
from kvopt.methods.witness import is_own
from reports.policy_boards import Board, firsts
from reports.table import write_end, write_ratio, write_share
from reports.time_units import Unit
from support.message_text import plural

#: Names in a list; the others are counted.
_MOST_NAMES = 3
#: The meaning of a report's words, for readers of its first screen.
WORDS = (
    "TEL: the total latency of all requests.",
    "OPT: the least TEL of any schedule. That schedule knows all lengths and arrivals, so no "
    "online policy reaches it on all instances.",
    "UB: the TEL of the best known schedule. LB: the best bound, which no TEL is below.",
    "Gap: the share of its own TEL that a policy saves with the better schedule; 0 % is best.",
    "Ratio: TEL / OPT; 1 is best.",
    "[a, b]: between a and b, since OPT lies between LB and UB; ?: unknown.",
    "*: may keep tokens over evictions, an easier problem. Its gap is that problem's, from the gap "
    "to UB to the gap to a bound that holds there.",
    f"{OF_CLASSES[0].upper()}{OF_CLASSES[1:]}.",
)


class RowName(str):
    """A name from the rows, which may hold anything; all other text of a sentence is ours."""

    __slots__ = ()


@dataclass(frozen=True)
class Sentence:
    """A sentence as pieces of text, with the ``ids`` of the instances that it names."""

    parts: tuple[str, ...]
    ids: tuple[str, ...] = ()

    def __str__(self) -> str:
        return "".join(self.parts)

    @property
    def marked(self) -> list[tuple[str, bool]]:
        """The pieces, each with whether it is a name."""
        return [(str(part), isinstance(part, RowName)) for part in self.parts]


def verdict(found: Sequence[Unit]) -> tuple[Sentence, ...]:
    """Return for each unit of time the answer, the best of each class, and the worst ratio seen."""
    sentences = []
    for unit in found:
        prefix = ["In rounds: "]
        if unit.batch_time:
            prefix = ["In seconds under ", RowName(unit.batch_time), ": "]
        for at, each in enumerate((*answers(unit), *_describe(unit))):
            # With one unit its first sentence alone names a batch time.
            is_named = len(found) > 1 or (unit.batch_time and not at)
            sentences.append(Sentence((*(prefix if is_named else ()), *each.parts), each.ids))
    return tuple(sentences)


def answers(unit: Unit) -> tuple[Sentence, ...]:
    """Return the conclusion of the answer (:mod:`serving.answer`), empty where there is none."""
    if unit.compared is None or unit.compared.answer is None:
        return ()
    pieces = unit.compared.answer.conclusion()
    found = Sentence(tuple(RowName(text) if is_name else text for text, is_name in pieces))
    return (found,) if found.parts else ()


def _describe(unit: Unit) -> Iterator[Sentence]:
    if unit.policies.empty:
        yield Sentence(("No policy was run.",))
        return
    lines = unit.standings
    by_class = {board.knows: board for board in unit.boards}
    for knows in dict.fromkeys(CLASSES.values()):
        unranked = lines[lines["class"].eq(knows)]
        if knows in by_class:
            yield _describe_board(by_class[knows])
        elif len(unranked):
            start = f"{knows.capitalize()}: not ranked, run on too few common instances: "
            yield Sentence((start, *_names(unranked), "."))
        elif knows != CLASSES["unknown"]:
            kind = f"policy {knows}" if knows.startswith("with") else f"{knows} policy"
            yield Sentence((f"No {kind} was run.",))
    for board in unit.boards:
        yield from _place_own(board)
    yield _describe_worst(lines, " outside adversarial instances" * (not unit.adversarial.empty))


def _describe_board(board: Board) -> Sentence:
    """Return the first policies of a class, each with its gap."""
    parts = [f"{board.knows.capitalize()}, {plural(len(board.lines), 'policy')}: "]
    for k, (_, equal) in enumerate(firsts(board.lines).groupby("rank", sort=True)):
        offline = " (offline)" if equal["offline"].all() else ""
        parts += ["; " if k else "", *_names(equal), offline, _gap_clause(equal)]
    return Sentence((*parts, f" ({board.over})."))


def _place_own(board: Board) -> Iterator[Sentence]:
    """Yield the place of each custom method that is not among the first."""
    is_first = board.lines["label"].isin(firsts(board.lines)["label"])
    own = board.lines["method"].map(is_own) & ~is_first
    for place in board.lines.index[own]:
        line = board.lines.loc[[place]]
        count = plural(len(board.lines), "policy")
        rank = f" is number {line['rank'].iloc[0]} of {count} ({board.knows}) and"
        yield Sentence((*_names(line), rank, _gap_clause(line), f" ({board.over})."))


def _describe_worst(lines: pd.DataFrame, where: str) -> Sentence:
    """Return the worst ratio of all policies somewhere, and the policies without a schedule."""
    failed = lines[lines["unsolved"].gt(0)]
    none = [] if failed.empty else ["; without a schedule on some instance: ", *_names(failed)]
    lines = lines.dropna(subset="ratio_low")
    if lines.empty:
        return Sentence(("No run has a ratio to OPT: there is no schedule to compare", *none, "."))
    worst = lines.sort_values(["ratio_low", "label"], ascending=[False, True]).iloc[0]
    ratio = write_ratio(worst["ratio_low"], worst["ratio_high"], bool(worst["known"]))
    start, by = f"The worst ratio to OPT{where}, seeds averaged, is ", RowName(worst["label"])
    parts = (start, ratio, " (", by, " on ", RowName(worst["instance"]), ")", *none, ".")
    return Sentence(parts, (worst["id"],))


def _names(lines: pd.DataFrame) -> list[str]:
    """Return a few names, and how many more there are."""
    names: list[str] = []
    for label in lines["label"].iloc[:_MOST_NAMES]:
        names += [", " if names else "", RowName(label)]
    more = len(lines) - _MOST_NAMES
    return [*names, f" and {more} more"] if more > 0 else names


def _gap_clause(lines: pd.DataFrame) -> str:
    """Return the verb and the gap of policies with equal gaps."""
    line = lines.iloc[0]
    low, high, failed = line["gap_low"], line["gap_high"], int(line["unsolved"])
    leaves, have = ("leaves", "has") if len(lines) == 1 else ("leave", "have")
    if low == 1:  # a mean of penalties only
        return f" {have} a schedule on none of them"
    least = write_end(low, high, 0)
    if pd.isna(low):  # there is no schedule to compare with
        gap = "an unknown share"
    elif pd.isna(high):
        gap = f"at least {least}"
    elif write_share(low, high).startswith("["):
        gap = f"{least} to the best known schedules, at most {write_end(low, high, 1)} to OPT"
    else:
        gap = f"{least} to OPT"
    without = f" ({plural(failed, 'instance')} with a run at 100 %: no schedule)" if failed else ""
    return f" {leaves} {gap}{without}"
