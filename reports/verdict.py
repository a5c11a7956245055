"""The verdict: three sentences that a report begins with, every figure computed from its rows."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd

from kvopt.methods.told import Lengths
from reports.boards import Board, boards, outside, standings
from reports.interval import ratios, shares

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
    """A sentence as pieces of text, of which names are shown apart."""

    parts: tuple[str, ...]

    def __str__(self) -> str:
        return "".join(self.parts)

    @property
    def marked(self) -> list[tuple[str, bool]]:
        """The pieces, each with whether it is a name."""
        return [(str(part), isinstance(part, Name)) for part in self.parts]


def verdict(averaged: pd.DataFrame) -> tuple[Sentence, ...]:
    """Return who is best with lengths known, who without, and the worst ratio that was seen.

    Of a store with instances in rounds and in seconds those in rounds are told of.

    Parameters
    ----------
    averaged
        From :func:`reports.per_instance.per_instance`.
    """
    frame = averaged[~averaged["engine"] & ~averaged["marked"]]
    if frame.empty:
        return (Sentence(("No policy within the problem was run, so none is ranked here.",)),)
    frame = frame[frame["in_seconds"].eq(frame["in_seconds"].min())]
    found = boards(frame)
    return (_with_lengths(found), _without_lengths(found, averaged), _worst(frame, found))


def _with_lengths(found: Sequence[Board]) -> Sentence:
    board, lines = _first(found, _KNOWN)
    if board is None:
        return Sentence(("No policy was run that knows the output lengths.",))
    online, planned = lines[~lines["offline"]], lines[lines["offline"]]
    parts: list[str] = ["Where output lengths are known, "]
    if len(online):
        parts += [*_best(online, "online policy", "online policies"), " and leaves "]
        parts += [*_left(online.iloc[0]), _mean_over(board)]
    if len(planned):
        parts += ["; with all arrivals known too, " if len(online) else "and all arrivals too, "]
        parts += [*_best(planned, "offline policy", "offline policies"), " and leaves "]
        parts += [*_left(planned.iloc[0]), "" if len(online) else _mean_over(board)]
    return Sentence((*parts, "."))


def _without_lengths(found: Sequence[Board], averaged: pd.DataFrame) -> Sentence:
    parts: list[str] = []
    for lengths, words in _UNKNOWN:
        board, lines = _first(found, (lengths,))
        if board is not None:
            parts += ["; " if parts else "Where output lengths are not known: ", f"{words}, "]
            parts += [*_best(lines, "policy", "policies"), " and leaves ", *_left(lines.iloc[0])]
            parts += [f" ({board.instances:,} instances", *_beside(board, lengths), ")"]
    if not parts:
        return Sentence(("No policy was run that does not know the output lengths.",))
    parts += _outside(found[0], averaged)
    return Sentence((*parts, "."))


def _beside(board: Board, lengths: Lengths) -> list[str]:
    """Return what the best policy that is told less leaves there: other instances, other means."""
    less = board.lines[board.lines["lengths"].eq("nothing")]
    if lengths == "nothing" or less.empty:
        return []
    return [", where ", Name(less["label"].iloc[0]), " leaves ", *_left(less.iloc[0])]


def _outside(board: Board, averaged: pd.DataFrame) -> list[str]:
    """Return the best policy that keeps tokens and is told nothing, on the instances of a board."""
    lines = outside(averaged[averaged["id"].isin(board.ids)])
    lines = lines[lines["lengths"].eq("nothing") & lines["instances"].eq(board.instances)]
    if lines.empty:
        return []
    best = lines.sort_values(["gap_low", "label"]).iloc[0]
    told = f" ({board.instances:,} instances; * keeps tokens over evictions, an easier problem)"
    return ["; outside the problem, ", Name(best["label"]), " leaves ", *_left(best), told]


def _worst(frame: pd.DataFrame, found: Sequence[Board]) -> Sentence:
    lines = standings(frame).dropna(subset="ratio_low")
    if lines.empty:
        return Sentence(("No run has a ratio to OPT: there is no schedule to compare.",))
    lines = lines.sort_values(["ratio_low", "label"], ascending=[False, True])
    worst = lines.iloc[0]
    parts = ["The worst ratio to OPT seen is ", _ratio(worst), " (", Name(worst["label"])]
    parts += [" on ", Name(worst["instance"]), ")"]
    leader = found[0].lines.iloc[0] if found else worst
    if leader["label"] != worst["label"] and leader["instance"]:
        parts += ["; the worst of ", Name(leader["label"]), ", first of the leaderboard, is "]
        parts += [_ratio(leader), " (on ", Name(leader["instance"]), ")"]
    return Sentence((*parts, "."))


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
    names: list[str] = []
    for label in equal["label"].iloc[:3]:
        names += [", " if names else "", Name(label)]
    more = [f" and {len(equal) - 3} more"] if len(equal) > 3 else []
    verb = "is" if len(equal) == 1 else "are"
    what = f"the only {one}" if len(lines) == 1 else f"best of {len(lines):,} {many}"
    return [*names, *more, f" {verb} {what}"]


def _left(line: pd.Series) -> list[str]:
    low, high = float(line["gap_low"]), line["gap_high"]
    interval = shares(low, high)
    if interval.startswith("["):
        least = f"{100 * low:.1f} %"
        most = "an unknown share" if pd.isna(high) else f"at most {100 * float(high):.1f} %"
        return [f"{least} to the best known schedules, {most} to OPT"]
    return [f"{interval} to OPT"]


def _mean_over(board: Board) -> str:
    return f" (mean gap over {board.instances:,} instances)"


def _ratio(line: Any) -> str:
    return ratios(line["ratio_low"], line["ratio_high"], bool(line["known"]))
