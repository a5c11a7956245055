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

    Let C be the requests of the overflow, P_i their peaks s_i + o_i and E = Σ_C P_i − M.

    *Proof.*  A request with d_i rounds left holds P_i − d_i tokens.  So where all of C run,
    memory suffices for them if and only if Σ_C d_i ≥ E.

    (1) E > Σ_C (o_i − 1), which no d_i sum up to: they never run together, so at most |C| − 1 of
    them run.

    (2) Else give each that runs the weight max(0, E − d_i).  If one of C does not run, the others
    have |C| − 1 weights of at most E.  If all run, the weights sum to |C|·E − Σ min(d_i, E), and
    Σ min(d_i, E) ≥ E if and only if Σ d_i ≥ E.  So Σ weights ≤ (|C| − 1)·E says the same as memory
    for C at that time, whatever the rounds left.  Its terms add up to |C|·E at most; where that is
    more than ``activity``,

    (3) choose D_i ≥ d_i, D_i < o_i, with Σ D_i < E: requests of C with at most D_i rounds left
    overflow together, so at most |C| − 1 are in that state.

    In (1) and (3) the members of C hold at least h_i = P_i − D_i, with D_i = o_i − 1 in (1), and
    Σ h_i > M.  A request j beside C with P_j − D_j ≥ max h_i may be added, since any |C| of the
    larger set hold more than M, too.

    Overflows of the given rounds left break each of them: in (2) their weights sum to
    |C|·E − Σ d_i > (|C| − 1)·E, in (1) and (3) there are |C|.

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
