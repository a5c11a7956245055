"""The rules of a schedule read token by token: no sweep, no sorting of events, no code of kvopt."""

from collections import Counter, defaultdict
from typing import Any, NamedTuple

#: A request as (arrival, prompt, output), rounds and tokens.
Row = tuple[int, int, int]
#: What can be impossible, in the words of a reason; at one time the first of them is told.
WORDS = ("before its arrival", "previous attempt ends", "tokens are held")
#: A time, what is impossible there, by its place in ``WORDS``, whose runs do it, and tokens held.
_Violation = tuple[int, int, tuple[int, ...], int | None]


class Judged(NamedTuple):
    """The kind of verdict and, where infeasible, the first violation (rounds, tokens)."""

    kind: str
    time: int | None = None
    tokens: int | None = None
    ids: tuple[int, ...] = ()
    words: str = ""


def literal_verdict(rows: list[Row], memory: int, document: dict[str, Any]) -> Judged:
    """Return the verdict; requests are named by their place."""
    bound = document["lower_bound"]
    lives = _lives(rows, document)
    if lives is None or document["tel"] < 0 or (bound is not None and bound < 0):
        return Judged("malformed")
    violations = [*_impossible(rows, lives), *_overfull(rows, memory, lives)]
    if violations:
        time, what, ids, tokens = min(violations)
        return Judged("infeasible", time, tokens, ids, WORDS[what])
    latency = sum(
        runs[-1][-1][0] - arrival for runs, (arrival, _, _) in zip(lives, rows, strict=True)
    )
    keeps = any(run[0][1] > 1 for runs in lives for run in runs)
    return Judged("valid" if _honest(document, latency, keeps) else "malformed")


def _lives(rows: list[Row], document: dict[str, Any]) -> list[list[list[tuple[int, int]]]] | None:
    """Return per request, per run, the pairs (time, tokens made); None if they make no sense."""
    starts, n = document["starts"], len(rows)
    attempts = document.get("attempts", [[]] * n)
    kept = document.get("kept", [[0] * (len(tried) + 1) for tried in attempts])
    if not len(starts) == len(attempts) == len(kept) == n:
        return None
    lives = []
    for (_, _, output), start, tried, counts in zip(rows, starts, attempts, kept, strict=True):
        if len(counts) != len(tried) + 1 or any(not 0 < made < output for _, made in tried):
            return None
        life, before = [], 0
        for (begin, made), count in zip([*tried, (start, output)], counts, strict=True):
            if count < 0 or count > before or count >= made or begin < 0:
                return None
            life.append([(begin + j, j) for j in range(count + 1, made + 1)])
            before = made
        lives.append(life)
    return lives


def _impossible(rows: list[Row], lives: list[list[list[tuple[int, int]]]]) -> list[_Violation]:
    """Return the rounds in which a run begins before the arrival or before the last one's end."""
    found: list[_Violation] = []
    for i, ((arrival, _, _), runs) in enumerate(zip(rows, lives, strict=True)):
        ended = 0
        for run in runs:
            begin = run[0][0] - 1
            if begin < max(arrival, ended):
                found.append((begin, 0 if begin < arrival else 1, (i,), None))
            ended = run[-1][0]
    return found


def _overfull(
    rows: list[Row], memory: int, lives: list[list[list[tuple[int, int]]]]
) -> list[_Violation]:
    """Return the times at which more than the memory is held."""
    held: Counter[int] = Counter()
    whose: defaultdict[int, set[int]] = defaultdict(set)
    for i, ((_, prompt, _), runs) in enumerate(zip(rows, lives, strict=True)):
        for time, made in (each for run in runs for each in run):
            held[time] += prompt + made
            whose[time].add(i)
    over = {time: tokens for time, tokens in held.items() if tokens > memory}
    return [(time, 2, tuple(sorted(whose[time])), tokens) for time, tokens in over.items()]


def _honest(document: dict[str, Any], latency: int, keeps: bool) -> bool:
    bound, status = document["lower_bound"], document["status"]
    if document["tel"] != latency or (bound is not None and bound > latency):
        return False
    if status == "optimal":
        return bound == latency and not keeps
    return status not in ("infeasible", "no_solution")
