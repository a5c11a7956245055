"""Lagrangian multipliers on memory over a coarse time grid that is refined while time remains."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass
from typing import Annotated

import numpy as np

from formulations.bounds.computed_bound import ComputedBound
from formulations.bounds.fluid import model_size
from formulations.bounds.outcome import Bound, Reporter, SilentReporter
from formulations.valid.states import Ints
from formulations.valid.windows import Windows
from instances import Instance, Request

FIRST_KNOTS = 80
MOST_KNOTS = 2_000
#: Relative gap to the master at which the first grid is left for a finer one; each grid halves
#: it, down to the last.
TOLERANCE = 1e-4
LAST_TOLERANCE = 5e-6
#: Relative gain of a grid below which, if it is more than a round, the search ends.
ENOUGH = 2e-5


@dataclass(frozen=True)
class Options:
    """What is priced beside tokens."""

    lookahead: Annotated[
        bool, "payments for the tokens that running requests are about to hold, too"
    ] = True


def compute_bound(
    instance: Instance,
    *,
    deadline: float,
    report: Reporter,
    windows: Windows | None = None,
    known_starts: Ints | None = None,
    threads: int = 1,
    options: Options | None = None,
) -> Bound:
    """Return the best certified bound by the deadline; report every improvement on the way.

    Source: ours, the dual of the memory rows (notes/experiments.md), with prices that are linear
    between knots instead of constant in buckets; see
    :class:`formulations.bounds.price_search.PriceSearch` for what is maximised and
    :func:`formulations.lagrangian.prices.certify_prices` for why every reported value is a bound.

    Parameters
    ----------
    deadline
        On the clock of ``time.monotonic``, seconds.
    windows
        Proved start windows (``formulations.valid.windows``); None for starts from the arrival on.
    known_starts
        Start rounds of a feasible schedule, shape (n,), in the instance's order.
    """
    from formulations.bounds.price_search import PriceSearch  # loads SciPy

    options = options or Options()
    search = PriceSearch(
        instance,
        report,
        deadline=deadline,
        threads=threads,
        windows=windows,
        known_starts=known_starts,
    )
    search.begin(FIRST_KNOTS)
    tolerance, known = TOLERANCE, -math.inf
    while True:
        search.iterate(tolerance)
        if search.solution is None or search.out_of_time():
            break
        if options.lookahead and search.look_ahead():
            continue
        knots = search.finer_knots(MOST_KNOTS)
        if knots is None or search.value - known < ENOUGH * search.value - 1:
            break
        known = search.value
        search.refine(knots)
        tolerance = max(tolerance / 2, LAST_TOLERANCE)
    return search.result()


def compile_kernels() -> None:
    """Compile what prices look-ahead rows, which the bound of six equal requests has."""
    six = Instance("six", 9, tuple(Request(i, 0, 0, 6) for i in range(6)))
    starts = 6 * np.arange(6)
    deadline = time.monotonic() + 60
    compute_bound(six, deadline=deadline, report=SilentReporter(), known_starts=starts)


FORMULATION = ComputedBound(
    name="bound-dual", compute=compute_bound, size=model_size, options=Options
)
