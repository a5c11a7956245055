"""One sweep over a window: level by level backwards in time, and the paths that it leaves."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from threading import Lock
from typing import Any

import numpy as np
from numpy.typing import NDArray

from formulations.dp.dominance import Dominance, undominated
from formulations.dp.priced_network import Ints, WindowRules
from formulations.dp.sweep_paths import SweepPaths, shortened

#: Bases that a thread expands in a call, at most and at least.
CHUNK, LEAST_CHUNK = 4_000, 64
#: Bytes of a kept arc without its completions, and of a completion while a level is made.
ARC_BYTES, LISTED_BYTES = 40, 4
_FAR = 1 << 61
#: Compares nothing.
_NOTHING: tuple[Any, ...] = (
    np.zeros((0, 0), np.int64), np.zeros((0, 0), np.uint64), np.zeros(0, np.int64), np.uint64(0),
)  # fmt: skip

#: Members, their number, slack of each base.
Level = tuple[NDArray[np.uint16], NDArray[np.int16], Ints]
#: Receives a time and the bases kept there, and returns how many bytes of them it keeps.
OnLevel = Callable[[int, Level], int]
#: Receives a time and the number of bases there, and returns how many of them may stay.
Most = Callable[[int, int], int]


@dataclass(frozen=True)
class SearchLimits:
    """Limits of a search: threads, bytes, and its end.

    With ``needed`` a sweep also stops where the memory does not hold its arcs.
    """

    threads: int
    memory_bytes: float
    out_of_time: Callable[[], bool]
    needed: bool = False

    def until(self, end: float) -> SearchLimits:
        """Return the same with an end at ``time.monotonic() == end`` at the latest."""
        return replace(self, out_of_time=lambda: self.out_of_time() or time.monotonic() > end)


@dataclass(frozen=True)
class SweepResult:
    """Result of a sweep.

    ``closed``: no path is left, so no schedule has a slack within the window.  Otherwise ``paths``
    are the rest, None where the sweep kept none, and ``least`` is the length of the least one.
    ``reason`` says why a sweep has stopped; ``narrowed`` is the loss of the window.
    """

    closed: bool
    nodes: int
    paths: SweepPaths | None = None
    least: int | None = None
    reason: str = ""
    narrowed: int = 0


class _Arcs:
    """Arcs from each level to the next, in pieces, with nodes numbered through all levels.

    Joining gives up the pieces, so it never holds twice as much.
    """

    def __init__(self) -> None:
        self._pieces: list[list[NDArray[Any]]] = [[] for _ in range(6)]
        self._sizes = [1]
        self._nodes, self._listed = 0, 0
        self.nbytes = 0

    def add(self, arcs: tuple[NDArray[Any], ...], ends: Ints, sizes: Ints) -> None:
        """Take the arcs of some levels, the end of each level's, and its number of bases.

        ``arcs`` are origin and end within their level, cost, first and number of the completions,
        and the kinds that are listed.
        """
        before = np.array([self._sizes[-1], *sizes[:-1].tolist()], dtype=np.int64)
        first = self._nodes + np.cumsum(before) - before
        offsets = np.repeat(first, np.diff(ends, prepend=0))
        self._nodes += int(before.sum())
        ahead = np.repeat(first + before, np.diff(ends, prepend=0))
        origin, to, cost, begin, number, entered = arcs
        found = (
            (origin + offsets).astype(np.int32), (to + ahead).astype(np.int32), cost,
            begin + self._listed, number, entered,
        )  # fmt: skip
        for pieces, each in zip(self._pieces, found, strict=True):
            pieces.append(each)
        self._listed += len(entered)
        self._sizes += sizes.tolist()
        self.nbytes += len(origin) * ARC_BYTES + entered.nbytes

    def network(self, top: int) -> SweepPaths:
        """Return all arcs as one network; the first node is at time ``top``."""

        def joined() -> NDArray[Any]:
            return np.concatenate(self._pieces.pop(0))

        times = np.repeat(top - np.arange(len(self._sizes), dtype=np.int32), self._sizes)
        return SweepPaths(joined(), joined(), joined(), joined(), joined(), joined(), times)


def sweep(
    rules: WindowRules,
    width: int,
    limits: SearchLimits,
    *,
    keep: bool,
    dominance: Dominance | None = None,
    beam: int | None = None,
    on_level: OnLevel | None = None,
    last: int | None = None,
    most: Most | None = None,
) -> SweepResult:
    """Sweep backwards from the last time at which anything may run; ``width`` requests fit at once.

    The sweep keeps arcs while they fit in memory.  With ``dominance`` the paths left are some of
    all, the least one among them (P5).  With a ``beam`` only so many bases of a level go on, with
    the least labels, and nothing is proved.  ``on_level`` receives every time and its bases.  A
    level of more bases than ``most`` allows narrows the window, but for levels below ``NARROW``.
    ``last`` replaces :func:`last_time`.
    """
    with ThreadPoolExecutor(limits.threads) as pool:
        shared = pool if limits.threads > 1 else None
        run = _Sweep(rules, width, limits, shared, keep, dominance, beam, on_level, most)
        return run.to_the_first(last_time(rules) if last is None else last)


class _Sweep:
    """The levels of one sweep, made one after the other."""

    def __init__(
        self,
        rules: WindowRules,
        width: int,
        limits: SearchLimits,
        pool: ThreadPoolExecutor | None,
        keep: bool,
        dominance: Dominance | None,
        beam: int | None,
        on_level: OnLevel | None,
        most: Most | None,
    ) -> None:
        self._rules, self._width, self._limits, self._pool = rules, width, limits, pool
        self._dominance, self._beam, self._on_level, self._most = dominance, beam, on_level, most
        self._arcs = _Arcs() if keep else None
        self._nodes = self._narrowed = self._held = 0
        words = 0 if dominance is None else dominance.profiles.shape[1]
        #: Bytes that a base takes while its level is made.
        self._base_bytes = 2 * (2 * width + 40) + 60 + 2 * 8 * words

    def to_the_first(self, top: int) -> SweepResult:
        """Sweep from a time on down to time 0."""
        from formulations.dp.level_kernels import ENOUGH, NARROW  # loads the compiler

        t, after = top, int(self._rules.worth[top + 1 :].sum())
        level: Level = (
            np.zeros((1, self._width), dtype=np.uint16),
            np.zeros(1, dtype=np.int16),
            np.array([after], dtype=np.int64),
        )
        if after > self._rules.window:
            return SweepResult(True, 0)
        self._report(t, level)
        narrow = self._on_level is None
        while t > 0:
            if narrow and self._free() > 2 * ENOUGH * self._base_bytes:
                if self._limits.out_of_time():
                    return SweepResult(False, self._nodes, reason="time")
                began = t
                t, level = self._descend(t, level)
                narrow = t < began
            else:
                before = self._nodes
                found = self._step(t, level)
                if found == "memory" and self._arcs is not None and not self._limits.needed:
                    # Two levels may do where all of them do not.
                    self._arcs = None
                    found = self._step(t, level)
                if isinstance(found, str):
                    return SweepResult(False, self._nodes, reason=found)
                t, level = t - 1, found
                narrow = self._nodes - before < NARROW and self._on_level is None
                self._report(t, level)
            if not len(level[1]):
                return SweepResult(True, self._nodes, narrowed=self._narrowed)
        # Nothing runs at time 0, so only the empty base is left.
        paths = None
        if self._arcs is not None:
            limit = self._limit(0) - after
            paths = shortened(self._arcs.network(top), self._rules.tolls, limit)
        return SweepResult(False, self._nodes, paths, int(level[2][0]), narrowed=self._narrowed)

    def _report(self, t: int, level: Level) -> None:
        if self._on_level is not None:
            self._held += self._on_level(t, level)

    def _free(self) -> float:
        """Return the bytes that are left."""
        kept = 0 if self._arcs is None else self._arcs.nbytes
        return self._limits.memory_bytes - self._held - kept

    def _limit(self, t: int) -> int:
        """Return what no label at a time exceeds."""
        return int(self._rules.limits[min(t, len(self._rules.limits) - 1)])

    def _descend(self, t: int, level: Level) -> tuple[int, Level]:
        """Sweep narrow levels from t on; return the time reached and its level."""
        from formulations.dp.level_kernels import descend  # loads the compiler

        by, rule = _NOTHING, self._dominance
        if rule is not None:
            by = rule.owed, rule.profiles, rule.totals, rule.high
        t, level, found, ends, sizes, made = descend(
            t, level, self._rules, by, self._beam or _FAR, self._arcs is not None
        )
        self._nodes += made
        if self._arcs is not None and len(ends):
            self._arcs.add(found, ends, sizes)
        return t, level

    def _step(self, t: int, level: Level) -> Level | str:
        """Return the bases at t − 1, or the lack of "time" or "memory"; add their arcs."""
        from formulations.dp import base_kernels as kernels  # loads the compiler

        pool, bases = self._pool, len(level[1])
        parts = self._limits.threads if pool is not None and bases >= 2 * LEAST_CHUNK else 1
        cuts = _cuts(bases, parts)
        sizes = (self._base_bytes, LISTED_BYTES)
        shares = _Shares(self._free(), parts)

        def expanded(low: int, high: int) -> Any:
            if self._limits.out_of_time():
                return None
            share = shares.reserve()
            found = kernels.expand(t, level, low, high, self._rules, sizes, share)
            shares.settle(share, sizes[0] * len(found[2]) + sizes[1] * len(found[3]))
            return found

        run = map if pool is None or parts == 1 else pool.map
        chunks = list(run(expanded, cuts[:-1], cuts[1:]))
        if any(each is not None and each[-1] for each in chunks):
            return "memory"
        if None in chunks:
            return "time"
        members, key, number, slack, origin, end, entered = _joined(chunks)
        del chunks
        places = np.empty(len(number), dtype=np.int32)
        self._nodes += len(places)

        def merged(part: int) -> Any:
            return kernels.merge((members, number, slack, key), part, parts, places)

        found = list(run(merged, range(parts)))
        chosen = np.concatenate([each[0] for each in found])
        if parts > 1:
            offsets = np.cumsum([0, *(len(each[0]) for each in found[:-1])]).astype(np.int32)
            places += offsets[((key >> np.uint64(48)) % np.uint64(parts)).astype(np.int64)]
        following = (members[chosen], number[chosen], np.concatenate([each[1] for each in found]))
        if self._dominance is not None:
            kept = self._followed(t - 1, following, self._dominance)
            place = np.full(len(following[1]), -1, dtype=np.int32)
            place[kept] = np.arange(len(kept), dtype=np.int32)
            following = (following[0][kept], following[1][kept], following[2][kept])
            places = place[places]
        if self._arcs is not None:
            cost = slack - level[2][origin]
            _add_arcs(self._arcs, origin, places, cost, end, entered, len(following[1]))
        return following

    def _followed(self, t: int, level: Level, rule: Dominance) -> Ints:
        """Return the undominated bases at t, of a beam the least ones; narrow a window of many."""
        chosen = undominated(t, level, rule, self._pool)
        labels = level[2][chosen]
        if self._beam is not None and len(chosen) > self._beam:
            return np.sort(chosen[np.argpartition(labels, self._beam)[: self._beam]])
        most = len(chosen) if self._most is None else self._most(t, len(chosen))
        if len(chosen) <= most:
            return chosen
        limit = int(np.partition(labels, most)[most]) - 1
        by = self._limit(t) - limit
        self._narrowed += by
        self._rules = self._rules._replace(limits=self._rules.limits - by)
        return chosen[labels <= limit]


def last_time(rules: WindowRules) -> int:
    """Return the last time at which anything may run or patterns have a worth."""
    last = len(rules.worth) - 1
    for g in range(len(rules.outputs)):
        starts = np.flatnonzero(rules.dear[:, g] <= rules.window)
        if len(starts):
            last = max(last, int(starts[-1]) + int(rules.outputs[g]))
    return last


class _Shares:
    """Bytes that threads share, but for one base each, which counts once it is made.

    The process takes up to 1.5 times as much, with joined arrays; ``MEMORY_SHARE`` has room for it.
    """

    def __init__(self, free: float, threads: int) -> None:
        self._left, self._threads = max(free, 0.0), threads
        self._reserved, self._lock = 0, Lock()

    def reserve(self) -> int:
        """Return how much a thread may take now."""
        with self._lock:
            share = int(min(self._left / self._threads, self._left - self._reserved))
            self._reserved += max(share, 0)
            return max(share, 0)

    def settle(self, share: int, taken: int) -> None:
        """Give back a share of which so much was taken."""
        with self._lock:
            self._reserved -= share
            self._left -= taken


def _add_arcs(
    arcs: _Arcs,
    origin: NDArray[np.int32],
    places: NDArray[np.int32],
    cost: Ints,
    end: Ints,
    entered: NDArray[np.uint16],
    bases: int,
) -> None:
    """Add the arcs of a level that lead to a kept base, at a place of at least 0."""
    own, led = np.diff(end, prepend=0), places >= 0
    entered = entered[np.repeat(led, own)]
    own = own[led]
    ends = np.cumsum(own)
    found = (origin[led], places[led], cost[led], ends - own, own.astype(np.int16), entered)
    arcs.add(found, np.array([len(own)], dtype=np.int64), np.array([bases], dtype=np.int64))


def _cuts(bases: int, parts: int) -> list[int]:
    """Return the edges of chunks, more than threads, since some bases leave many more."""
    chunk = min(max(-(-bases // (4 * parts)), LEAST_CHUNK), CHUNK)
    return [*range(0, bases, chunk), bases]


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
