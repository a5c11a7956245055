"""Lagrangian multipliers on memory over a coarse time grid that is refined while time remains.

    prices = the fluid limit's
    for finer and finer grids:
        until the master LP promises little more:
            solve the master on the columns so far; price its duals, and their mix with the best
            the cheapest starts under both become columns; the best prices are certified in integers
        add look-ahead rows that the master's solution violates

Prices are linear between the knots of a grid.  Proofs: P1, and P14 of look-ahead rows.
"""

import math
import time
from typing import Any

import numpy as np

from formulations.bounds.bound_result import BoundResult, SilentReporter
from formulations.bounds.computed_bound import ComputedBound
from formulations.bounds.fluid_limit import model_size
from formulations.bounds.pricing import DualOptions
from instances import Instance, Request


def compute_bound(
    instance: Instance, *, options: DualOptions | None = None, **given: Any
) -> BoundResult:
    """Return the best certified bound by the deadline; ``given`` as in ``PriceSearch``."""
    from formulations.bounds.price_search import PriceSearch  # loads SciPy

    options = options or DualOptions()
    search = PriceSearch(instance, options=options, **given)
    search.begin(options.knots)
    tolerance, known = options.tolerance, -math.inf
    while True:
        search.iterate(tolerance)
        if search.solution is None or search.out_of_time():
            break
        if options.lookahead and search.look_ahead():
            continue
        knots = search.finer_knots(options.most_knots)
        if knots is None or search.value - known < options.enough * search.value - 1:
            break
        known = search.value
        search.refine(knots)
        tolerance = max(tolerance / 2, options.last_tolerance)
    return search.result()


def compile_kernels() -> None:
    """Compile what prices look-ahead rows: six equal requests have some."""
    six = Instance("six", 9, tuple(Request(i, 0, 0, 6) for i in range(6)))
    starts, deadline = 6 * np.arange(6), time.monotonic() + 60
    compute_bound(six, deadline=deadline, report=SilentReporter(), known_starts=starts)


FORMULATION = ComputedBound(
    name="bound-dual", compute=compute_bound, size=model_size, options=DualOptions
)
