"""Exact search by dynamic programming: schedules and bounds after every pass."""

from __future__ import annotations

import math
import time
from dataclasses import replace

import numpy as np
import psutil

from formulations.bounds.clique_lp import by_highs, lp_prices
from formulations.lagrangian.certificate_file import price_certificate
from formulations.lagrangian.starts import StartCosts, certified_costs
from formulations.search import counts, layers
from formulations.search._backward_levels import Limits
from formulations.search._backward_tables import Ints, TooLargeError, network
from formulations.search.completion import CompletionBounds
from formulations.search.layers import Pass
from formulations.valid.groups import WindowGroup, window_groups
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
#: Seconds that the next pass must be expected to take before there are completion bounds, seconds a
#: request that multipliers for the first of them take, and by what these and passes grow from turn
#: to turn.
COMPLETION_FROM, FIRST_SECONDS, LONGER = 1.0, 0.1, 2.0
#: Share of the time that multipliers take which passes with their bounds may take, at least.
PASSES_SHARE = 1.0
#: Widths of passes with completion bounds.
WITH_COMPLETION = layers.WIDTHS[1:]
#: Share of the memory that may be used, for the layers of the search.
MEMORY_SHARE = 0.5


def kernels_of(instance: Instance, formulation: str) -> set[str]:
    """Return the units of kernels that it runs (``kvopt.running.compiled``)."""
    del instance
    by_name = {"counts": set(), "sweep": {"annealing", "sweep"}, "layers": {"layers", "sweep"}}
    return by_name.get(formulation, set().union(*by_name.values()))


def compile_kernels(*, completed: bool = True) -> None:
    """Compile what ``layers`` runs, without completion bounds and with them.

    What was compiled before is loaded then, which takes a while in a new process, too.
    """
    instance = Instance("three", 9, tuple(Request(i, 0, 1, 2 + i) for i in range(3)))
    starts = [0, 2, 5]
    tel = sum(start + 2 + i for i, start in enumerate(starts))
    windows = start_windows(instance, tel)
    costs = certified_costs(instance, [], None, windows.latest)
    if completed:
        backward.compile_kernels()
    layers.search(instance, windows, [], costs, (tel, starts), lambda _: None, widths=(9,))


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
    chosen = job.options["options"]
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
        self._options = job.options["options"]
        self._best = Pass(job.upper_bound, list(job.warm_start), costs.bound, 0, 0, False)
        self._states, self._met = 0, False
        available = psutil.virtual_memory().available
        self._memory_bytes = MEMORY_SHARE * min(available, 1e9 * (job.memory_limit or math.inf))

    def run(self) -> None:
        """Run passes of growing width until one proves the optimum or the time is over."""
        # The first pass tells what the next one takes, so its clock must not count loading.
        compile_kernels(completed=False)
        narrower, took = 0, 0.0
        for width in self._job.formulation.widths:
            left = self._job.left()
            if self._best.complete or left <= 0:
                break
            if narrower and took * width / narrower > COMPLETION_FROM and self._meet():
                break
            began = time.monotonic()
            self._search((width,), None, self._job.deadline)
            narrower, took = width, time.monotonic() - began
        outcome = "optimal" if self._best.complete else "limit"
        self._report.done(solver="kvopt search", nodes=self._states, outcome=outcome)

    def _meet(self) -> bool:
        """Run multipliers and passes in turns; tell whether nothing is left to be done.

        Without completion bounds, where they are not asked for or the memory is too large.
        """
        if self._met or not (self._options.completion and self._options.prices):
            return False
        self._met = True
        best, instance = self._best, self._job.instance
        # Multipliers on clique inequalities would leave too little to those on memory.
        prices = lp_prices(instance, self._windows, [], PRICES_SHARE * self._job.left(), by_highs)
        table = backward.rounded_prices(instance, np.zeros(2) if prices is None else prices[0])
        try:
            ascent = Ascent(
                network(instance, table),
                below=best.tel,
                bound=best.bound,
                limits=Limits(self._job.threads, self._memory_bytes, lambda: self._job.left() <= 0),
                on_bound=lambda *found: self._raise(table, *found),
                on_schedule=self._report.schedule,
            )
        except TooLargeError:
            return False
        backward.compile_kernels()
        seconds = FIRST_SECONDS * len(self._job.instance)
        while self._job.left() > 0 and not self._best.complete:
            if ascent.run(min(seconds, self._job.left())):
                self._best = replace(self._best, bound=self._best.tel, complete=True)
                break
            began = time.monotonic()
            completion = ascent.completion_bounds(max(self._windows.latest))
            if completion is not None:
                most = math.inf if ascent.ended else PASSES_SHARE * seconds
                self._search(WITH_COMPLETION, completion, began + most)
            ascent.below = self._best.tel
            if ascent.ended:
                break
            seconds *= LONGER
        return self._best.complete

    def _raise(self, table: tuple[Ints, int], bound: int, multipliers: Ints, nodes: int) -> None:
        """Report what multipliers prove."""
        self._states += nodes
        backward.report_multipliers(self._report, table, bound, multipliers, nodes)

    def _search(
        self, widths: tuple[int, ...], completion: CompletionBounds | None, end: float
    ) -> None:
        self._job.formulation.search(
            self._job.instance,
            self._windows,
            self._groups,
            self._costs,
            (self._best.tel, self._best.starts),
            self._take,
            lambda: time.monotonic() > min(end, self._job.deadline),
            options=self._options,
            completion=completion,
            widths=widths,
            memory_bytes=self._memory_bytes,
        )

    def _take(self, found: Pass) -> None:
        self._states += found.states
        self._best = found
        self._report.schedule(found.starts)
        self._report.bound(value=found.bound, source="search")
