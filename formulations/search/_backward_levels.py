"""One sweep over a window: level by level backwards in time, and the paths that it leaves."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from formulations.search._backward_paths import Paths
from formulations.search._backward_tables import Ints, Rules
from formulations.search._dominance import Dominance, undominated

#: Bases for each thread and call; fewer are expanded by one alone.
CHUNK = 4_000
#: Bytes that an arc takes while it is kept, without what completes on it.
ARC_BYTES = 40
_FAR = np.int64(1) << np.int64(61)

#: Members, their number, slack of each base.
Level = tuple[NDArray[np.uint16], NDArray[np.int16], Ints]


@dataclass(frozen=True)
class Limits:
    """What a search may use: threads, bytes, and the moment at which it has to stop.

    With ``needed`` a sweep stops as well where the memory does not hold its arcs.
    """

    threads: int
    memory_bytes: float
    out_of_time: Callable[[], bool]
    needed: bool = False


@dataclass(frozen=True)
class Swept:
    """What a sweep comes to.

    ``closed``: no path is left, so no schedule has a slack within the window.  Otherwise ``paths``
    are those left, None where they were not kept, and ``least`` is the length of the least one;
    ``reason`` tells why a sweep has stopped.
    """

    closed: bool
    nodes: int
    paths: Paths | None = None
    least: int | None = None
    reason: str = ""


@dataclass(frozen=True)
class _Arcs:
    """Arcs from the bases of one level to those of the next, in the order of their origins."""

    origin: NDArray[np.int32]
    to: NDArray[np.int32]
    cost: Ints
    begin: Ints
    number: NDArray[np.int16]
    entered: NDArray[np.uint16]

    def __len__(self) -> int:
        return len(self.origin)


def sweep(
    rules: Rules,
    width: int,
    limits: Limits,
    *,
    keep: bool,
    dominance: Dominance | None = None,
    beam: int | None = None,
) -> Swept:
    """Sweep backwards from the last time at which anything may run.

    Parameters
    ----------
    width
        Requests that can run together, at most.
    keep
        Whether the arcs are kept, as long as they take no more than the memory allowed.
    dominance
        By which bases are dropped, docs/proofs/dominance.md (P5); then the paths left are some of
        all, the least one among them.
    beam
        Bases of each level that are followed, those of the least labels: then it proves nothing.
    """
    pool = ThreadPoolExecutor(limits.threads) if limits.threads > 1 else None
    try:
        return _sweep(_Ways(rules, limits, pool, dominance, beam), width, keep)
    finally:
        if pool is not None:
            pool.shutdown()


@dataclass(frozen=True)
class _Ways:
    """How the levels of a sweep are made: by which rules and means."""

    rules: Rules
    limits: Limits
    pool: ThreadPoolExecutor | None
    dominance: Dominance | None
    beam: int | None


def _sweep(ways: _Ways, width: int, keep: bool) -> Swept:
    rules, limits = ways.rules, ways.limits
    top = last_time(rules)
    level: Level = (
        np.zeros((1, width), dtype=np.uint16),
        np.zeros(1, dtype=np.int16),
        np.array([int(rules.worth[top + 1 :].sum())], dtype=np.int64),
    )
    base_bytes = 2 * (2 * width + 40) + 60
    arcs: list[_Arcs] = []
    nodes = held = 0
    if level[2][0] > rules.window:
        return Swept(True, 0)
    for t in range(top, 0, -1):
        most = max(int((limits.memory_bytes - held) / base_bytes), 0)
        found = _step(t, level, ways, most)
        if found == "memory" and keep and not limits.needed:
            # Two levels may do where all of them do not.
            keep, arcs, held = False, [], 0
            most = int(limits.memory_bytes / base_bytes)
            found = _step(t, level, ways, most)
        if isinstance(found, str):
            return Swept(False, nodes, reason=found)
        level, between, made = found
        nodes += made
        if not len(level[1]):
            return Swept(True, nodes)
        if keep:
            arcs.append(between)
            held += len(between) * ARC_BYTES + between.entered.nbytes
    # Nothing runs at time 0, so only the empty base is left.
    least = int(level[2][0])
    return Swept(False, nodes, _paths(arcs, rules, top) if keep else None, least)


def last_time(rules: Rules) -> int:
    """Return the last time at which anything may run or patterns have a worth."""
    last = len(rules.worth) - 1
    for g in range(len(rules.outputs)):
        starts = np.flatnonzero(rules.dear[:, g] <= rules.window)
        if len(starts):
            last = max(last, int(starts[-1]) + int(rules.outputs[g]))
    return last


def _step(t: int, level: Level, ways: _Ways, most: int) -> tuple[Level, _Arcs, int] | str:
    """Return the bases at t − 1, the arcs to them and how many were made, or what is too little."""
    from formulations.search import _backward_kernels as kernels  # loads the compiler

    rules, pool, threads = ways.rules, ways.pool, ways.limits.threads
    bases = len(level[1])
    parts = threads if pool is not None and bases >= 2 * CHUNK else 1
    # More chunks than threads, since some bases leave many more than others.
    cuts = [*range(0, bases, CHUNK), bases]

    def expanded(low: int, high: int) -> Any:
        return (
            None if ways.limits.out_of_time() else kernels.expand(t, level, low, high, rules, most)
        )

    run = map if pool is None or parts == 1 else pool.map
    chunks = []
    total = 0
    for each in run(expanded, cuts[:-1], cuts[1:]):
        if each is None:
            return "time"
        chunks.append(each)
        total += len(each[2])
        if each[-1] or total > most:
            return "memory"
    members, key, number, slack, origin, end, entered = _joined(chunks)
    del chunks
    places = np.empty(len(number), dtype=np.int32)

    def merged(part: int) -> Any:
        return kernels.merge((members, number, slack, key), part, parts, places)

    found = list(run(merged, range(parts)))
    chosen = np.concatenate([each[0] for each in found])
    if parts > 1:
        offsets = np.cumsum([0, *(len(each[0]) for each in found[:-1])]).astype(np.int32)
        places += offsets[((key >> np.uint64(48)) % np.uint64(parts)).astype(np.int64)]
    following = (members[chosen], number[chosen], np.concatenate([each[1] for each in found]))
    begin = np.concatenate(([0], end[:-1])) if len(end) else end
    arcs = _Arcs(
        origin, places, slack - level[2][origin], begin, (end - begin).astype(np.int16), entered
    )
    made = len(arcs)
    if ways.dominance is not None:
        following, arcs = _thinned(t - 1, following, arcs, ways)
    return following, arcs, made


def _thinned(t: int, level: Level, arcs: _Arcs, ways: _Ways) -> tuple[Level, _Arcs]:
    """Return the bases at t that no other one dominates, with the arcs to them."""
    assert ways.dominance is not None
    chosen = undominated(t, level, ways.dominance, ways.pool)
    if ways.beam is not None and len(chosen) > ways.beam:
        chosen = np.sort(chosen[np.argpartition(level[2][chosen], ways.beam)[: ways.beam]])
    place = np.full(len(level[1]), -1, dtype=np.int32)
    place[chosen] = np.arange(len(chosen), dtype=np.int32)
    to = place[arcs.to]
    kept = _compact(replace(arcs, to=to), to >= 0)
    return (level[0][chosen], level[1][chosen], level[2][chosen]), kept


def _joined(chunks: Sequence[Any]) -> list[Any]:
    """Return members, keys, numbers, slacks, origins, ends and kinds listed of all chunks."""
    members, key, rows, entered = (
        each[0] if len(each) == 1 else np.concatenate(each)
        for each in list(zip(*chunks, strict=True))[:-1]
    )
    number, slack, origin, end = (np.ascontiguousarray(column) for column in rows.T)
    shift = np.cumsum([0, *(len(each[3]) for each in chunks[:-1])])
    end += np.repeat(shift, [len(each[2]) for each in chunks])
    return [
        members, key, number.astype(np.int16), slack, origin.astype(np.int32), end, entered,
    ]  # fmt: skip


def _paths(arcs: list[_Arcs], rules: Rules, top: int) -> Paths:
    """Return the network of the paths within the window, and drop the arcs on the way."""
    from formulations.search import _path_kernels as kernels  # loads the compiler

    behind = np.zeros(1, dtype=np.int64)
    spent = np.full(1, int(rules.worth[top + 1 :].sum()), dtype=np.int64)
    ahead = [spent]
    for each in arcs:
        size = int(each.to.max()) + 1
        reached = np.full(size, _FAR)
        np.minimum.at(reached, each.to, ahead[-1][each.origin] + each.cost)
        ahead.append(reached)
    kept: list[_Arcs] = []
    times = []
    for stage in range(len(arcs) - 1, -1, -1):
        each = arcs.pop()
        mask = np.empty(len(each), dtype=bool)
        kernels.short_enough(
            each.origin, each.to, each.cost, ahead[stage], behind, int(rules.limits[0]), mask
        )
        origin, to, cost = each.origin[mask], each.to[mask], each.cost[mask]
        nearer = np.full(len(ahead[stage]), _FAR)
        np.minimum.at(nearer, origin, cost + behind[to])
        behind = nearer
        kept.append(_compact(each, mask))
        times.append(top - stage)
    found = _concatenated(kept[::-1], [len(each) for each in ahead], times[::-1])
    tolls = np.empty(len(found), dtype=np.int64)
    kernels.extras(found.begin, found.number, found.entered, rules.tolls, tolls)
    return replace(found, cost=found.cost - tolls)


def _compact(arcs: _Arcs, mask: NDArray[np.bool_]) -> _Arcs:
    """Return some arcs with what they let complete, and nothing else listed."""
    begin, number = arcs.begin[mask], arcs.number[mask]
    starts = np.cumsum(number, dtype=np.int64) - number
    places = np.repeat(begin - starts, number) + np.arange(int(number.sum()))
    return _Arcs(
        arcs.origin[mask], arcs.to[mask], arcs.cost[mask], starts, number, arcs.entered[places]
    )


def _concatenated(stages: list[_Arcs], sizes: list[int], times: list[int]) -> Paths:
    """Return the stages as one network; ``sizes`` has one entry more, for the last node."""
    offsets = np.cumsum([0, *sizes[:-1]])
    shifts = np.cumsum([0, *(len(each.entered) for each in stages[:-1])])
    time = np.repeat(np.array([*times, 0], dtype=np.int32), sizes)
    whole = Paths(
        np.concatenate(
            [each.origin + np.int32(k) for each, k in zip(stages, offsets[:-1], strict=True)]
        ),
        np.concatenate(
            [each.to + np.int32(k) for each, k in zip(stages, offsets[1:], strict=True)]
        ),
        np.concatenate([each.cost for each in stages]),
        np.concatenate([each.begin + k for each, k in zip(stages, shifts, strict=True)]),
        np.concatenate([each.number for each in stages]),
        np.concatenate([each.entered for each in stages]),
        time,
    )
    return whole.kept(np.ones(len(whole), dtype=bool))
