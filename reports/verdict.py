"""The verdict: three sentences that a report begins with, every figure computed from its rows."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd

from kvopt.methods.told import Lengths
from reports.boards import Board, boards, inside, outside, standings
from reports.interval import ratios, shares
from reports.units import Unit

#: Lengths that count as known: no policy that is told a file's intervals knows more than these.
_KNOWN: tuple[Lengths, ...] = ("outputs", "file")
_UNKNOWN: tuple[tuple[Lengths, str], ...] = (
    ("nothing", "told nothing of them"),
    ("intervals", "told intervals"),
)


#: What the words of a report mean, for who reads its first screen only.
WORDS = (
    "TEL: the total latency of all requests. OPT: the least TEL of any schedule that knows all "
    "lengths and arrivals, which no online policy can reach on all instances. UB: the TEL of the "
    "best known schedule. LB: the best bound; every TEL is at least that. Gap: what share of its "
    "own TEL a policy would save with the better schedule; 0 % is best. Ratio: TEL / OPT; 1 is "
    "best. [a, b]: between a and b, since OPT lies between LB and UB. *: solves an easier problem, "
    "so it is not to be compared with the others."
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
    """Return who is best with lengths known, who without, and the worst ratio that was seen.

    Every figure and every name is that of a line of the boards.  Of a store with several units of
    time the sentences are about the first, and each of the others has one that names its first.
    """
    first, *others = found
    return (*_of_unit(first), *(_leader(each) for each in others if len(inside(each.averaged))))


def _of_unit(unit: Unit) -> tuple[Sentence, ...]:
    frame = inside(unit.averaged)
    if frame.empty:
        nobody = "No policy within the problem was run, so none is ranked here"
        return (Sentence((nobody, *_outside(None, unit.averaged, None), ".")),)
    ranked = boards(frame)
    return (
        _with_lengths(ranked, unit.averaged),
        _without_lengths(ranked, unit.averaged),
        _worst(frame, ranked),
    )


def _leader(unit: Unit) -> Sentence:
    """Name who stands first in another unit of time."""
    where: list[str] = ["In seconds under ", Name(unit.batch_time)]
    ranked = boards(inside(unit.averaged))
    if not ranked:
        return Sentence((*where, " no two policies share instances enough to be ranked."))
    lines = ranked[0].lines
    parts = [*_best(lines, "policy", "policies"), " and leaves ", *_left(lines.iloc[0])]
    return Sentence((*where, ", ", *parts, _mean_over(ranked[0]), "."))


def _with_lengths(found: Sequence[Board], averaged: pd.DataFrame) -> Sentence:
    board, lines = _first(found, _KNOWN)
    parts = _overall(found)
    if board is None:
        if parts:
            return Sentence((*parts, "."))
        nobody = _nobody(averaged, _KNOWN, "knows the output lengths")
        return Sentence((*nobody, *_outside(None, averaged, _KNOWN), "."))
    online, planned = lines[~lines["offline"]], lines[lines["offline"]]
    parts += ["; where output lengths are known, " if parts else "Where output lengths are known, "]
    if len(online):
        parts += [*_best(online, "online policy", "online policies"), " and leaves "]
        parts += [*_left(online.iloc[0]), _mean_over(board)]
    if len(planned):
        parts += ["; with all arrivals known too, " if len(online) else "and all arrivals too, "]
        parts += [*_best(planned, "offline policy", "offline policies"), " and leaves "]
        parts += [*_left(planned.iloc[0]), "" if len(online) else _mean_over(board)]
    return Sentence((*parts, "."))


def _overall(found: Sequence[Board]) -> list[str]:
    """Return who stands first on the leaderboard, where that is none of those that know lengths."""
    if not found or found[0].lines["lengths"].iloc[0] in _KNOWN:
        return []
    board = found[0]
    first = board.lines[board.lines["rank"].eq(1)]
    verb = " leaves " if len(first) == 1 else " leave "
    parts = [*_names(first), " is" if len(first) == 1 else " are", " first overall and", verb]
    return [*parts, *_left(first.iloc[0]), _mean_over(board)]


def _without_lengths(found: Sequence[Board], averaged: pd.DataFrame) -> Sentence:
    parts: list[str] = []
    for lengths, words in _UNKNOWN:
        board, lines = _first(found, (lengths,))
        if board is not None:
            parts += ["; " if parts else "Where output lengths are not known: ", f"{words}, "]
            parts += [*_best(lines, "policy", "policies"), " and leaves ", *_left(lines.iloc[0])]
            parts += [f" ({board.instances:,} instances", *_beside(board, lengths), ")"]
    unknown = tuple(lengths for lengths, _ in _UNKNOWN)
    if not parts:
        parts = _nobody(averaged, unknown, "does not know the output lengths")
    parts += _outside(found[0] if found else None, averaged, unknown)
    return Sentence((*parts, "."))


def _nobody(averaged: pd.DataFrame, lengths: tuple[Lengths, ...], what: str) -> list[str]:
    """Return the beginning of a sentence about those of whom no board has one, and why.

    Nobody is denied: who was run on too few of the others' instances is named, and so is who is
    outside the problem, by :func:`_outside`.
    """
    lines = standings(inside(averaged))
    own = lines[lines["lengths"].isin(lengths)]
    if len(own):
        return [f"No policy that {what} shares instances enough to be ranked; run: ", *_names(own)]
    beyond = outside(averaged)
    if beyond["lengths"].isin(lengths).any():
        return [f"No policy within the problem was run that {what}"]
    if lines["lengths"].eq("unknown").any() or beyond["lengths"].eq("unknown").any():
        return [f"No policy was run that by its own declaration {what}"]
    return [f"No policy was run that {what}"]


def _beside(board: Board, lengths: Lengths) -> list[str]:
    """Return what the best policy that is told less leaves there: other instances, other means."""
    less = board.lines[board.lines["lengths"].eq("nothing")]
    if lengths == "nothing" or less.empty:
        return []
    return [", where ", Name(less["label"].iloc[0]), " leaves ", *_left(less.iloc[0])]


def _outside(
    board: Board | None, averaged: pd.DataFrame, lengths: tuple[Lengths, ...] | None
) -> list[str]:
    """Return the best policy that keeps tokens and is told so much, empty for none.

    On the instances of a board, where one was run on all of them; else over its own instances, the
    one with most of them first.  ``lengths`` None means whatever it is told.
    """
    lines = outside(averaged)
    if board is not None:
        on_it = outside(averaged[averaged["id"].isin(board.ids)])
        on_it = on_it[on_it["instances"].eq(board.instances)]
        if lengths is None or on_it["lengths"].isin(lengths).any():
            lines = on_it
    if lengths is not None:
        lines = lines[lines["lengths"].isin(lengths)]
    if lines.empty:
        return []
    # Told nothing is what the sentence is about; intervals are more.
    least = lines[lines["lengths"].eq("nothing")]
    lines = lines if least.empty else least
    best = lines.sort_values(["instances", "gap_low", "label"], ascending=[False, True, True])
    line = best.iloc[0]
    told = f" ({line['instances']:,} instances; * keeps tokens over evictions, an easier problem)"
    return ["; outside the problem, ", Name(line["label"]), " leaves ", *_left(line), told]


def _worst(frame: pd.DataFrame, found: Sequence[Board]) -> Sentence:
    lines = standings(frame).dropna(subset="ratio_low")
    if lines.empty:
        return Sentence(("No run has a ratio to OPT: there is no schedule to compare.",))
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
    return Sentence((*parts, "."), tuple(ids))


def _first(
    found: Iterable[Board], lengths: tuple[Lengths, ...]
) -> tuple[Board | None, pd.DataFrame]:
    """Return the first board with policies that are told so much, and their lines."""
    for board in found:
        lines = board.lines[board.lines["lengths"].isin(lengths)]
        if len(lines):
            return board, lines
    return None, pd.DataFrame()


def _best(lines: pd.DataFrame, one: str, many: str) -> list[str]:
    """Return who is first, of how many; those with equal ends are named together, up to three."""
    equal = lines[lines["rank"].eq(lines["rank"].min())]
    verb = "is" if len(equal) == 1 else "are"
    what = f"the only {one}" if len(lines) == 1 else f"best of {len(lines):,} {many}"
    return [*_names(equal), f" {verb} {what}"]


def _names(lines: pd.DataFrame) -> list[str]:
    """Return up to three names, and how many more there are; what declares nothing says so."""
    names: list[str] = []
    for label, lengths in lines[["label", "lengths"]].iloc[:3].itertuples(index=False):
        names += [", " if names else "", Name(label)]
        names += [" (undeclared)"] if lengths == "unknown" else []
    return [*names, f" and {len(lines) - 3} more"] if len(lines) > 3 else names


def _left(line: pd.Series) -> list[str]:
    low, high = line["gap_low"], line["gap_high"]
    if pd.isna(low):  # there is no schedule to compare with
        return [_most(high), " to OPT"]
    interval = shares(float(low), high)
    if interval.startswith("["):
        return [f"{100 * float(low):.1f} % to the best known schedules, {_most(high)} to OPT"]
    return [f"{interval} to OPT"]


def _most(high: Any) -> str:
    return "an unknown share" if pd.isna(high) else f"at most {100 * float(high):.1f} %"


def _mean_over(board: Board) -> str:
    return f" (mean gap over {board.instances:,} instances)"


def _ratio(line: Any) -> str:
    return ratios(line["ratio_low"], line["ratio_high"], bool(line["known"]))
