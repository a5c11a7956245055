"""Multipliers on "each request once": beams show the way, exact evaluations prove.

Each evaluation is a backward dynamic programming with dominance
(:mod:`formulations.search.relaxation`), and a proximal bundle says where the next one is made.
With a beam it takes a fraction of the time, but states too much, so what it says is proved nowhere.
Networks left by the last evaluations are asked before each new one, which costs milliseconds.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from formulations.bounds.bundle import Bundle, Cut, Floats
from formulations.search._backward_levels import Limits
from formulations.search._backward_paths import Paths, entries, priced, starts_of
from formulations.search._backward_tables import Network
from formulations.search._tables import CompletionBounds
from formulations.search.bidirectional import completion_bounds
from formulations.search.relaxation import Evaluated, Relaxation

Ints = NDArray[np.int64]

#: Bases of a level that a beam follows at first, and at most.
BEAM, WIDEST = 400, 6_400
#: Share of the time that goes to beams.
BEAM_SHARE = 0.45
#: What a step has to promise, as a share of the gap, with beams and exactly; and the length of
#: steps from which a smaller promise is an end.
PROMISE, EXACT_PROMISE, LONGEST = 0.01, 0.0005, 50.0
#: Networks that are asked before each evaluation.
NETWORKS = 3
#: Share of the way from the prices' value to the model's that the first exact window goes, and by
#: what the bases of the next one may grow at most; it may be expected to take this share of the
#: time left, and is not tried if it could not grow by the last factor.
FIRST_WAY, GROWTH, FILL, LEAST_GROWTH = 0.5, 4.0, 0.6, 1.3

#: What ``run`` comes to next.
_BEGIN, _DEEPEN, _CLIMB, _ENDED = range(4)

#: Told of a bound (rounds), the multipliers that prove it, and the bases that were made.
OnBound = Callable[[int, Ints, int], object]


class Ascent:
    """The best bound from multipliers under given prices, within limits.

    Parameters
    ----------
    below
        TEL of the best schedule known.
    bound
        No TEL is below it.
    on_bound, on_schedule
        Told of every better bound, and of a least path that is a schedule, by its starts.

    Raises
    ------
    TooLargeError
        If the tables or the numbers are too large.
    """

    def __init__(
        self,
        network: Network,
        *,
        below: int,
        bound: int,
        limits: Limits,
        on_bound: OnBound,
        on_schedule: Callable[[list[int]], object],
    ) -> None:
        self._network, self.below, self.bound = network, below, bound
        self._on_bound, self._on_schedule = on_bound, on_schedule
        self._relaxed = Relaxation(network, below)
        self._counts = network.kinds.counts
        self._start = network.total / network.unit
        self._gap = below - self._start
        self._bundle = Bundle(len(self._counts), self._gap)
        self._networks: list[Paths] = []
        self._stage = _BEGIN
        self._limits, self._all_limits = limits, limits

    @property
    def ended(self) -> bool:
        """Whether no better multipliers are in sight."""
        return self._stage == _ENDED

    def run(self, seconds: float) -> bool:
        """Raise the bound for so many seconds more; tell whether it has reached ``below``."""
        began = time.monotonic()
        end = began + seconds
        late = self._all_limits.out_of_time
        self._limits = replace(
            self._all_limits, out_of_time=lambda: late() or time.monotonic() > end
        )
        if self._stage == _BEGIN and self._begin():
            self._stage = _DEEPEN
        if self._stage == _DEEPEN:
            self._follow_beams(began + BEAM_SHARE * seconds)
            if self._deepen(end):
                self._stage = _CLIMB
        if self._stage == _CLIMB and self._climb():
            self._stage = _ENDED
        return self.bound >= self.below

    def completion_bounds(self, last: int) -> CompletionBounds | None:
        """Return what the best multipliers say of schedules below ``below``.

        With starts no later than ``last`` (rounds).
        """
        best = self.multipliers(self._bundle.centre)
        return completion_bounds(self._relaxed, best, self.below - 1, last, self._all_limits)

    def multipliers(self, point: Floats) -> Ints:
        """Return a point in units of the prices."""
        most = self._relaxed.farthest
        rounded: Ints = np.rint(point * self._network.unit).clip(-most, most).astype(np.int64)
        return rounded

    def _begin(self) -> bool:
        """Evaluate at 0; tell whether there is anything to be raised."""
        nothing = np.zeros(len(self._counts))
        for beam in (BEAM, WIDEST, None):
            found = self._evaluated(nothing, self.below - 1, beam)
            if found.least is not None and found.paths is not None:
                multipliers = self.multipliers(nothing)
                self._bundle.begin(self._value(found), self._cut(found.paths, multipliers)[1])
                self._add(nothing, found)
                return True
            if found.reason:
                return False
        return False

    def _follow_beams(self, end: float) -> None:
        """Follow beams until steps promise little."""
        beam, bundle = BEAM, self._bundle
        while time.monotonic() < end:
            point = bundle.propose(self._cheap)
            if point is None:
                return
            if bundle.promised < PROMISE * (self._gap - bundle.value):
                if bundle.length >= LONGEST:
                    return
                bundle.length *= 3
                continue
            found = self._evaluated(point, self._reach(point), beam)
            if found.reason or found.paths is None:
                if found.reason or beam >= WIDEST:
                    return
                # Nothing is left of so few bases within the window.
                beam *= 2
                continue
            self._learn(point, found)

    def _deepen(self, end: float) -> bool:
        """Widen exact windows at the best point; tell whether one has left a path."""
        bundle, network = self._bundle, self._network
        point = bundle.centre
        reach = self._reach(point)
        way = max(reach - network.bound, 1)
        target = min(max(self.bound, network.bound + int(FIRST_WAY * way)), reach)
        before: tuple[int, int] | None = None
        while True:
            began = time.monotonic()
            found = self._evaluated(point, target, None)
            if found.reason or self.bound >= self.below:
                return False
            if found.least is not None:
                bundle.restart(self._value(found))
                self._add(point, found)
                return True
            if target >= reach:
                # The model was wrong: beams had left out what is longer.
                bundle.restart(target - self._start)
                return True
            # As long as nothing is known of how bases grow, half of the way that is left.
            slope = 0.0
            if before is not None and found.nodes > before[1]:
                slope = math.log(found.nodes / before[1]) / (target - before[0])
            before = target, found.nodes
            took = time.monotonic() - began
            growth = min(GROWTH, FILL * (end - time.monotonic()) / max(took, 1e-9))
            if growth < LEAST_GROWTH:
                return False
            half = (reach - target + 1) // 2
            step = min(2 * half, int(math.log(growth) / slope)) if slope else half
            target = min(reach, target + max(1, step))

    def _climb(self) -> bool:
        """Go on with exact evaluations, each of which is a bound; tell whether nothing is left."""
        bundle = self._bundle
        bundle.length = min(bundle.length, LONGEST / 2)
        while self.bound < self.below and not self._limits.out_of_time():
            point = bundle.propose(self._cheap)
            if point is None:
                return True
            if bundle.promised < EXACT_PROMISE * (self._gap - bundle.value):
                if bundle.length >= 100 * LONGEST:
                    return True
                bundle.length *= 4
                continue
            target = self._reach(point)
            found = self._evaluated(point, target, None)
            if found.reason:
                return False
            if found.least is None:
                bundle.take(point, target - self._start)
            else:
                self._learn(point, found)
        return self.bound >= self.below

    def _evaluated(self, point: Floats, target: int, beam: int | None) -> Evaluated:
        multipliers = self.multipliers(point)
        found = self._relaxed.evaluate(multipliers, target, self._limits, beam)
        if found.bound is not None and found.bound > self.bound:
            self.bound = min(found.bound, self.below)
            self._on_bound(self.bound, multipliers, found.nodes)
        return found

    def _reach(self, point: Floats) -> int:
        """Return the TEL up to which a window has to reach to leave a path, as the model says."""
        return min(self.below - 1, math.floor(self._start + self._bundle.model(point)) + 1)

    def _value(self, found: Evaluated) -> float:
        assert found.least is not None
        return found.least / self._network.unit

    def _learn(self, point: Floats, found: Evaluated) -> None:
        self._add(point, found)
        self._bundle.take(point, self._value(found))

    def _add(self, point: Floats, found: Evaluated) -> None:
        if found.paths is None:
            return
        multipliers = self.multipliers(point)
        _, cut = self._cut(found.paths, multipliers)
        self._bundle.add(cut)
        if not cut[1].any():
            best = priced(found.paths, multipliers, self._counts)
            self._on_schedule(starts_of(self._network.kinds, found.paths, best.path))
        self._networks = [*self._networks[1 - NETWORKS :], found.paths]

    def _cheap(self, point: Floats) -> list[Cut]:
        multipliers = self.multipliers(point)
        return [self._cut(each, multipliers)[1] for each in self._networks]

    def _cut(self, paths: Paths, multipliers: Ints) -> tuple[int, Cut]:
        """Return the least length on some paths, and the cut of the path that has it."""
        best = priced(paths, multipliers, self._counts)
        assert best.value is not None
        slope = entries(paths, best.path, len(self._counts)) - self._counts
        constant = (best.value - int(multipliers @ slope)) / self._network.unit
        return best.value, (constant, slope)
