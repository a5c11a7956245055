"""Paths that a sweep leaves: multipliers on "each request once", fixing, sublimation."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from formulations.dp.priced_network import SAFE, Ints, RequestKinds

#: Evaluations without a better value that halve the step; most halvings and evaluations.
PATIENCE, HALVINGS, EVALUATIONS = 6, 7, 300
#: Share of the last direction in the next one, and evaluations between two fixings of arcs.
MOMENTUM, FIX_EVERY = 0.5, 10


@dataclass(frozen=True)
class SweepPaths:
    """A network without cycles, from a first node to a last one.

    Nodes are numbered so that arcs lead to higher ones; arcs are in the order of their origins.
    An arc costs ``cost``, without multipliers, and lets requests of the kinds
    ``entered[begin:begin + number]`` complete at the ``time`` of its origin (rounds).
    """

    origin: NDArray[np.int32]
    to: NDArray[np.int32]
    cost: Ints
    begin: Ints
    number: NDArray[np.int16]
    entered: NDArray[np.uint16]
    time: NDArray[np.int32]

    def __len__(self) -> int:
        return len(self.origin)

    def kept(self, mask: NDArray[np.bool_]) -> SweepPaths:
        """Return the network of some arcs, with the first node and the last one."""
        origin, to = self.origin[mask], self.to[mask]
        used = np.zeros(len(self.time), dtype=bool)
        used[origin] = used[to] = used[[0, -1]] = True
        new = np.cumsum(used, dtype=np.int32) - np.int32(1)
        return SweepPaths(
            new[origin], new[to], self.cost[mask], self.begin[mask], self.number[mask],
            self.entered, self.time[used],
        )  # fmt: skip


@dataclass
class PricedPaths:
    """Lengths under multipliers, distances to the end, and the best path.

    Its length less what each request once would pay is ``value``; None where there is no path.
    """

    cost: Ints
    distance: Ints
    value: int | None
    path: Ints


def priced(paths: SweepPaths, multipliers: Ints, counts: Ints) -> PricedPaths:
    """Evaluate multipliers, in units of the costs."""
    from formulations.dp import path_kernels as kernels  # loads the compiler

    cost = np.empty(len(paths), dtype=np.int64)
    kernels.extras(paths.begin, paths.number, paths.entered, multipliers, cost)
    cost += paths.cost
    nodes = len(paths.time)
    distance, choice = np.empty(nodes, dtype=np.int64), np.empty(nodes, dtype=np.int64)
    kernels.to_the_end(paths.origin, paths.to, cost, distance, choice)
    path = np.empty(nodes, dtype=np.int64)
    path = path[: kernels.best_path(paths.to, choice, path)]
    if choice[0] < 0:
        return PricedPaths(cost, distance, None, path)
    return PricedPaths(cost, distance, int(distance[0]) - int(multipliers @ counts), path)


def fixed(paths: SweepPaths, found: PricedPaths, limit: int) -> SweepPaths:
    """Return the network of the paths no longer than a limit, with multipliers."""
    from formulations.dp import path_kernels as kernels  # loads the compiler

    ahead = np.empty(len(paths.time), dtype=np.int64)
    kernels.from_the_first(paths.origin, paths.to, found.cost, ahead)
    mask = np.empty(len(paths), dtype=bool)
    kernels.short_enough(paths.origin, paths.to, found.cost, ahead, found.distance, limit, mask)
    return paths.kept(mask)


def shortened(paths: SweepPaths, tolls: Ints, limit: int) -> SweepPaths:
    """Return the network, without tolls, of the paths no longer than a limit, with tolls."""
    from formulations.dp import path_kernels as kernels  # loads the compiler

    own = np.empty(len(paths), dtype=np.int64)
    kernels.extras(paths.begin, paths.number, paths.entered, tolls, own)
    paths.cost[:] -= own
    del own
    return fixed(paths, priced(paths, tolls, np.zeros_like(tolls)), limit)


def entries(paths: SweepPaths, path: Ints, kinds: int) -> Ints:
    """Return the completions of each kind on the arcs of a path, shape (kinds,)."""
    number = paths.number[path].astype(np.int64)
    shift = paths.begin[path] - (np.cumsum(number) - number)
    entered = paths.entered[np.repeat(shift, number) + np.arange(number.sum())]
    return np.bincount(entered, minlength=kinds)


def starts_of(kinds: RequestKinds, paths: SweepPaths, path: Ints) -> list[int]:
    """Return the start (rounds) of each request on a path; a kind's in the instance's order."""
    found: list[list[int]] = [[] for _ in kinds.counts]
    for x in path.tolist():
        first = paths.begin[x]
        for g in paths.entered[first : first + paths.number[x]].tolist():
            found[g].append(int(paths.time[paths.origin[x]]) - int(kinds.outputs[g]))
    starts = np.zeros(len(kinds.of), dtype=np.int64)
    for g, own in enumerate(found):
        starts[np.flatnonzero(kinds.of == g)] = sorted(own)
    return [int(start) for start in starts]


def improved(
    paths: SweepPaths, multipliers: Ints, counts: Ints, window: int, out_of_time: Callable[[], bool]
) -> tuple[SweepPaths, Ints, int | None]:
    """Raise the value by steps along the surplus of the best path, and fix on the way.

    Returns the network left, the best multipliers, and their value; None where no path is left, and
    no schedule in the window.  The steps aim just above the window.
    """
    found = priced(paths, multipliers, counts)
    best, trial = multipliers, multipliers
    value = found.value
    direction = np.zeros(len(counts))
    step, waited, halved, since, evaluations = 1.0, 0, 0, 0, 0
    farthest = SAFE // (8 * (int(paths.time.max()) + 1) * (int(counts.sum()) + 1))
    while found.value is not None and value is not None and not out_of_time():
        surplus = entries(paths, found.path, len(counts)) - counts
        if value > window:
            return paths.kept(np.zeros(len(paths), dtype=bool)), best, None
        if not surplus.any() or halved > HALVINGS or evaluations > EVALUATIONS:
            break
        direction = surplus + MOMENTUM * direction
        if not direction.any():
            direction = surplus.astype(float)
        length = step * (window + 1 - found.value) / float(direction @ direction)
        trial = np.clip(np.rint(trial + length * direction), -farthest, farthest).astype(np.int64)
        found = priced(paths, trial, counts)
        if found.value is None:
            break
        evaluations += 1
        since += 1
        waited += 1
        if found.value > value:
            if found.value > value + (window - value) // 200:
                waited = 0
            best, value = trial, found.value
            if since >= FIX_EVERY:
                since = 0
                paths = fixed(paths, found, window + int(best @ counts))
                found = priced(paths, best, counts)
        if waited > PATIENCE:
            step, waited, halved = step / 2, 0, halved + 1
            trial, found = best, priced(paths, best, counts)
            direction[:] = 0
    if found.value is None or value is None:
        return paths, best, None
    paths = fixed(paths, priced(paths, best, counts), window + int(best @ counts))
    return paths, best, value if len(paths) else None


def _digits(counts: Ints, counted: Sequence[int]) -> tuple[Ints, int]:
    """Return each kind's step in a mixed-radix count of completions, and a whole path's count."""
    step, full, radix = np.zeros(len(counts), dtype=np.int64), 0, 1
    for g in counted:
        step[g] = radix
        full += int(counts[g]) * radix
        radix *= int(counts[g]) + 1
    return step, full


def split(
    paths: SweepPaths,
    multipliers: Ints,
    counts: Ints,
    counted: Sequence[int],
    window: int,
    most_arcs: int,
    out_of_time: Callable[[], bool],
) -> SweepPaths | None:
    """Return the network whose nodes also count completions of some kinds.

    Every path has the right number of each counted kind.  None where that takes more arcs or time
    than allowed.
    """
    from formulations.dp import path_kernels as kernels  # loads the compiler

    step, full = _digits(counts, counted)
    found = priced(paths, multipliers, counts)
    limit = window + int(multipliers @ counts)
    begins = np.searchsorted(paths.origin, np.arange(len(paths.time) + 1))
    arcs = (paths.to, found.cost, paths.begin, paths.number)
    first = np.zeros(1, dtype=np.int64)
    states: tuple[Any, ...] = (first.astype(np.int32), first, first)
    offset, total = 0, 0
    times, origins, taken, places = [paths.time[:1]], [], [], []
    end = len(paths.time) - 1
    while len(states[0]) and states[0][0] != end:
        if out_of_time():
            return None
        *states_, way_origin, way_arc, way_to = kernels.split_stage(
            states, arcs, begins, paths.entered, step, counts, found.distance, limit,
            most_arcs - total,
        )  # fmt: skip
        if len(way_arc) and not len(states_[0]):
            return None
        if len(states_[0]) and states_[0][0] == end:
            # All ways to the end with another count are dropped.
            right = states_[1][way_to] == full
            way_origin, way_arc = way_origin[right], way_arc[right]
            way_to = np.zeros(len(way_arc), dtype=np.int32)
            states_ = [each[:1] for each in states_]
        here = len(states[0])
        origins.append(way_origin + np.int32(offset))
        places.append(way_to + np.int32(offset + here))
        taken.append(way_arc)
        total += len(way_arc)
        states = tuple(states_)
        offset += here
        times.append(paths.time[states[0]])
    if not len(states[0]):
        return paths.kept(np.zeros(len(paths), dtype=bool))
    arc = np.concatenate(taken)
    return SweepPaths(
        np.concatenate(origins), np.concatenate(places), paths.cost[arc], paths.begin[arc],
        paths.number[arc], paths.entered, np.concatenate(times),
    )  # fmt: skip
