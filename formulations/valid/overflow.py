"""Rows that schedules satisfy and requests that overflow memory together break: small numbers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations, islice, product

from instances import Instance

#: Sets of requests like one that overflows for which rows are made at a time.
ALIKE_UP_TO = 100


@dataclass(frozen=True)
class Overflow:
    """Requests that hold more than M tokens together at a time, and without any one of them not.

    ``left`` has the position of each in the instance and the rounds that it still runs then.
    """

    time: int
    left: tuple[tuple[int, int], ...]

    @property
    def positions(self) -> tuple[int, ...]:
        """The requests, by position in the instance."""
        return tuple(position for position, _ in self.left)


@dataclass(frozen=True)
class Row:
    """A row for every time t: Σ weights[i][d] over requests i with d rounds left at t ≤ ``most``.

    With starts p a request runs at t with d = p + o − t rounds left, 0 ≤ d < o.
    """

    weights: tuple[tuple[int, tuple[int, ...]], ...]
    most: int


def overflows(instance: Instance, starts: Sequence[int]) -> list[Overflow]:
    """Return an overflow for every completion at which a schedule holds more than M tokens.

    There is one if it overflows at all: from a time that overflows to the next completion all that
    run go on and hold more.  The largest are taken until they overflow, so that without the last,
    which is the least of them, and all the more without another, they do not.
    """
    found = []
    ends = [p + request.output for p, request in zip(starts, instance.requests, strict=True)]
    for time in sorted(set(ends)):
        held = sorted(
            (
                (request.peak - (end - time), i)
                for i, (request, end) in enumerate(zip(instance.requests, ends, strict=True))
                if starts[i] < time <= end
            ),
            reverse=True,
        )
        total, taken = 0, []
        for tokens, i in held:
            total += tokens
            taken.append((i, ends[i] - time))
            if total > instance.memory:
                found.append(Overflow(time, tuple(sorted(taken))))
                break
    return found


def separating_row(instance: Instance, overflow: Overflow, activity: int) -> Row:
    """Return a row that every feasible schedule satisfies at every time, and the overflow breaks.

    Proof: docs/proofs/overflow.md (P9), with the names used here.

    Parameters
    ----------
    activity
        What the terms of a row may add up to, at least the number of requests.
    """
    requests = instance.requests
    excess = sum(requests[i].peak for i in overflow.positions) - instance.memory
    count = len(overflow.left)
    rounds = sum(requests[i].output - 1 for i in overflow.positions)
    if excess <= rounds and count * excess <= activity:
        graded = (
            (i, tuple(excess - d for d in range(min(excess, requests[i].output))))
            for i in overflow.positions
        )
        return Row(tuple(graded), (count - 1) * excess)
    last = {i: requests[i].output - 1 for i in overflow.positions}
    if excess <= rounds:
        last = _farthest(instance, overflow, excess - 1)
    largest = max(requests[i].peak - d for i, d in last.items())
    for j, request in enumerate(requests):
        if j not in last and request.peak >= largest:
            last[j] = min(request.output - 1, request.peak - largest)
    ones = ((i, (1,) * (d + 1)) for i, d in sorted(last.items()))
    return Row(tuple(ones), count - 1)


def alike(instance: Instance, overflow: Overflow) -> Iterator[Overflow]:
    """Yield the overflow, and it with other requests of the same prompts and outputs; some."""
    kinds: dict[tuple[int, int], list[int]] = {}
    for i, request in enumerate(instance.requests):
        kinds.setdefault((request.prompt, request.output), []).append(i)
    left: dict[tuple[int, int], list[int]] = {}
    for i, d in overflow.left:
        request = instance.requests[i]
        left.setdefault((request.prompt, request.output), []).append(d)
    yield overflow
    chosen = [combinations(kinds[kind], len(own)) for kind, own in left.items()]
    for members in islice(product(*chosen), ALIKE_UP_TO):
        pairs = zip(members, left.values(), strict=True)
        made = (each for own, rounds in pairs for each in zip(own, rounds, strict=True))
        yield Overflow(overflow.time, tuple(sorted(made)))


def _farthest(instance: Instance, overflow: Overflow, total: int) -> dict[int, int]:
    """Return D_i ≥ d_i below the outputs that sum to ``total`` at most, about evenly raised."""
    last = dict(overflow.left)
    spare = total - sum(last.values())
    for position, (i, d) in enumerate(sorted(last.items(), key=lambda each: -each[1])):
        more = min(spare // (len(last) - position), instance.requests[i].output - 1 - d)
        last[i], spare = d + more, spare - more
    return last
