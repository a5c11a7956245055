"""Exact search by dynamic programming: schedules and bounds after every pass."""

from __future__ import annotations

import math
import time
from dataclasses import replace

import numpy as np
import psutil
from numpy.typing import NDArray

from formulations.bounds.clique_lp import lp_prices
from formulations.certificates.certificate_file import price_certificate
from formulations.dp import bidirectional, counts, forward
from formulations.dp.forward import Pass
from formulations.dp.levels import Limits
from formulations.dp.network import Ints, Network, TooLargeError, network
from formulations.dp.state_bounds import CompletionBounds
from formulations.lagrangian.starts import StartCosts, certified_costs
from formulations.valid.windows import Windows, start_windows
from instances import Instance, Request
from kvopt.engines.job import Job, tel_of
from kvopt.engines.parts import backward, counting
from kvopt.engines.parts.ascent import Ascent
from kvopt.engines.parts.size import too_large
from kvopt.runs.events import Report

#: Read by ``kvopt.methods.engines``.
ENGINE = {"solves": "search", "named": True, "default": True, "proof": "search"}

#: Share of the time that the prices may take.
PRICES_SHARE = 0.3
#: Seconds that the next pass must be expected to take before prices on patterns are looked for.
PATTERNS_FROM = 20.0
#: Share of the time left, and seconds, that the prices on patterns may take.
PATTERN_SHARE, PATTERN_SECONDS = 0.25, 60.0
#: Seconds that the next pass must be expected to take before it has completion bounds, seconds a
#: request that multipliers for the first of them take, and by what these and passes grow from turn
#: to turn.
COMPLETION_FROM, FIRST_SECONDS, LONGER = 0.5, 0.1, 2.0
#: Width of the first pass with completion bounds, share of the time left that the next one is
#: expected to take, by what it is wider at most, and below what the next one is so wide, then as
#: wide as memory allows: one that loses no state often takes no longer, and the tables of the last
#: one take a second to touch.
FIRST_WIDTH, NEXT_SHARE, MOST_GROWTH, LEAST_GROWTH = 5_000, 0.1, 60.0, 4.0
WIDE, WIDEST = 3_000_000, 1 << 30
#: Share of the time that there is until the value at some multipliers on requests is known exactly,
#: and evaluations that the first turn has time for then.
KNOWN_SHARE, EVALUATIONS = 0.95, 4
#: How much longer than a turn passes may take after it, share of it for a better schedule, where
#: nobody else looks for one, and seconds for a first one, times n³.
FEW_PASSES, FEW_LOOKS, LOOK_SECONDS = 1.5, 0.1, 1e-4
#: With multipliers on states first: the same two, and the share of all time left for a schedule
#: before the last passes; at most as much for the first one above.
STATES_PASSES, STATES_LOOKS, LAST_LOOK = 0.4, 0.2, 0.1
#: There, seconds that these multipliers take, times n², and share of the gap that a turn has to
#: gain to be followed by another at once.
STATES_SECONDS, GAIN = 0.004, 0.05
#: Share of the memory that may be used, for the layers of the search.
MEMORY_SHARE = 0.5


def kernels_of(instance: Instance, formulation: str) -> set[str]:
    """Return the units of kernels that it runs (``kvopt.runs.compiled``)."""
    del instance
    by_name = {
        "counts": set(),
        "sweep": {"annealing", "sweep"},
        "layers": {"layers", "sweep"},
        "bidirectional": {"annealing", "layers", "sweep"},
    }
    return by_name.get(formulation, set().union(*by_name.values()))


def compile_kernels() -> None:
    """Compile what ``layers`` runs.

    What was compiled before is loaded then, which takes a while in a new process, too.
    """
    instance = Instance("three", 9, tuple(Request(i, 0, 1, 2 + i) for i in range(3)))
    starts = [0, 2, 5]
    tel = sum(start + 2 + i for i, start in enumerate(starts))
    windows = start_windows(instance, tel)
    costs = certified_costs(instance, [], None, windows.latest)
    forward.search(instance, windows, costs, (tel, starts), 9)


def solve(job: Job, report: Report) -> None:
    """Price memory by an LP, then search within the job's limits; without ``prices`` these are 0.

    Every bound is sent as it is, so one above the known schedule is seen as a contradiction.  None
    can be: ``start_windows`` keep every optimal schedule if the known TEL is one of a feasible
    schedule, so what prices certify within them is at most the optimum, not only a bound on
    schedules better than the known one.  Where a rule does remove schedules that are no better,
    as the search's own pruning, what is proved is that none is better, and the bound that
    ``forward.search`` states is the known TEL itself.
    """
    formulation, instance = job.formulation, job.instance
    if len(instance) > formulation.requests_up_to:
        report.note(f"search takes up to {formulation.requests_up_to} requests")
        return
    chosen = job.options.get("options") or forward.Options()
    if isinstance(chosen, bidirectional.Options):
        chosen = forward.Options(prices=not chosen.states)
        if chosen.prices:
            job = _looked(job, report)
    windows = start_windows(instance, job.upper_bound)
    size = formulation.size(instance, windows)
    if reason := too_large(size, job.memory_limit, formulation.entry_bytes):
        report.note(reason)
        return
    if formulation is counts.FORMULATION:
        counting.solve(job, report)
        return
    if not formulation.widths:
        backward.solve(job, report)
        return
    prices = None
    if chosen.prices:
        prices = lp_prices(instance, windows, [], PRICES_SHARE * job.left())
    # The LP's prices suit its windows; over more starts they certify less.
    costs = certified_costs(instance, [], prices, windows.latest)
    report.built(columns=size, rows=0, entries=size)
    certificate = price_certificate(
        costs.bound, costs.denominator, costs.memory, upper_bound=job.upper_bound
    )
    report.bound(value=costs.bound, source="prices", certificate=certificate)
    own = np.zeros(2) if prices is None else prices[0]
    _Passes(job, report, windows, own, costs, chosen).run()


def _looked(job: Job, report: Report) -> Job:
    """Return the job from a better schedule, which narrows its windows."""
    best = backward.Best(0, job.upper_bound, np.array(job.warm_start, dtype=np.int64))
    seconds = min(LOOK_SECONDS * len(job.instance) ** 3, LAST_LOOK * job.left())
    backward.improve(job, report, best, seconds, job.seed)
    return replace(job, warm_start=best.starts.tolist(), upper_bound=best.tel)


class _Passes:
    """The passes of a search, one after the other, and the best that they have found."""

    def __init__(
        self,
        job: Job,
        report: Report,
        windows: Windows,
        prices: NDArray[np.float64],
        costs: StartCosts,
        options: forward.Options,
    ) -> None:
        self._job, self._report, self._windows = job, report, windows
        self._prices, self._costs = prices, costs
        self._options = options
        self._meets = job.formulation is bidirectional.FORMULATION
        own = job.options.get("options")
        self._by_states = isinstance(own, bidirectional.Options) and own.states
        self._best = Pass(job.upper_bound, list(job.warm_start), costs.bound, 0, 0, False)
        self._states = self._looks = 0
        self._met_once = False
        available = psutil.virtual_memory().available
        self._memory_bytes = MEMORY_SHARE * min(available, 1e9 * (job.memory_limit or math.inf))

    def run(self) -> None:
        """Run passes of growing width until one proves the optimum or the time is over."""
        # The first pass tells what the next one takes, so its clock must not count loading.
        compile_kernels()
        priced = self._options.prices and not self._meets
        patterns: Network | None = None
        narrower, took = 0, 0.0
        if self._by_states and not self._meet() and not self._met_once:
            # Nothing is left of it but the multipliers on memory.
            own = {"options": bidirectional.Options()}
            solve(replace(self._job, options=own), self._report)
            return
        for width in () if self._by_states else self._job.formulation.widths:
            if self._best.complete or self._job.left() <= 0:
                break
            expected = took * width / narrower if narrower else 0.0
            if self._meets and expected > COMPLETION_FROM:
                self._meets = False
                if self._meet():
                    break
            if priced and expected > PATTERNS_FROM:
                priced = False
                patterns = self._pattern_prices()
                if patterns is not None:
                    # The last pass again, with better prices: its bound may do.
                    self._search(narrower, patterns=patterns)
                    if self._best.complete:
                        break
            began = time.monotonic()
            self._search(width, patterns=patterns)
            narrower, took = width, time.monotonic() - began
        outcome = "optimal" if self._best.complete else "limit"
        self._report.done(solver="kvopt search", nodes=self._states, outcome=outcome)

    def _meet(self) -> bool:
        """Run multipliers and passes in turns; tell whether nothing is left to be done.

        Not where the memory is too large for them.
        """
        table = self._table()
        if table is None:
            return False
        try:
            under = network(self._job.instance, table)
            # Of what the multipliers begin with, too, since a better schedule may meet it.
            self._report.bound(value=min(under.bound, self._best.tel), source="prices")
            if under.bound >= self._best.tel:
                return self._proved()
            ascent = Ascent(
                under,
                below=self._best.tel,
                bound=max(self._best.bound, under.bound),
                limits=Limits(self._job.threads, self._memory_bytes, lambda: self._job.left() <= 0),
                on_bound=lambda *found: self._raise(ascent, table, *found),
                on_schedule=lambda starts: self._met(ascent, starts),
            )
        except TooLargeError:
            return False
        self._met_once = True
        backward.compile_kernels()
        self._take_turns(ascent)
        return self._best.complete

    def _table(self) -> backward.Table | None:
        """Return the prices under which multipliers are looked for."""
        job = self._job
        if not self._by_states:
            return backward.rounded_prices(job.instance, self._prices)
        best = self._improve(backward.briefly(job))
        seconds = min(STATES_SECONDS * len(job.instance) ** 2, PRICES_SHARE * job.left())
        table = backward.pattern_prices(job, self._report, best, seconds)
        self._best = replace(self._best, bound=best.bound)
        return table

    def _pattern_prices(self) -> Network | None:
        """Return prices on patterns, found in a share of the time; None where these are many."""
        seconds = min(PATTERN_SHARE * self._job.left(), PATTERN_SECONDS)
        table = backward.pattern_prices(self._job, self._report, self._known_best(), seconds)
        try:
            return None if table is None else network(self._job.instance, table)
        except TooLargeError:
            return None

    def _known_best(self) -> backward.Best:
        known = self._best
        return backward.Best(known.bound, known.tel, np.array(known.starts, dtype=np.int64))

    def _improve(self, seconds: float) -> backward.Best:
        """Look for a better schedule, each time from other random numbers."""
        best = self._known_best()
        backward.improve(self._job, self._report, best, seconds, self._job.seed + self._looks)
        self._looks += 1
        self._best = replace(self._best, tel=best.tel, starts=best.starts.tolist())
        return best

    def _take_turns(self, ascent: Ascent) -> None:
        """Raise the bound, and run passes within the last multipliers' bounds, in turns."""
        # An evaluation that the end of a turn cuts short is lost, so one is made to the end first.
        ascent.run(KNOWN_SHARE * self._job.left(), until_known=True)
        seconds = max(FIRST_SECONDS * len(self._job.instance), EVALUATIONS * ascent.took)
        passes, looks = FEW_PASSES, FEW_LOOKS
        if self._by_states:
            passes, looks = STATES_PASSES, STATES_LOOKS
        while self._job.left() > 0 and not self._best.complete:
            self._look(ascent, looks * seconds)
            before = ascent.bound
            if ascent.run(min(seconds, self._job.left())):
                self._proved()
                break
            gained = ascent.bound - before > GAIN * (ascent.below - ascent.bound)
            if self._by_states and gained and not ascent.ended:
                seconds *= LONGER
                continue
            most = passes * seconds
            if ascent.ended:
                # The passes that follow are the last ones, and each round more makes them longer.
                most = math.inf
                if self._by_states:
                    self._look(ascent, LAST_LOOK * self._job.left())
            began = time.monotonic()
            completion = ascent.completion_bounds(max(self._windows.latest), most)
            if completion is not None:
                self._pass_by_pass(ascent, completion, began + most)
            self._hear(ascent)
            if ascent.bound >= self._best.tel:
                self._proved()
            if ascent.ended:
                break
            seconds *= LONGER

    def _pass_by_pass(self, ascent: Ascent, completion: CompletionBounds, end: float) -> None:
        """Run ever wider passes until one proves the optimum, or memory or time are at an end."""
        width, end = FIRST_WIDTH, min(end, self._job.deadline)
        while (began := time.monotonic()) < end:
            self._search(width, completion=completion, end=end, proved=ascent.bound)
            if self._best.complete or self._best.width != width:
                break
            ascent.bound = max(ascent.bound, self._best.bound)
            now = time.monotonic()
            growth = NEXT_SHARE * (end - now) / max(now - began, 1e-3)
            if growth > LEAST_GROWTH:
                width = int(width * min(growth, MOST_GROWTH))
            elif ascent.ended or end - now > LEAST_GROWTH * (now - began):
                width = WIDE if width < WIDE else WIDEST
            else:
                break

    def _look(self, ascent: Ascent, seconds: float) -> None:
        """Look for a better schedule, where nobody else does."""
        if self._job.beside() is None:
            self._improve(min(seconds, self._job.left()))
        self._hear(ascent)

    def _hear(self, ascent: Ascent) -> None:
        """Take the best schedule of the passes, and of others beside."""
        ascent.below = min(ascent.below, self._known()[0])

    def _known(self) -> tuple[int, list[int]]:
        """Return TEL and starts of the best schedule, also of others beside."""
        if (found := self._job.known(self._best.tel)) is not None:
            self._best = replace(self._best, tel=found[0], starts=found[1])
        return self._best.tel, self._best.starts

    def _proved(self) -> bool:
        self._best = replace(self._best, bound=self._best.tel, complete=True)
        return True

    def _met(self, ascent: Ascent, starts: list[int]) -> None:
        """Take a schedule that the relaxation's best path is."""
        self._report.schedule(starts)
        if (tel := tel_of(self._job.instance, starts)) < self._best.tel:
            self._best = replace(self._best, tel=tel, starts=starts)
        self._hear(ascent)

    def _raise(
        self, ascent: Ascent, table: backward.Table, bound: int, multipliers: Ints, nodes: int
    ) -> None:
        """Report what multipliers prove."""
        self._hear(ascent)
        self._states += nodes
        backward.report_multipliers(
            self._job.instance, self._report, table, bound, multipliers, nodes
        )

    def _search(
        self,
        width: int,
        *,
        patterns: Network | None = None,
        completion: CompletionBounds | None = None,
        end: float = math.inf,
        proved: int = 0,
    ) -> None:
        end = min(end, self._job.deadline)
        found = self._job.formulation.search(
            self._job.instance,
            self._windows,
            self._costs,
            (self._best.tel, self._best.starts),
            width,
            lambda: time.monotonic() > end,
            options=self._options,
            patterns=patterns,
            completion=completion,
            memory_bytes=self._memory_bytes,
            threads=self._job.threads,
            known=self._known,
            proved=proved,
        )
        if found is None:
            return
        self._states += found.states
        self._best = found
        self._report.schedule(found.starts)
        self._report.bound(value=found.bound, source="search")
