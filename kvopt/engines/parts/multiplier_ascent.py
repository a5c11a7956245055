"""Multipliers on "each request once": beams find the direction, exact evaluations prove.

    evaluate at 0 with beams, wider and wider, until a path is left; exactly where time is over
    while steps promise enough: take a point of the bundle, evaluate there with a beam
    evaluate exactly at the best point of the beams: the first bound
    while steps promise anything: take a point of the bundle, evaluate there exactly: a bound

An evaluation is a backward dynamic programming with dominance (P5,
:mod:`formulations.dp.state_relaxation`).  With a beam it takes a fraction of the time and proves
nothing. The networks of the last evaluations give cuts first, in milliseconds.
"""

import math
import time
from collections import deque
from collections.abc import Callable
from statistics import median

import numpy as np
from numpy.typing import NDArray

from formulations.bounds.proximal_bundle import Bundle, Cut, Floats
from formulations.dp.backward_sweep import Most, SearchLimits
from formulations.dp.bidirectional import completion_bounds
from formulations.dp.priced_network import PricedNetwork
from formulations.dp.state_bounds import CompletionBounds
from formulations.dp.state_relaxation import EvaluatedMultipliers, SearchTuning, StateRelaxation
from formulations.dp.sweep_paths import SweepPaths, entries, priced, starts_of

Ints = NDArray[np.int64]

#: Shares of the gap of the first windows of a beam, until one leaves a path: wider ones make more
#: bases for each that a beam follows.
FIRST_REACH = (0.3, 0.45, 0.6, 0.8, 1.0)
#: Beams that need time at least; networks that give cuts; length of steps from which a small
#: promise is an end.
FEWEST, NETWORKS, LONGEST = 10, 3, 50.0
#: Share of the time left for an exact window, which narrows where it would take longer; how many
#: times the time of the last one the next one needs, by a beam's or a bound's rule.
ITS_SHARE, LEAST_TIMES, LATE = 0.9, 1.3, 1.2
#: Mean time of later levels at first, as a share of the present one's; its least change after a
#: window that ended too soon.
LATER, LEAST_CHANGE = 0.2, 0.25
#: Levels whose times predict that of a base, and the share of a level that stays at least.
MEASURED, LEAST_KEPT = 5, 0.7
#: Share of the gap by which a window has to go beyond the bound.
LEAST_WAY = 0.01

#: The next stage of ``run``.
_BEGIN, _DEEPEN, _CLIMB, _ENDED = range(4)


class Ascent:
    """The best bound from multipliers under given prices, within limits.

    No TEL is less than ``bound``, which rises up to the best TEL known, ``below``.  ``on_bound``
    receives a bound (rounds), its multipliers and the number of bases made, ``on_schedule`` the
    starts of a least path that is a schedule.

    Raises :class:`formulations.dp.priced_network.TooLargeError`.
    """

    def __init__(
        self,
        network: PricedNetwork,
        below: int,
        bound: int,
        limits: SearchLimits,
        on_bound: Callable[[int, Ints, int], object],
        on_schedule: Callable[[list[int]], object],
        tuning: SearchTuning,
    ) -> None:
        self._network, self.below, self.bound = network, below, bound
        self._on_bound, self._on_schedule = on_bound, on_schedule
        self._relaxed, self._tuning = StateRelaxation(network, below), tuning
        self._beam = max(tuning.beam, 1)
        self._counts = network.kinds.counts
        self._start = network.total / network.unit
        self._gap = below - self._start
        self._bundle = Bundle(len(self._counts), self._gap)
        self._networks: list[SweepPaths] = []
        self._stage = _BEGIN
        self._limits, self._all_limits = limits, limits
        #: When the time ends, and the seconds of the last evaluation.
        self._end, self.took = math.inf, 0.0
        self._later = LATER

    @property
    def ended(self) -> bool:
        """Return whether no better multipliers are in sight."""
        return self._stage == _ENDED

    def run(self, seconds: float, *, until_known: bool = False) -> bool:
        """Raise the bound for so many seconds; return whether it has reached ``below``.

        ``until_known`` stops once the value at some multipliers is known exactly.
        """
        began = time.monotonic()
        self._end = began + seconds
        self._limits = self._all_limits.until(self._end)
        if self._stage == _BEGIN:
            self._stage = self._begin(began + self._tuning.begin_share * seconds)
        if self._stage == _DEEPEN:
            if FEWEST * self.took < self._tuning.beam_share * seconds:
                self._follow_beams(began + self._tuning.beam_share * seconds)
            value = self._exactly(self._bundle.centre, self._first_target())
            if value is not None:
                self._bundle.restart(value)
                self._stage = _CLIMB
        if self._stage == _CLIMB and not until_known and self._climb():
            self._stage = _ENDED
        return self.bound >= self.below

    def completion_bounds(self, last: int, seconds: float) -> CompletionBounds | None:
        """Return the best multipliers' bounds of schedules below ``below``.

        Their starts are at most ``last`` (rounds); None where that would take longer.
        """
        best = self._multipliers(self._bundle.centre)
        limits = self._all_limits.until(time.monotonic() + seconds)
        return completion_bounds(self._relaxed, best, self.below - 1, last, limits)

    def _multipliers(self, point: Floats) -> Ints:
        """Return a point in units of the prices."""
        most = self._relaxed.farthest
        rounded: Ints = np.rint(point * self._network.unit).clip(-most, most).astype(np.int64)
        return rounded

    def _begin(self, end: float) -> int:
        """Evaluate at 0, exactly where beams find no path in time; return the next stage."""
        nothing, limits = np.zeros(len(self._counts)), self._limits
        self._limits = limits.until(end)
        found = self._follow_first_beams(nothing)
        self._limits = limits
        if found:
            return _DEEPEN
        value = self._exactly(nothing, self._first_target())
        if value is None or not self._networks:
            return _BEGIN
        self._bundle.begin(value, self._cut(self._networks[-1], nothing))
        return _CLIMB

    def _follow_first_beams(self, nothing: Floats) -> bool:
        """Follow beams at 0, wider and wider; return whether there is a path."""
        ways = [(share, self._beam) for share in FIRST_REACH]
        for share, beam in [*ways, (1.0, self._tuning.widest_beam), (1.0, None)]:
            target = min(math.ceil(self._start + share * self._gap), self.below - 1)
            found = self._evaluated(nothing, target, beam)
            if found.least is not None and found.paths is not None:
                self._bundle.begin(self._value(found), self._cut(found.paths, nothing))
                self._add(nothing, found)
                return True
            if found.reason:
                return False
        return False

    def _follow_beams(self, end: float) -> None:
        """Follow beams until steps promise little."""
        beam, bundle = self._beam, self._bundle
        while time.monotonic() < end:
            point = bundle.propose(self._cheap)
            if point is None:
                return
            if bundle.promised < self._tuning.promise * (self._gap - bundle.value):
                if bundle.length >= LONGEST:
                    return
                bundle.length *= 3
                continue
            found = self._evaluated(point, self._reach(point), beam)
            if found.reason or found.paths is None:
                if found.reason or beam >= self._tuning.widest_beam:
                    return
                # Nothing is left of so few bases within the window.
                beam *= 2
                continue
            self._learn(point, found)

    def _exactly(self, point: Floats, target: int) -> float | None:
        """Return the value at a point, at most the model's; None where time is too short.

        The first window goes up to ``target``, and proves something soon; the next ones go up to
        where the model expects a path.  All become narrower where time is short.
        """
        farthest = reach = self._reach(point)
        share = ITS_SHARE if target >= reach else self._tuning.first_share
        while self.bound < self.below and not self._limits.out_of_time():
            began = time.monotonic()
            allotted = share * (self._end - began)
            pace = _Pace(began + allotted, self._later)
            found = self._evaluated(point, target, None, pace)
            if found.least is not None:
                self._add(point, found)
                return self._value(found)
            if found.bound is None:
                if target <= self.bound + LEAST_WAY * self._gap:
                    break
                # Beyond the memory.
                target = farthest = (self.bound + target) // 2
                continue
            if found.bound > reach:
                # Beams, or windows of other points, have left out longer paths.
                return reach - self._start
            if found.bound <= target:
                # The window became narrower, and ended too soon by so much.
                self._later *= max(self.took / allotted, LEAST_CHANGE)
            left = ITS_SHARE * (self._end - time.monotonic())
            if found.bound > farthest or left < LEAST_TIMES * self.took:
                break
            target, share = farthest, ITS_SHARE
        return None

    def _first_target(self) -> int:
        way = max(self._reach(self._bundle.centre) - self._network.bound, 1)
        return max(self.bound, self._network.bound + int(self._tuning.first_way * way))

    def _climb(self) -> bool:
        """Evaluate exactly, each time a bound; return whether nothing is left."""
        bundle = self._bundle
        bundle.length = min(bundle.length, LONGEST / 2)
        while self.bound < self.below and not self._limits.out_of_time():
            point = bundle.propose(self._cheap)
            if point is None:
                return True
            if bundle.promised < self._tuning.exact_promise * (self._gap - bundle.value):
                if bundle.length >= 100 * LONGEST:
                    return True
                bundle.length *= 4
                continue
            if LATE * self.took > self._end - time.monotonic():
                return False
            value = self._exactly(point, self._reach(point))
            if value is None:
                return False
            bundle.take(point, value)
        return self.bound >= self.below

    def _evaluated(
        self, point: Floats, target: int, beam: int | None, most: Most | None = None
    ) -> EvaluatedMultipliers:
        multipliers, began = self._multipliers(point), time.monotonic()
        found = self._relaxed.evaluate(multipliers, target, self._limits, beam, most)
        self.took = time.monotonic() - began
        if found.bound is not None and found.bound > self.bound:
            self.bound = min(found.bound, self.below)
            self._on_bound(self.bound, multipliers, found.nodes)
        return found

    def _reach(self, point: Floats) -> int:
        """Return the TEL up to which a window leaves a path, by the model."""
        return min(self.below - 1, math.floor(self._start + self._bundle.model(point)) + 1)

    def _value(self, found: EvaluatedMultipliers) -> float:
        assert found.least is not None
        return found.least / self._network.unit

    def _learn(self, point: Floats, found: EvaluatedMultipliers) -> None:
        """Take a beam's value, which is too high: at most the model's."""
        bundle = self._bundle
        self._add(point, found)
        bundle.take(point, min(self._value(found), bundle.model(point)))
        bundle.value = min(bundle.value, bundle.model(bundle.centre))

    def _add(self, point: Floats, found: EvaluatedMultipliers) -> None:
        if found.paths is None:
            return
        cut = self._cut(found.paths, point)
        self._bundle.add(cut)
        if not cut[1].any():
            best = priced(found.paths, self._multipliers(point), self._counts)
            self._on_schedule(starts_of(self._network.kinds, found.paths, best.path))
        self._networks = [*self._networks[1 - NETWORKS :], found.paths]

    def _cheap(self, point: Floats) -> list[Cut]:
        return [self._cut(each, point) for each in self._networks]

    def _cut(self, paths: SweepPaths, point: Floats) -> Cut:
        """Return the cut of the least path."""
        multipliers = self._multipliers(point)
        best = priced(paths, multipliers, self._counts)
        assert best.value is not None
        slope = entries(paths, best.path, len(self._counts)) - self._counts
        return (best.value - int(multipliers @ slope)) / self._network.unit, slope


class _Pace:
    """Limits the bases of each level so that a sweep ends in time.

    Levels grow down to a time near 0, where dominance stops that.
    """

    def __init__(self, end: float, later: float) -> None:
        self._end, self._later = end, later
        self._before = -1, 1, 0.0
        self._seconds: deque[float] = deque(maxlen=MEASURED)

    def __call__(self, t: int, bases: int) -> int:
        now = time.monotonic()
        before, kept, then = self._before
        # Narrow levels are swept by the dozen and not measured.
        if before == t + 1:
            self._seconds.append((now - then) / kept)
        if self._seconds:
            left, still = self._end - now, self._later * t * bases * median(self._seconds)
            if still > max(left, 0.0):
                bases = max(int(bases * max(left / still, LEAST_KEPT)), 1)
        self._before = t, max(bases, 1), now
        return bases
