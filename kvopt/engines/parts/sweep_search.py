"""The search ``sweep`` within the limits of a run: a schedule, then prices and windows in turns.

    run local search for a fraction of a second
    with multipliers: once prices gain little, raise the bound by multipliers on requests
    while time is left, in turns that double:
        make the prices on states better
        sweep windows under them for a quarter of that time; the window up to the best schedule
            once it is expected to take a few times as long as the prices

The widest window that has closed predicts the time of the last one.
Proof: docs/proofs/backward.md (P4).
"""

import math
import time
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from formulations.bounds.clique_lp import lp_prices
from formulations.bounds.fluid_limit import likely_horizon
from formulations.bounds.patterns import PatternPricing
from formulations.dp import backward
from formulations.dp.backward import TelWindowResult
from formulations.dp.backward_sweep import SearchLimits
from formulations.dp.bidirectional import completion_bounds
from formulations.dp.priced_network import (
    TOO_MANY_PATTERNS,
    TooLargeError,
    network,
    too_many_patterns,
)
from formulations.dp.state_relaxation import StateRelaxation
from formulations.lagrangian.state_prices import StatePrices
from formulations.valid.running_states import searchable_states
from formulations.valid.windows import start_windows
from instances import Instance, Request
from kvopt.engines.parts.model_size import too_large
from kvopt.engines.parts.search_run import PATTERN_WORK_UP_TO, SearchRun, Table, memory_prices

#: Share of the time for the LP of memory prices.
LP_SHARE = 0.3
#: Seconds a request of the first prices, and share of the time, at most.
FIRST_SECONDS, FIRST_SHARE = 0.15, 0.04
#: A turn that ends after this share of the time for prices gets all of it.
TO_THE_END = 0.6
#: Shares of the time left for multipliers, and of all time for a turn of prices before them.
ASCENT_SHARE, TURN = 0.95, 0.05


def compile_kernels() -> None:
    """Compile what a sweep runs.  The best path has one request twice, so kinds are counted."""
    sizes = ((1, 4), (4, 3), (2, 4))
    instance = Instance("three", 7, tuple(Request(i, 0, *size) for i, size in enumerate(sizes)))
    free = (np.zeros(2, dtype=np.int64), 1)
    limits = SearchLimits(1, 1e9, lambda: False)
    found: list[TelWindowResult] = []
    while not found or found[-1].starts is None:
        bound = found[-1].bound if found else 0
        under = network(instance, free)
        backward.search(under, bound=bound, below=1 << 20, limits=limits, on_step=found.append)
    load_relaxation()


def load_relaxation() -> None:
    """Compile or load what evaluates multipliers, and the levels of completion bounds."""
    instance = Instance("two", 7, (Request(0, 0, 1, 4), Request(1, 0, 4, 3)))
    relaxed = StateRelaxation(network(instance, (np.zeros(2, dtype=np.int64), 1)), 20)
    nothing, limits = np.zeros(2, dtype=np.int64), SearchLimits(1, 1e9, lambda: False)
    relaxed.evaluate(nothing, 19, limits)
    completion_bounds(relaxed, nothing, 19, 100, limits)


@dataclass(frozen=True)
class _Turn:
    """Prices, seconds for windows under them and for the last one, and whether to ascend first."""

    table: Table
    seconds: float
    last: float
    ascends: bool = False


def search(run: SearchRun) -> None:
    """Price patterns and sweep windows in turns, each longer than the one before.

    Windows rest on no start windows and no known schedule, so they prove bounds on the optimum, up
    to the known TEL.
    """
    instance, ascended = run.job.instance, False
    states = searchable_states(instance, PATTERN_WORK_UP_TO)
    try:
        if states is not None and too_many_patterns(states, likely_horizon(instance)):
            raise TooLargeError(TOO_MANY_PATTERNS)
        run.improve_briefly()
        if states is None:
            turns = iter([_memory_turn(run)])
        else:
            turns = _price_turns(run, run.pattern_pricing(states, run.job.deadline))
        for turn in turns:
            ascended |= turn.ascends
            if _sweep_windows(run, turn, ascended):
                run.proved = True
                break
    except TooLargeError as error:
        run.report.note(str(error))


def _memory_turn(run: SearchRun) -> _Turn:
    """Return prices on memory alone: of the start-time LP, or 0 where it is too large."""
    job, options = run.job, run.job.options["options"]
    windows = start_windows(job.instance, job.upper_bound)
    found = None
    if not too_large(job.formulation.size(job.instance, windows), job.memory_limit):
        found = lp_prices(job.instance, windows, [], LP_SHARE * job.left())
    table = memory_prices(job.instance, np.zeros(2) if found is None else found[0])
    return _Turn(table, job.left(), options.last_share * job.left(), options.multipliers)


def _price_turns(run: SearchRun, pricing: PatternPricing) -> Iterator[_Turn]:
    job, options = run.job, run.job.options["options"]
    seconds = min(FIRST_SECONDS * len(job.instance), FIRST_SHARE * job.left())
    began, spent = time.monotonic(), 0.0
    prices_until = began + options.prices_share * job.left()
    if options.multipliers:
        yield _Turn(_settle(run, pricing), 0.0, 0.0, ascends=True)
        spent, began = time.monotonic() - began, time.monotonic()
    while job.left() > 0:
        priced = run.improve_prices(pricing, min(began + seconds, job.deadline))
        now = time.monotonic()
        took, last = now - began, options.last_share * job.left()
        spent += took
        if pricing.finished or now >= prices_until:
            # Windows may take all the time.
            yield _Turn(priced.table, job.left(), last)
            if pricing.finished:
                return
        else:
            last = min(options.last_times * spent, last)
            yield _Turn(priced.table, options.windows_share * took, last)
        began, seconds = time.monotonic(), spent
        if began >= prices_until:
            seconds = min(seconds, options.prices_share * job.left())
        elif seconds > TO_THE_END * (prices_until - began):
            seconds = prices_until - began


def _settle(run: SearchRun, pricing: PatternPricing) -> StatePrices:
    """Return prices once windows gain more in the same time."""
    job, options = run.job, run.job.options["options"]
    began, whole, values = time.monotonic(), job.left(), [-math.inf, -math.inf]
    while True:
        priced = run.improve_prices(pricing, min(time.monotonic() + TURN * whole, job.deadline))
        share = (time.monotonic() - began) / whole
        slow = priced.value - values[-2] < 2 * options.gain * (run.tel - priced.value)
        enough = share > options.ascent_until or (slow and share > options.ascent_from)
        if pricing.finished or enough or job.left() <= 0:
            return priced.table
        values.append(priced.value)


def _sweep_windows(run: SearchRun, turn: _Turn, ascended: bool) -> bool:
    """Sweep until the next window is expected to take too long; return whether all is proved."""
    job, table = run.job, turn.table
    under = network(job.instance, table)
    run.receive_incumbent()
    if under.bound > run.bound:
        source = "prices of patterns" if isinstance(table, StatePrices) else "prices"
        # The prices prove it by themselves: no level is left.
        run.take_sweep(under.bound, under, table, source=source)
    if turn.ascends and run.bound < run.tel:
        # Numbers too large for dominance leave narrower windows.
        ascent = run.ascent(under, table, job.options["options"])
        if ascent is not None:
            ascent.run(ASCENT_SHARE * job.left())
    if run.bound >= run.tel:
        return True
    began = time.monotonic()

    def take(step: TelWindowResult) -> None:
        if step.starts is not None:
            run.take_schedule(step.starts)
        found = () if step.multipliers is None else step.multipliers.tolist()
        run.take_sweep(step.bound, under, table, (found, None), step.nodes)

    return backward.search(
        under,
        # From the prices' bound: a window from the multipliers' bound on may be far too wide.
        bound=under.bound if ascended else run.bound,
        below=run.tel,
        limits=run.limits,
        on_step=take,
        seconds=lambda: min(began + turn.seconds - time.monotonic(), job.left()),
        last_seconds=turn.last,
    )
