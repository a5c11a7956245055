"""Exact search by dynamic programming: schedules and bounds after every pass."""

from __future__ import annotations

import math
import time
from dataclasses import replace

import numpy as np
import psutil

from formulations.bounds.clique_lp import by_highs, lp_prices
from formulations.bounds.patterns import Options, price_patterns
from formulations.lagrangian.certificate_file import price_certificate
from formulations.lagrangian.starts import StartCosts, certified_costs
from formulations.search import bidirectional, counts, layers
from formulations.search._backward_levels import Limits
from formulations.search._backward_tables import Ints, TooLargeError, network
from formulations.search._tables import CompletionBounds
from formulations.search.layers import Pass, PatternPrices
from formulations.valid.groups import WindowGroup, window_groups
from formulations.valid.states import searchable_states
from formulations.valid.windows import Windows, start_windows
from instances import Instance, Request
from kvopt.engines.job import Job
from kvopt.engines.parts import backward, counting
from kvopt.engines.parts.ascent import Ascent
from kvopt.engines.parts.size import too_large
from kvopt.running.events import Report

#: Read by ``kvopt.methods.engines``.
ENGINE = {"solves": "search", "named": True, "default": True, "proof": "search"}

#: Share of the time that the prices may take.
PRICES_SHARE = 0.3
#: Seconds that the next pass must be expected to take before prices on patterns are looked for.
PATTERNS_FROM = 20.0
#: Share of the time left, and seconds, that the prices on patterns may take.
PATTERN_SHARE, PATTERN_SECONDS = 0.25, 60.0
#: Steps of one search for the best pattern beyond which there are no prices on patterns.
PATTERN_WORK_UP_TO = 40_000_000
#: Times between which they are linear, and grids of states that they are refined to.
PATTERN_KNOTS, PATTERN_GRIDS = 40, 3
#: Seconds that the next pass must be expected to take before it has completion bounds, seconds a
#: request that multipliers for the first of them take, and by what these and passes grow from turn
#: to turn.
COMPLETION_FROM, FIRST_SECONDS, LONGER = 0.5, 0.1, 2.0
#: Widths of passes with completion bounds.
WITH_COMPLETION = layers.WIDTHS[1:]
#: Share of the memory that may be used, for the layers of the search.
MEMORY_SHARE = 0.5


def kernels_of(instance: Instance, formulation: str) -> set[str]:
    """Return the units of kernels that it runs (``kvopt.running.compiled``)."""
    del instance
    by_name = {
        "counts": set(),
        "sweep": {"annealing", "sweep"},
        "layers": {"layers"},
        "bidirectional": {"layers", "sweep"},
    }
    return by_name.get(formulation, set().union(*by_name.values()))


def compile_kernels(*, priced: bool = True) -> None:
    """Compile what ``layers`` runs, without prices on patterns and with them.

    What was compiled before is loaded then, which takes a while in a new process, too.
    """
    instance = Instance("three", 9, tuple(Request(i, 0, 1, 2 + i) for i in range(3)))
    starts = [0, 2, 5]
    tel = sum(start + 2 + i for i, start in enumerate(starts))
    windows = start_windows(instance, tel)
    costs = certified_costs(instance, [], None, windows.latest)
    declared, deadline = layers.FORMULATION, time.monotonic() + 60
    job = Job(instance, "search", declared, False, deadline, 1, 0, starts, tel)
    best = Pass(tel, starts, 0, 0, 0, False)
    kinds: list[PatternPrices | None] = [None]
    if priced:
        kinds.append(_pattern_prices(job, costs, windows, best, job.left()))
    for patterns in kinds:
        incumbent = (tel, starts)
        layers.search(
            instance, windows, [], costs, incumbent, lambda _: None, patterns=patterns, widths=(9,)
        )


def solve(job: Job, report: Report) -> None:
    """Price memory and window groups by an LP, then search within the job's limits.

    Without ``prices`` or ``groups`` among the options the missing ones are 0.

    Every bound is sent as it is, so one above the known schedule is seen as a contradiction.  None
    can be: ``start_windows`` keep every optimal schedule if the known TEL is one of a feasible
    schedule, so what prices certify within them is at most the optimum, not only a bound on
    schedules better than the known one.  Where a rule does remove schedules that are no better,
    as the search's own pruning, what is proved is that none is better, and the bound that
    ``layers.search`` states is the known TEL itself.
    """
    formulation, instance = job.formulation, job.instance
    if len(instance) > formulation.requests_up_to:
        report.note(f"search takes up to {formulation.requests_up_to} requests")
        return
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
    chosen = job.options.get("options") or layers.Options()
    groups = window_groups(instance) if chosen.groups and chosen.prices else []
    prices = None
    if chosen.prices:
        left = PRICES_SHARE * job.left()
        prices = lp_prices(instance, windows, groups, left, by_highs)
    # The LP's prices suit its windows; over more starts they certify less.
    costs = certified_costs(instance, groups, prices, windows.latest)
    report.built(columns=size, rows=0, entries=size)
    certificate = price_certificate(
        costs.bound,
        costs.denominator,
        costs.memory,
        upper_bound=job.upper_bound,
        groups=groups,
        group_prices=costs.groups,
    )
    report.bound(value=costs.bound, source="prices", certificate=certificate)
    _Passes(job, report, windows, groups, costs).run()


class _Passes:
    """The passes of a search, one after the other, and the best that they have found."""

    def __init__(
        self,
        job: Job,
        report: Report,
        windows: Windows,
        groups: list[WindowGroup],
        costs: StartCosts,
    ) -> None:
        self._job, self._report, self._windows = job, report, windows
        self._groups, self._costs = groups, costs
        self._options = job.options.get("options") or layers.Options()
        self._meets = job.formulation is bidirectional.FORMULATION
        self._best = Pass(job.upper_bound, list(job.warm_start), costs.bound, 0, 0, False)
        self._states = 0
        available = psutil.virtual_memory().available
        self._memory_bytes = MEMORY_SHARE * min(available, 1e9 * (job.memory_limit or math.inf))

    def run(self) -> None:
        """Run passes of growing width until one proves the optimum or the time is over."""
        # The first pass tells what the next one takes, so its clock must not count loading.
        compile_kernels(priced=False)
        priced = self._options.prices and self._options.patterns and not self._meets
        patterns: PatternPrices | None = None
        narrower, took = 0, 0.0
        for width in self._job.formulation.widths:
            left = self._job.left()
            if self._best.complete or left <= 0:
                break
            expected = took * width / narrower if narrower else 0.0
            if self._meets and expected > COMPLETION_FROM:
                self._meets = False
                if self._meet():
                    break
            widths: tuple[int, ...] = (width,)
            if priced and expected > PATTERNS_FROM:
                priced = False
                patterns = _pattern_prices(self._job, self._costs, self._windows, self._best, left)
                if patterns:
                    bound = patterns.priced.bound
                    self._report.bound(value=bound, source="prices of patterns")
                    # The last pass again, with better prices: its bound may do.
                    widths = (narrower, width)
            began = time.monotonic()
            self._search(widths, patterns=patterns)
            narrower, took = width, time.monotonic() - began
        outcome = "optimal" if self._best.complete else "limit"
        self._report.done(solver="kvopt search", nodes=self._states, outcome=outcome)

    def _meet(self) -> bool:
        """Run multipliers and passes in turns; tell whether nothing is left to be done.

        Not where the memory is too large for them.
        """
        best, instance = self._best, self._job.instance
        # Multipliers on clique inequalities would leave too little to those on memory.
        prices = lp_prices(instance, self._windows, [], PRICES_SHARE * self._job.left(), by_highs)
        table = backward.rounded_prices(instance, np.zeros(2) if prices is None else prices[0])
        try:
            under = network(instance, table)
            if under.bound >= best.tel:
                self._best = replace(best, bound=best.tel, complete=True)
                self._report.bound(value=best.tel, source="prices")
                return True
            ascent = Ascent(
                under,
                below=best.tel,
                bound=best.bound,
                limits=Limits(self._job.threads, self._memory_bytes, lambda: self._job.left() <= 0),
                on_bound=lambda *found: self._raise(table, *found),
                on_schedule=lambda starts: self._met(ascent, starts),
            )
        except TooLargeError:
            return False
        backward.compile_kernels()
        seconds = FIRST_SECONDS * len(self._job.instance)
        while self._job.left() > 0 and not self._best.complete:
            if ascent.run(min(seconds, self._job.left())):
                self._best = replace(self._best, bound=self._best.tel, complete=True)
                break
            completion = ascent.completion_bounds(max(self._windows.latest))
            if completion is not None:
                most = math.inf if ascent.ended else seconds
                self._search(WITH_COMPLETION, completion=completion, seconds=most)
            ascent.below = min(ascent.below, self._best.tel)
            if ascent.bound >= self._best.tel:
                self._best = replace(self._best, bound=self._best.tel, complete=True)
            if ascent.ended:
                break
            seconds *= LONGER
        return self._best.complete

    def _met(self, ascent: Ascent, starts: list[int]) -> None:
        """Take a schedule that the relaxation's best path is."""
        self._report.schedule(starts)
        instance = self._job.instance
        tel = int((np.array(starts) + instance.outputs - instance.arrivals).sum())
        if tel < self._best.tel:
            self._best = replace(self._best, tel=tel, starts=starts)
        ascent.below = min(ascent.below, self._best.tel)

    def _raise(self, table: tuple[Ints, int], bound: int, multipliers: Ints, nodes: int) -> None:
        """Report what multipliers prove."""
        self._states += nodes
        backward.report_multipliers(self._report, table, bound, multipliers, nodes)

    def _search(
        self,
        widths: tuple[int, ...],
        *,
        patterns: PatternPrices | None = None,
        completion: CompletionBounds | None = None,
        seconds: float = math.inf,
    ) -> None:
        end = min(time.monotonic() + seconds, self._job.deadline)
        self._job.formulation.search(
            self._job.instance,
            self._windows,
            self._groups,
            self._costs,
            (self._best.tel, self._best.starts),
            self._take,
            lambda: time.monotonic() > end,
            options=self._options,
            patterns=patterns,
            completion=completion,
            widths=widths,
            memory_bytes=self._memory_bytes,
        )

    def _take(self, found: Pass) -> None:
        self._states += found.states
        self._best = found
        self._report.schedule(found.starts)
        self._report.bound(value=found.bound, source="search")


def _pattern_prices(
    job: Job, costs: StartCosts, windows: Windows, best: Pass, left: float
) -> PatternPrices | None:
    """Return prices on patterns, found in a share of the time; None where there are too many."""
    states = searchable_states(job.instance, PATTERN_WORK_UP_TO)
    if states is None:
        return None
    priced = price_patterns(
        job.instance,
        states,
        deadline=time.monotonic() + min(PATTERN_SHARE * left, PATTERN_SECONDS),
        windows=windows,
        known_starts=np.array(best.starts, dtype=np.int64),
        memory=costs.memory / costs.denominator,
        threads=job.threads,
        options=Options(knots=PATTERN_KNOTS, grids=PATTERN_GRIDS),
    )
    return PatternPrices(states, priced)
