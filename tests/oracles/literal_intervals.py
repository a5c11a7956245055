"""Round-by-round transcriptions of chen2025's algorithms: slow, short, and beyond doubt.

All follow the suite's convention (a run started at p holds s + j tokens at time p + j) and test the
look-ahead (3) at every later time, not only where it can be tight.  A request is named by its
position.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from instances import Instance


@dataclass
class Outcome:
    """Start rounds and, per request, its cancelled attempts (start, tokens)."""

    starts: list[int]
    attempts: list[list[tuple[int, int]]] = field(default_factory=list)


def literal_prefix(
    instance: Instance, beliefs: Sequence[int], key: Callable[[int], object]
) -> Outcome:
    """C Alg. 1, 3 and 4: in every round the largest prefix by key that fits, as believed."""
    waiting = sorted(range(len(instance)), key=key)
    starts: dict[int, int] = {}
    now = 0
    while waiting:
        active = _unfinished(instance, starts, now)
        arrived = [i for i in waiting if instance.requests[i].arrival <= now]
        for i in _largest_prefix(instance, active, arrived, beliefs, now):
            starts[i] = now
            waiting.remove(i)
        now += 1
    return Outcome([starts[i] for i in range(len(instance))], [[] for _ in instance.requests])


def literal_a_min(
    instance: Instance, lower: Sequence[int], pick: Callable[[list[int]], int]
) -> Outcome:
    """C Alg. 2 and 5, with max(bound, tokens made) for the bound of a cancelled request.

    ``pick`` chooses one of several requests with the smallest bound.
    """
    n = len(instance)
    bounds = list(lower)
    attempts: list[list[tuple[int, int]]] = [[] for _ in range(n)]
    starts: dict[int, int] = {}
    now = 0
    while any(_end(instance, starts, i) > now for i in range(n)):
        active = _unfinished(instance, starts, now)
        known = list(bounds)
        for i in _ascending(list(active), known, pick):
            if _held(instance, active, {}, now + 1) <= instance.memory:
                break
            made = now - starts[i]
            bounds[i] = max(bounds[i], made)
            attempts[i].append((starts[i], made))
            del active[i], starts[i]
        arrived = [i for i in range(n) if instance.requests[i].arrival <= now and i not in starts]
        beliefs = [
            max(bounds[i], now - active[i] + 1) if i in active else bounds[i] for i in range(n)
        ]
        order = _ascending(arrived, bounds, pick)
        for i in _largest_prefix(instance, active, order, beliefs, now):
            starts[i] = now
        now += 1
    return Outcome([starts[i] for i in range(n)], attempts)


def literal_a_ell(instance: Instance, lower: Sequence[int], upper: Sequence[int]) -> Outcome:
    """C Alg. 6, with each request's own ends and arrivals appended to the queue."""
    n = len(instance)
    beliefs = list(lower)
    attempts: list[list[tuple[int, int]]] = [[] for _ in range(n)]
    starts: dict[int, int] = {}
    queue: list[int] = []
    now = 0
    while any(_end(instance, starts, i) > now for i in range(n)):
        queue += [i for i in range(n) if instance.requests[i].arrival == now]
        active = _unfinished(instance, starts, now)
        for i in list(active):
            if beliefs[i] < upper[i] and now - active[i] >= beliefs[i]:
                attempts[i].append((starts[i], now - active[i]))
                beliefs[i] = upper[i]
                queue.append(i)
                del active[i], starts[i]
        for i in _largest_prefix(instance, active, queue, beliefs, now):
            starts[i] = now
            queue.remove(i)
        now += 1
    return Outcome([starts[i] for i in range(n)], attempts)


def _ascending(
    requests: list[int], bounds: Sequence[int], pick: Callable[[list[int]], int]
) -> list[int]:
    """Return the requests by bound, ties in the order in which they are picked."""
    left = list(requests)
    order = []
    while left:
        smallest = min(bounds[i] for i in left)
        order.append(pick([i for i in left if bounds[i] == smallest]))
        left.remove(order[-1])
    return order


def _end(instance: Instance, starts: dict[int, int], i: int) -> float:
    return starts[i] + instance.requests[i].output if i in starts else float("inf")


def _unfinished(instance: Instance, starts: dict[int, int], now: int) -> dict[int, int]:
    """Return start rounds of what runs, in the order of its starts."""
    return {i: start for i, start in starts.items() if _end(instance, starts, i) > now}


def _largest_prefix(
    instance: Instance,
    active: dict[int, int],
    candidates: list[int],
    beliefs: Sequence[int],
    now: int,
) -> list[int]:
    """Return the longest prefix of the candidates for which (3) holds at every later time."""
    for size in range(len(candidates), 0, -1):
        trial = active | dict.fromkeys(candidates[:size], now)
        lengths = {i: beliefs[i] for i in trial}
        last = max(start + lengths[i] for i, start in trial.items())
        if all(
            _held(instance, trial, lengths, time) <= instance.memory
            for time in range(now + 1, last + 1)
        ):
            return candidates[:size]
    return []


def _held(instance: Instance, starts: dict[int, int], lengths: dict[int, int], time: int) -> int:
    """Return the tokens held at a time by runs of given lengths, of no end where none is given."""
    return sum(
        instance.requests[i].prompt + time - start
        for i, start in starts.items()
        if start < time and (i not in lengths or time <= start + lengths[i])
    )
