"""The search ``sweep`` within the limits of a run: a schedule, then prices and windows in turns.

A window that reaches up to the best schedule known is the last one, and takes only a few times as
long as the widest that is closed by itself.  So a schedule is looked for first (which takes a
fraction of a second where windows can be closed at all), and what the last window would take is
estimated from the one before: it is swept as soon as better prices would gain less than they take.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import psutil
from numpy.typing import NDArray

from formulations.bounds.clique_lp import lp_prices
from formulations.bounds.fluid import likely_horizon
from formulations.bounds.patterns import PatternPricing, prices_among_equals
from formulations.certificates.budget import Budget
from formulations.certificates.certificate import too_long
from formulations.certificates.certificate_file import price_certificate, sweep_certificate
from formulations.dp._backward_levels import Limits
from formulations.dp._backward_tables import (
    TOO_MANY_PATTERNS,
    Ints,
    Network,
    TooLargeError,
    network,
    too_many_patterns,
)
from formulations.dp.backward import Step, search
from formulations.dp.bidirectional import completion_bounds
from formulations.dp.relaxation import Relaxation
from formulations.lagrangian.states import Priced, PriceTable
from formulations.valid.states import States, searchable_states
from formulations.valid.windows import start_windows
from heuristics import local_search
from instances import Instance, Request
from kvopt.engines.job import Job
from kvopt.engines.parts.ascent import Ascent
from kvopt.engines.parts.size import too_large
from kvopt.runs.events import Report

#: Seconds a request that a schedule is looked for, and share of the time, at most.
SCHEDULE_SECONDS, SCHEDULE_SHARE = 0.05, 0.03
#: Seconds a request that the first prices take, share of the time, at most, and by what all
#: seconds of prices grow from turn to turn.
FIRST_SECONDS, FIRST_SHARE, LONGER = 0.15, 0.04, 2.0
#: Windows may take so many times as long as the prices of their turn, and the last window be
#: expected to take so many times as long as all prices before it: twice the prices halve the bases.
WINDOWS_SHARE, LAST_TIMES = 0.25, 5.0
#: Share of the time left that the last window may be expected to take: getting there in steps
#: costs about half as much again, and less is lost where the estimate is too low.
LAST_SHARE = 0.4
#: Share of the time after which prices are left as they are, and windows have all the rest; the
#: turn that would end after the second share of that time lasts until then.
PRICES_SHARE, TO_THE_END = 0.65, 0.6
#: Steps of one search for the best pattern beyond which memory alone is priced.
PATTERN_WORK_UP_TO = 40_000_000
#: Share of the time that the LP for memory prices may take.
LP_SHARE = 0.3
#: Bases up to which a window is certified.  The evaluation takes 0.7 to 2 µs and 45 bytes for each.
CERTIFIED_UP_TO = 20_000_000
#: Shares of the time between which multipliers follow prices, and share of the time left that they
#: take.  They begin where two turns of prices, each of so long a share of the time, gain less each
#: than a share of the gap: windows made for as much more time go further by about as much.
ASCENT_FROM, ASCENT_UNTIL, ASCENT_SHARE = 0.15, 0.5, 0.95
TURN, GAIN = 0.05, 0.015
#: Requests up to which windows alone may prove the optimum, so that multipliers come later, and
#: take less.
FEW, FEW_FROM, FEW_SHARE = 20, 0.5, 0.3
#: Steps of its reader for each base: as many as the certificate's length pays for are certified.
STEPS_OF_A_BASE = 1_000
#: Numbers that it holds for each base where it holds all of them, but for those of the kinds.
NUMBERS_OF_A_BASE = 4
#: Share of the memory that may be used, for the levels of the sweep.
MEMORY_SHARE = 0.5

#: Prices on states, or numerators of those on memory with their denominator.
Table = PriceTable | tuple[Ints, int]


@dataclass
class Best:
    """What is known so far: bound, TEL and starts of the best schedule, bases met."""

    bound: int
    tel: int
    starts: Ints
    nodes: int = 0

    def hear(self, job: Job) -> int:
        """Take the best schedule that was found beside; return the TEL."""
        if (found := job.known(self.tel)) is not None:
            self.tel, self.starts = found[0], np.array(found[1], dtype=np.int64)
        return self.tel


def compile_kernels() -> None:
    """Compile what a sweep runs, by sweeps that find the optimum of an instance.

    Which completes one of its requests twice on the best path, so that these are counted.
    """
    sizes = ((1, 4), (4, 3), (2, 4))
    instance = Instance("three", 7, tuple(Request(i, 0, *size) for i, size in enumerate(sizes)))
    free = (np.zeros(2, dtype=np.int64), 1)
    limits = Limits(1, 1e9, lambda: False)
    found: list[Step] = []
    while not found or found[-1].starts is None:
        bound = found[-1].bound if found else 0
        search(
            network(instance, free), bound=bound, below=1 << 20, limits=limits,
            on_step=found.append,
        )  # fmt: skip
    relaxed = Relaxation(network(instance, free), found[-1].bound + 1)
    nothing = np.zeros(len(sizes), dtype=np.int64)
    relaxed.evaluate(nothing, found[-1].bound, limits)
    # Levels one by one.
    completion_bounds(relaxed, nothing, found[-1].bound, 100, limits)


def solve(job: Job, report: Report) -> None:
    """Price patterns and sweep windows in turns, each longer than the one before.

    Windows rest on no start windows and no known schedule: whatever they prove is a bound on the
    optimum, up to the known TEL.
    """
    best = Best(0, job.upper_bound, np.array(job.warm_start, dtype=np.int64))
    windows = _Windows(job, report, best)
    outcome = "limit"
    try:
        prices = _tables(job, report, best) if job.options["options"].patterns else None
        improve(job, report, best, briefly(job), job.seed)
        for turn in prices or _memory_prices(job):
            if windows.run(network(job.instance, turn.table), turn):
                outcome = "optimal"
                break
    except TooLargeError as error:
        report.note(str(error))
    report.done(solver="kvopt sweep", nodes=best.nodes, outcome=outcome)


def improve(job: Job, report: Report, best: Best, seconds: float, seed: int) -> None:
    """Look for a better schedule."""
    after = job.instance.outputs - job.instance.arrivals

    def take(starts: Ints, _: Ints) -> None:
        best.tel, best.starts = int((starts + after).sum()), starts
        report.schedule(starts.tolist(), "local search")

    if seconds <= 0:
        return
    # Its clock must not count loading.
    local_search.compile_kernels()
    local_search.improve_starts(
        local_search.columns_of(job.instance),
        job.instance.memory,
        best.starts,
        local_search.Budget(seconds=seconds),
        seed=seed,
        on_better=take,
    )


def briefly(job: Job) -> float:
    """Return the seconds that a schedule is looked for at first."""
    return min(SCHEDULE_SECONDS * len(job.instance), SCHEDULE_SHARE * job.left())


def report_multipliers(
    instance: Instance, report: Report, table: Table, bound: int, multipliers: Ints, nodes: int
) -> None:
    """Report a bound by multipliers on requests, certified where that is soon evaluated."""
    own = multipliers.tolist() if multipliers.any() else []
    certificate = sweep_certificate(bound, table, own, ())
    short = nodes <= min(CERTIFIED_UP_TO, _paid_bases(instance, certificate))
    report.bound(value=bound, source="search", certificate=certificate if short else None)


def _paid_bases(instance: Instance, certificate: dict[str, Any]) -> int:
    """Return how many bases the reader of a certificate may meet."""
    budget = Budget(len(instance), certificate)
    steps = budget.steps // STEPS_OF_A_BASE
    if "multipliers" not in certificate or "strict" in certificate:
        return steps
    # The reader holds all of them, with how many of each kind complete.
    return min(steps, budget.numbers // (NUMBERS_OF_A_BASE + len(certificate["multipliers"]) // 4))


@dataclass(frozen=True)
class _Turn:
    """Prices, seconds for windows under them and for the last one, and whether to ascend first."""

    table: Table
    seconds: float
    last: float
    ascends: bool = False


class _Windows:
    """Sweeps windows under prices that get better."""

    def __init__(self, job: Job, report: Report, best: Best) -> None:
        self._job, self._report, self._best = job, report, best
        self._has_ascended = False
        available = psutil.virtual_memory().available
        self._bytes = MEMORY_SHARE * min(available, 1e9 * (job.memory_limit or math.inf))

    def run(self, under: Network, turn: _Turn) -> bool:
        """Sweep until the next window would take longer than there is time for.

        Tells whether the optimum is proved.
        """
        job, best, table = self._job, self._best, turn.table
        best.hear(job)
        if under.bound > best.bound:
            best.bound = under.bound
            source = "prices of patterns" if isinstance(table, PriceTable) else "prices"
            # Of a value that the prices reach by themselves no level is left to be swept.
            certificate = sweep_certificate(best.bound, table)
            self._report.bound(value=best.bound, source=source, certificate=certificate)
        limits = Limits(job.threads, self._bytes, lambda: job.left() <= 0)
        # Of a value that the prices reach by themselves no window is left to ascend in.
        if turn.ascends and not self._has_ascended and best.bound < best.tel:
            self._ascend(under, table, limits)
        if best.bound >= best.tel:
            return True
        began = time.monotonic()

        def left() -> float:
            return min(began + turn.seconds - time.monotonic(), job.left())

        done: bool = job.formulation.search(
            under,
            # From where the prices are: a window from a multipliers' bound on may be far too wide.
            bound=under.bound if self._has_ascended else best.bound,
            below=best.tel,
            limits=limits,
            on_step=lambda step: self._take(step, table),
            seconds=left,
            last_seconds=turn.last,
            options=job.options["options"],
        )
        return done

    def _ascend(self, under: Network, table: Table, limits: Limits) -> None:
        """Raise the bound by multipliers, once."""
        job, best = self._job, self._best
        self._has_ascended = True

        def take(bound: int, multipliers: Ints, nodes: int) -> None:
            best.nodes += nodes
            best.bound = bound
            ascent.below = best.hear(job)
            report_multipliers(job.instance, self._report, table, bound, multipliers, nodes)

        try:
            ascent = Ascent(
                under,
                below=best.tel,
                bound=best.bound,
                limits=limits,
                on_bound=take,
                on_schedule=self._report.schedule,
            )
        except TooLargeError:
            # Without dominance windows are narrower, but may do.
            return
        few = len(job.instance) <= FEW
        ascent.run((FEW_SHARE if few else ASCENT_SHARE) * job.left())

    def _take(self, step: Step, table: Table) -> None:
        best = self._best
        best.nodes += step.nodes
        if step.starts is not None:
            self._report.schedule(step.starts)
        if step.bound > best.bound:
            best.bound = step.bound
            found = () if step.multipliers is None else step.multipliers.tolist()
            certificate = sweep_certificate(step.bound, table, found)
            paid = _paid_bases(self._job.instance, certificate)
            short = step.nodes <= min(CERTIFIED_UP_TO, paid)
            self._report.bound(
                value=step.bound, source="search", certificate=certificate if short else None
            )


def _tables(job: Job, report: Report, best: Best) -> Iterator[_Turn] | None:
    """Return pattern prices that get better, with seconds for windows and for the last of them.

    None where the patterns of one time are too many; those of all times are refused before anything
    is spent on them.
    """
    states = searchable_states(job.instance, PATTERN_WORK_UP_TO)
    if states is None:
        return None
    if too_many_patterns(states, likely_horizon(job.instance)):
        raise TooLargeError(TOO_MANY_PATTERNS)
    return _priced(job, report, best, states)


def pattern_prices(job: Job, report: Report, best: Best, seconds: float) -> PriceTable | None:
    """Return prices on states after so many seconds; None where patterns are too many."""
    states = searchable_states(job.instance, PATTERN_WORK_UP_TO)
    if states is None:
        return None
    end = min(time.monotonic() + seconds, job.deadline)
    return _Prices(job, report, best, states, end).improve(end).table


class _Prices:
    """Prices on states that get better.

    No start windows limit them: the certificate of a sweep takes none.
    """

    def __init__(
        self, job: Job, report: Report, best: Best, states: States, deadline: float
    ) -> None:
        self._instance, self._report, self._best = job.instance, report, best
        self._pricing = PatternPricing(
            job.instance,
            states,
            deadline=deadline,
            followed=_among_equals(job, report, best),
            threads=job.threads,
        )

    @property
    def finished(self) -> bool:
        """Whether they get no better."""
        return self._pricing.finished

    def improve(self, end: float) -> Priced:
        """Return the best ones at a time; report what they prove, where that is news."""
        priced, best = self._pricing.improve(end), self._best
        if priced.bound > best.bound:
            certificate = sweep_certificate(priced.bound, priced.table)
            refused = too_long(self._instance, certificate)
            if not refused:
                best.bound = priced.bound
            self._report.bound(
                value=priced.bound,
                source="prices of patterns",
                certificate=None if refused else certificate,
            )
        return priced


def _among_equals(job: Job, report: Report, best: Best) -> NDArray[np.float64] | None:
    """Return prices on tokens of the LP where many requests are equal, and report their bound."""
    windows = start_windows(job.instance, best.tel)
    found = prices_among_equals(job.instance, job.left(), windows, best.starts, job.threads)
    if found is None:
        return None
    best.bound = found.value
    certificate = price_certificate(
        found.value, found.denominator, found.numerators, upper_bound=best.tel
    )
    report.bound(value=found.value, source="prices", certificate=certificate)
    return found.numerators / found.denominator


def _priced(job: Job, report: Report, best: Best, states: States) -> Iterator[_Turn]:
    instance = job.instance
    seconds = min(FIRST_SECONDS * len(instance), FIRST_SHARE * job.left())
    prices = _Prices(job, report, best, states, job.deadline)
    began = time.monotonic()
    multipliers = job.options["options"].multipliers
    ascent_from = began + FEW_FROM * job.left()
    prices_until = began + PRICES_SHARE * job.left()
    spent = 0.0
    if multipliers and len(instance) > FEW:
        yield _Turn(_settled(job, best, prices), 0.0, 0.0, ascends=True)
        spent, began = time.monotonic() - began, time.monotonic()
        ascent_from = math.inf
    while job.left() > 0:
        priced = prices.improve(min(began + seconds, job.deadline))
        took = time.monotonic() - began
        spent += took
        ascends = multipliers and time.monotonic() >= ascent_from
        if prices.finished:
            # Nothing else is left to be tried, so windows may take all the time.
            yield _Turn(priced.table, job.left(), LAST_SHARE * job.left(), ascends)
            return
        if time.monotonic() >= prices_until:
            yield _Turn(priced.table, job.left(), LAST_SHARE * job.left(), ascends)
        else:
            last = min(LAST_TIMES * spent, LAST_SHARE * job.left())
            yield _Turn(priced.table, WINDOWS_SHARE * took, last, ascends)
        began = time.monotonic()
        seconds = (LONGER - 1) * spent
        if began >= prices_until:
            seconds = min(seconds, PRICES_SHARE * job.left())
        elif seconds > TO_THE_END * (prices_until - began):
            seconds = prices_until - began


def _settled(job: Job, best: Best, prices: _Prices) -> PriceTable:
    """Return prices once windows gain more in the same time."""
    began, whole, values = time.monotonic(), job.left(), [-math.inf, -math.inf]
    while True:
        end = min(time.monotonic() + TURN * whole, job.deadline)
        priced = prices.improve(end)
        share = (time.monotonic() - began) / whole
        slow = priced.value - values[-2] < 2 * GAIN * (best.tel - priced.value)
        enough = share > ASCENT_UNTIL or (slow and share > ASCENT_FROM)
        if prices.finished or enough or job.left() <= 0:
            return priced.table
        values.append(priced.value)


def _memory_prices(job: Job) -> Iterator[_Turn]:
    """Return prices on memory alone: those of the start-time LP, or none where it is too large."""
    windows = start_windows(job.instance, job.upper_bound)
    found = None
    if not too_large(job.formulation.size(job.instance, windows), job.memory_limit):
        found = lp_prices(job.instance, windows, [], LP_SHARE * job.left())
    table = rounded_prices(job.instance, np.zeros(2) if found is None else found[0])
    left = job.left()
    yield _Turn(table, left, LAST_SHARE * left, job.options["options"].multipliers)


def rounded_prices(instance: Instance, prices: NDArray[np.float64]) -> tuple[Ints, int]:
    """Return prices on memory as numerators and a denominator, small where tokens are many."""
    floats = np.maximum(prices, 0.0)
    largest = (float(floats.max()) + 1) * instance.memory * (len(instance) + len(floats))
    unit = 1 << max(0, min(20, 57 - math.ceil(math.log2(largest))))
    return np.rint(floats * unit).astype(np.int64), unit
