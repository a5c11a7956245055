"""One run of a search: the best schedule and bound so far, its limits, and its reports.

One driver serves every search of ``formulations.dp``:

    while neither the optimum is proved nor the time over:
        make prices or multipliers better    → a bound, with its certificate
        run a pass or window under them      → a schedule, a bound, a certificate
        receive better schedules of other processes, or search for one
    report the ending
"""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import psutil

from formulations.bounds.patterns import PatternPricing, prices_among_equals
from formulations.certificates.certificate_evaluation import refusal_of_length
from formulations.certificates.certificate_file import price_certificate, sweep_certificate
from formulations.certificates.sweep_size import SearchedSweep
from formulations.dp.backward_sweep import SearchLimits
from formulations.dp.priced_network import Ints, PricedNetwork, TooLargeError
from formulations.dp.state_relaxation import SearchTuning
from formulations.lagrangian.state_prices import EvaluatedStatePrices, StatePrices
from formulations.valid.running_states import States
from formulations.valid.windows import start_windows
from heuristics import list_search
from instances import Instance
from kvopt.engines.job import EngineJob, tel_of
from kvopt.engines.parts.multiplier_ascent import Ascent
from kvopt.runs.events import EventReport

#: Share of the memory for layers and levels.
MEMORY_SHARE = 0.5
#: Seconds a request of the first local search, and share of the time, at most.
SCHEDULE_SECONDS, SCHEDULE_SHARE = 0.05, 0.03
#: Steps of one search for the best pattern beyond which memory alone is priced.
PATTERN_WORK_UP_TO = 40_000_000
#: Bases up to which a window is certified; each takes the reader 0.7 to 2 µs and 45 bytes.
CERTIFIED_UP_TO = 20_000_000

#: Prices on states, or numerators of those on memory with their denominator.
Table = StatePrices | tuple[Ints, int]


class SearchRun:
    """Run of a search: its results within the limits of its job.

    ``proved`` means by the search itself.  Prices that meet the known schedule do not end a search,
    whose proof is another witness.
    """

    def __init__(self, job: EngineJob, report: EventReport) -> None:
        self.job, self.report = job, report
        self.tel, self.starts = job.upper_bound, list(job.warm_start)
        self.bound = self.nodes = self._looks = 0
        self.proved = False
        available = psutil.virtual_memory().available
        memory_bytes = MEMORY_SHARE * min(available, 1e9 * (job.memory_limit or math.inf))
        self.limits = SearchLimits(job.threads, memory_bytes, lambda: job.left() <= 0)

    @property
    def is_open(self) -> bool:
        """Return whether the optimum is not proved and time is left."""
        return not self.proved and self.job.left() > 0

    def receive_incumbent(self) -> tuple[int, list[int]]:
        """Return TEL and starts of the best schedule, also of other processes."""
        if (found := self.job.known(self.tel)) is not None:
            self.tel, self.starts = found
        return self.tel, self.starts

    def take_schedule(self, starts: list[int], found_by: str = "") -> None:
        """Report a schedule, and keep it where it is better."""
        self.report.schedule(starts, found_by)
        if (tel := tel_of(self.job.instance, starts)) < self.tel:
            self.tel, self.starts = tel, starts

    def take_bound(
        self, value: int, source: str, certificate: dict[str, Any] | None = None
    ) -> None:
        """Report a bound as it is, so that one above the known schedule is a contradiction."""
        self.report.bound(value=value, source=source, certificate=certificate)
        self.bound = max(self.bound, value)

    def take_sweep(
        self,
        bound: int,
        under: PricedNetwork,
        prices: Table,
        numbers: tuple[Sequence[int], Sequence[int] | None] = ((), None),
        nodes: int = 0,
        source: str = "search",
    ) -> None:
        """Report a bound of a sweep, with its certificate unless a reader refuses its size.

        ``numbers`` are its multipliers and strict kinds.
        """
        self.nodes += nodes
        if bound <= self.bound:
            return
        certificate = sweep_certificate(bound, prices, *numbers)
        swept = SearchedSweep(under.total, int(under.least.max()), under.worth.tolist(), nodes)
        refused = nodes > CERTIFIED_UP_TO or refusal_of_length(
            self.job.instance, certificate, swept
        )
        self.take_bound(bound, source, None if refused else certificate)

    def improve(self, seconds: float) -> None:
        """Run local search, each time with another seed."""
        if seconds <= 0:
            return
        # Its clock must not count loading.
        list_search.compile_kernels()
        list_search.improve_starts(
            list_search.columns_of(self.job.instance),
            self.job.instance.memory,
            np.array(self.starts, dtype=np.int64),
            list_search.SearchBudget(seconds=seconds),
            seed=self.job.seed + self._looks,
            on_better=lambda starts, _: self.take_schedule(starts.tolist(), "local search"),
        )
        self._looks += 1

    def improve_briefly(self) -> None:
        """Run local search for a fraction of a second."""
        left = SCHEDULE_SHARE * self.job.left()
        self.improve(min(SCHEDULE_SECONDS * len(self.job.instance), left))

    def ascent(self, under: PricedNetwork, table: Table, tuning: SearchTuning) -> Ascent | None:
        """Return the search for multipliers under prices; None where they are too large for it."""

        def take_bound(bound: int, multipliers: Ints, nodes: int) -> None:
            self.hand_over(ascent)
            own = multipliers.tolist() if multipliers.any() else []
            self.take_sweep(bound, under, table, (own, ()), nodes)

        def take_schedule(starts: list[int]) -> None:
            self.take_schedule(starts)
            self.hand_over(ascent)

        known = self.tel, max(self.bound, under.bound)
        try:
            ascent = Ascent(under, *known, self.limits, take_bound, take_schedule, tuning)
        except TooLargeError:
            return None
        return ascent

    def hand_over(self, ascent: Ascent) -> None:
        """Let multipliers aim no higher than the best schedule."""
        ascent.below = min(ascent.below, self.receive_incumbent()[0])

    def pattern_pricing(self, states: States, deadline: float) -> PatternPricing:
        """Return a search for prices on states, without start windows: no sweep has them."""
        job = self.job
        return PatternPricing(
            job.instance,
            states,
            deadline=deadline,
            followed=self._prices_among_equals(),
            threads=job.threads,
        )

    def improve_prices(self, pricing: PatternPricing, end: float) -> EvaluatedStatePrices:
        """Return the best prices on states at a time; report their bound if it is news."""
        priced = pricing.improve(end)
        if priced.bound > self.bound:
            certificate = sweep_certificate(priced.bound, priced.table)
            if refusal_of_length(self.job.instance, certificate):
                # The bound is not taken: a window may prove it with a certificate.
                self.report.bound(value=priced.bound, source="prices of patterns")
            else:
                self.take_bound(priced.bound, "prices of patterns", certificate)
        return priced

    def _prices_among_equals(self) -> Any:
        """Return prices on tokens of the LP where many requests are equal; report their bound."""
        job, starts = self.job, np.array(self.starts, dtype=np.int64)
        windows = start_windows(job.instance, self.tel)
        found = prices_among_equals(job.instance, job.left(), windows, starts, job.threads)
        if found is None:
            return None
        own = found.value, found.denominator, found.numerators
        self.take_bound(found.value, "prices", price_certificate(*own, upper_bound=self.tel))
        return found.numerators / found.denominator

    def end(self, solver: str) -> None:
        """Report the ending."""
        outcome = "optimal" if self.proved else "limit"
        self.report.done(solver=solver, nodes=self.nodes, outcome=outcome)


def memory_prices(instance: Instance, prices: Any) -> tuple[Ints, int]:
    """Return prices on memory, a float a round, as numerators and a denominator.

    The denominator is small where tokens are many.
    """
    floats = np.maximum(prices, 0.0)
    largest = (float(floats.max()) + 1) * instance.memory * (len(instance) + len(floats))
    unit = 1 << max(0, min(20, 57 - math.ceil(math.log2(largest))))
    return np.rint(floats * unit).astype(np.int64), unit
