"""How far a floating-point MIP solver is believed: while its tolerances stay below a token.

Where the largest activity of a row is beyond what a tolerance covers, tokens are counted in coarser
units (``formulations.mip._coarse``) and what overflows is kept out by rows
(``formulations.valid.overflow``).

Proof: docs/proofs/tolerances.md (P10).
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from formulations.bounds.clique_lp import STARTS_UP_TO, by_highs, lp_prices
from formulations.lagrangian.certificate_file import price_certificate
from formulations.lagrangian.starts import certified_costs
from formulations.valid.groups import window_groups
from formulations.valid.windows import Windows
from heuristics.simulator import run_in_order
from kvopt.engines.job import Job
from kvopt.running.events import Report
from schedules import check_schedule, make_schedule

#: Largest share of a token that a tolerance may make of the largest activity of a row.
COVERED = 0.01
#: A bound that is stated in floating point is lowered by this share, and by this much, before it is
#: rounded up.
BOUND_MARGIN, LEAST_MARGIN = 1e-5, 1e-3
#: Share of the time left, and seconds, for prices where the solver's own bound is no proof.
PRICES_SHARE, PRICES_SECONDS = 0.25, 20.0
#: Schedules that overflow for which rows are added at a time, the last ones found.
MOST_SEPARATED = 50


def rounded_bound(bound: float) -> int:
    """Return an integer bound from a floating-point one: lowered by the margin, then rounded up."""
    return math.ceil(bound - max(LEAST_MARGIN, BOUND_MARGIN * abs(bound)))


def largest_number(form: Any) -> float:
    """Return the largest coefficient or side of a row in absolute value (tokens), 0 without rows.

    ``form`` is a model in Pyomo's standard form, mixed.  A solver's tolerance of an LP is a share
    of it: where that reaches a token, the objective it states is that of another LP, and lay above
    the optimum in 3 of 4,783 random instances (36.6 for 21), all with M ≥ 10⁸.
    """
    numbers = (abs(form.A.data).max(initial=0.0), abs(np.asarray(form.rhs)).max(initial=0.0))
    return float(max(numbers))


def send_relaxation(
    report: Report,
    value: float,
    expected_starts: list[float],
    *,
    largest: float,
    tolerance: float,
) -> None:
    """Send the objective that a solver states of an LP, where its tolerance is below a token."""
    if largest * tolerance < 1:
        report.relaxation(value, expected_starts)
        return
    report.relaxation(None, expected_starts)
    reason = "the solver's tolerance is not known"
    if math.isfinite(tolerance):
        reason = (
            f"rows have numbers up to {largest:.3g} tokens, the solver's tolerance covers "
            f"{1 / tolerance:.3g}"
        )
    report.note(f"the LP's objective is not shown: {reason}")


def largest_activity(form: Any) -> float:
    """Return R, the most that the terms of one row can add up to in absolute value (tokens).

    ``form`` is a model in Pyomo's standard form, mixed.  Of the start variables of a request only
    one can be 1, so in each row only its largest coefficient counts.  A variable without an upper
    bound has one where it stands in a row of non-negative terms that is bounded from above; without
    any R is infinite.
    """
    matrix = abs(form.A).tocoo()
    if not matrix.nnz:
        return 0.0
    low = np.array([-math.inf if v.lb is None else v.lb for v in form.columns], dtype=float)
    high = np.array([math.inf if v.ub is None else v.ub for v in form.columns], dtype=float)
    high = np.minimum(high, _implied_bounds(form, low))
    terms = matrix.data * np.maximum(abs(low), abs(high))[matrix.col]
    keys = matrix.row.astype(np.int64) * len(form.columns) + _owners(form)[matrix.col]
    order = np.argsort(keys, kind="stable")
    first = np.flatnonzero(np.diff(keys[order], prepend=-1))
    largest = np.maximum.reduceat(terms[order], first)
    rows = np.zeros(matrix.shape[0])
    np.add.at(rows, matrix.row[order][first], largest)
    return float(rows.max())


def _owners(form: Any) -> NDArray[np.int64]:
    """Return for each column the first one of which it excludes all others, else itself."""
    owners = np.arange(len(form.columns), dtype=np.int64)
    firsts: dict[int, int] = {}
    for position, variable in enumerate(form.columns):
        if variable.parent_component().local_name == "x":
            owners[position] = firsts.setdefault(variable.index()[0], position)
    return owners


def _implied_bounds(form: Any, low: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return what rows of non-negative terms imply as upper bounds, shape (columns,)."""
    rows = form.A.tocsr()
    implied = np.full(len(form.columns), math.inf)
    negative = np.zeros(rows.shape[0], dtype=bool)
    entries = rows.tocoo()
    np.logical_or.at(negative, entries.row, (entries.data < 0) | (low[entries.col] < 0))
    # Bound type −1 is row ≥ rhs.
    above = np.array([row.bound_type >= 0 for row in form.rows])
    usable = (above & ~negative)[entries.row] & (entries.data > 0)
    sides = np.asarray(form.rhs, dtype=float)[entries.row[usable]]
    np.minimum.at(implied, entries.col[usable], sides / entries.data[usable])
    return implied


class CoveredReport:
    """What a MIP solver says of a job, passed on as far as its tolerance lets it be believed.

    Parameters
    ----------
    unit
        Tokens in a unit of the model's memory rows; where it is more than 1, what the solver finds
        may overflow.
    """

    def __init__(
        self,
        job: Job,
        report: Report,
        source: str,
        activity: float,
        tolerance: float,
        unit: int = 1,
    ) -> None:
        self._job, self._report, self._source = job, report, source
        self._activity, self._tolerance, self._unit = activity, tolerance, unit
        self._best = -math.inf
        self._upper = job.upper_bound
        self._left_out: dict[tuple[int, ...], None] = {}
        self._last_fits = False
        #: Whether the argument covers the solver's bound; never where a tolerance is not known.
        self.believed = math.isfinite(tolerance) and activity * tolerance <= COVERED

    def bound(self, bound: float) -> None:
        """Send a bound that is better than the last one; nothing where it is no proof."""
        if not (self.believed and math.isfinite(bound)):
            return
        if (value := rounded_bound(bound)) > self._best:
            self._best = value
            self._report.bound(value=value, source=self._source)

    def schedule(self, starts: list[int]) -> None:
        """Send a schedule; what only a tolerance or a coarse unit calls feasible is kept apart."""
        if not self.believed or self._unit > 1:
            schedule = make_schedule(self._job.instance, starts, self._source)
            self._last_fits = check_schedule(self._job.instance, schedule).valid
            if not self._last_fits:
                self._left_out[tuple(starts)] = None
                self._send_in_order(starts)
                return
            self._upper = min(self._upper, schedule.tel)
        self._report.schedule(starts)

    def _send_in_order(self, starts: list[int]) -> None:
        """Send what becomes of a schedule that overflows if each waits until it fits."""
        order = np.argsort(np.array(starts), kind="stable")
        schedule = run_in_order(self._job.instance, order, self._source)
        if schedule.tel < self._upper:
            self._upper = schedule.tel
            self._report.schedule(schedule.starts)

    @property
    def settled(self) -> bool:
        """Whether memory suffices for the last schedule, or the bound meets one for which it does.

        An optimum of a relaxation for which it does is one of the instance, also where the bound,
        lowered before it is rounded up, does not reach it.
        """
        return self._last_fits or self._best >= self._upper

    def overflowing(self) -> list[tuple[int, ...]]:
        """Return the schedules that were kept apart since the last time; few of many."""
        latest = list(self._left_out)[-MOST_SEPARATED:]
        if self._unit > 1:
            self._left_out = {}
        return latest

    def infeasible(self) -> None:
        """Tell that the solver finds no schedule where there is one."""
        if self.believed:
            self._report.failure(f"{self._source} says infeasible of a feasible instance")
        else:
            self._report.note(f"{self._source} finds no schedule: its tolerance is too low")

    def prices(self, windows: Windows) -> None:
        """Where the solver's bound is no proof: say so, and send what prices prove in integers."""
        if self._unit > 1:
            self._report.note(
                f"{self._source} counts memory in coarser units of tokens, rounded down: a "
                "relaxation; what it finds is checked in tokens"
            )
        if self.believed:
            return
        reason = "its gaps and tolerances are not known"
        if math.isfinite(self._tolerance):
            reason = (
                f"up to {self._activity:.3g} tokens meet in one row, its tolerance covers "
                f"{COVERED / self._tolerance:.3g}"
            )
        self._report.note(f"no bound of {self._source} is taken for a proof: {reason}")
        send_price_bound(self._job, self._report, windows)

    def close(self) -> None:
        """Say at the end how many schedules were left out."""
        if self._left_out and self._unit == 1:
            self._report.note(
                f"{self._source} returned {len(self._left_out)} schedules that overflow memory "
                "within its tolerance; they were left out"
            )


def send_price_bound(job: Job, report: Report, windows: Windows) -> None:
    """Send the bound that prices on memory and window groups prove, evaluated in integers."""
    if windows.starts > STARTS_UP_TO:
        return
    groups = window_groups(job.instance)
    seconds = min(PRICES_SHARE * job.left(), PRICES_SECONDS)
    found = lp_prices(job.instance, windows, groups, seconds, by_highs)
    if found is None:
        return
    costs = certified_costs(job.instance, groups, found, windows.latest)
    certificate = price_certificate(
        costs.bound,
        costs.denominator,
        costs.memory,
        upper_bound=job.upper_bound,
        groups=groups,
        group_prices=costs.groups,
    )
    value = certificate["value"]
    report.bound(value=value, source="prices", certificate=certificate)
