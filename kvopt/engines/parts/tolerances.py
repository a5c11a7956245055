"""Trust in a floating-point MIP solver: while its tolerances stay below a token.

Proof: docs/proofs/tolerances.md (P10).
"""

import math
from typing import Any

import numpy as np

from formulations.bounds.clique_lp import STARTS_UP_TO, lp_prices
from formulations.bounds.highs_lp import Floats
from formulations.certificates.certificate_file import price_certificate
from formulations.lagrangian.priced_starts import certified_costs
from formulations.valid.window_groups import WindowGroup, window_groups
from formulations.valid.windows import Windows
from heuristics.simulator import run_in_order
from kvopt.engines.job import EngineJob
from kvopt.runs.events import EventReport
from schedules import check_schedule, make_schedule

#: Largest share of a token that a tolerance may make of the largest activity of a row.
COVERED = 0.01
#: A bound in floating point is lowered by this share, and by this much, before it is rounded up.
BOUND_MARGIN, LEAST_MARGIN = 1e-5, 1e-3
#: Share of the time left, and seconds, for prices where the solver's bound is no proof.
PRICES_SHARE, PRICES_SECONDS = 0.25, 20.0


def largest_activity(form: Any) -> float:
    """Return R, the most that the terms of one row can add up to in absolute value (tokens).

    ``form`` is a model in Pyomo's standard form, mixed.  One start variable of a request is 1, so
    in each row its largest coefficient counts.  A variable without a bound makes R infinite.
    """
    matrix, firsts = abs(form.A).tocoo(), dict[int, int]()
    most, owners = np.zeros(len(form.columns)), np.arange(len(form.columns))
    for position, variable in enumerate(form.columns):
        most[position] = max(abs(math.inf if b is None else b) for b in variable.bounds)
        if variable.parent_component().local_name == "x":
            owners[position] = firsts.setdefault(variable.index()[0], position)
    keys = matrix.row.astype(np.int64) * len(owners) + owners[matrix.col]
    found, place = np.unique(keys, return_inverse=True)
    largest = np.zeros(len(found))
    np.maximum.at(largest, place, matrix.data * most[matrix.col])
    return float(np.bincount(found // len(owners), largest).max(initial=0.0))


class CoveredReport:
    """Report of a MIP solver, passed on as far as its tolerance allows."""

    def __init__(
        self, job: EngineJob, report: EventReport, source: str, activity: float, tolerance: float
    ) -> None:
        self._job, self._report, self._source = job, report, source
        self._activity, self._tolerance = activity, tolerance
        self._best = -math.inf
        #: Whether the proof covers the solver's bound; never for an unknown tolerance.
        self.believed = math.isfinite(tolerance) and activity * tolerance <= COVERED

    def bound(self, bound: float) -> None:
        """Send a bound if it is a proof and better than the last one."""
        if not (self.believed and math.isfinite(bound)):
            return
        value = math.ceil(bound - max(LEAST_MARGIN, BOUND_MARGIN * abs(bound)))
        if value > self._best:
            self._best = value
            self._report.bound(value=value, source=self._source)

    def schedule(self, starts: list[int]) -> None:
        """Send a schedule; its order alone where only a tolerance calls it feasible."""
        instance = self._job.instance
        made = make_schedule(instance, starts, self._source)
        if not self.believed and not check_schedule(instance, made).valid:
            order = np.argsort(np.array(starts), kind="stable")
            made = run_in_order(instance, order, self._source)
        self._report.schedule(list(made.starts))

    def infeasible(self) -> None:
        """Send that the solver finds no schedule where there is one."""
        send = self._report.failure if self.believed else self._report.note
        send(f"{self._source} says infeasible of a feasible instance")

    def prices(self, windows: Windows) -> None:
        """Send that the solver's bound is no proof, and the bound of prices in integers."""
        if self.believed:
            return
        self._report.note(
            f"no bound of {self._source} is taken for a proof: up to {self._activity:.3g} tokens "
            f"meet in one row, its tolerance covers {COVERED / self._tolerance:.3g}"
        )
        if windows.starts > STARTS_UP_TO:
            return
        job, groups = self._job, window_groups(self._job.instance)
        seconds = min(PRICES_SHARE * job.left(), PRICES_SECONDS)
        if found := lp_prices(job.instance, windows, groups, seconds):
            send_prices(job, self._report, groups, found, windows.latest, "prices")


def send_prices(
    job: EngineJob,
    report: EventReport,
    groups: list[WindowGroup],
    prices: tuple[Floats, Floats],
    latest: tuple[int, ...],
    source: str,
) -> None:
    """Send what prices on memory and on groups prove in integers; bad ones prove Σ o_i."""
    costs = certified_costs(job.instance, groups, prices, latest)
    certificate = price_certificate(
        *(costs.bound, costs.denominator, costs.memory),
        upper_bound=job.upper_bound,
        groups=groups,
        group_prices=costs.groups,
    )
    report.bound(value=costs.bound, source=source, certificate=certificate)
