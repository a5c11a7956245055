"""Lower bounds from volumes or Lagrangian multipliers, certified in integers."""

import time
from typing import Any

import numpy as np

from formulations.bounds.highs_lp import quiet_highs
from formulations.certificates.certificate_evaluation import refusal_of_length
from formulations.certificates.certificate_file import price_certificate, sweep_certificate
from formulations.formulation_registry import formulations
from formulations.valid.windows import start_windows
from instances import Instance, Request
from kvopt.engines.job import EngineJob
from kvopt.engines.parts.model_size import fits
from kvopt.runs.events import EventReport

ENGINE = {"solves": "bound", "named": True, "default": True}

#: Share of the time that the last exact evaluation of the prices gets.
RESERVE_SHARE = 0.05


def kernels_of(instance: Instance, formulation: str) -> set[str]:
    """Return the units of kernels that it runs (``kvopt.runs.kernel_compilation``)."""
    del instance
    return {"prices", "look-ahead"} if formulation in ("", "bound-dual") else {"prices"}


def compile_kernels() -> None:
    """Compile what prices memory and patterns."""
    deadline, starts, tel = time.monotonic() + 60, [0, 6, 12], 27
    instance = Instance("three", 9, tuple(Request(i, 0, 1, 2 + i) for i in range(3)))
    for name in ("bound-patterns", "bound-lp"):
        chosen = formulations()[name]
        given = (instance, "bound", chosen.declared, True, deadline, 1, 0, starts, tel)
        solve(EngineJob(*given, options=chosen.arguments({})), EventReport(lambda _: None))


def solve(job: EngineJob, report: EventReport) -> None:
    """Compute a bound within the job's limits; send every improvement as it is certified."""
    formulation = job.formulation
    windows = start_windows(job.instance, job.upper_bound)
    size = formulation.size(job.instance, windows) if formulation.size else 0
    if not fits(job, report, size):
        return
    bound = formulation.compute(
        job.instance,
        deadline=time.monotonic() + (1 - RESERVE_SHARE) * job.left(),
        report=report,
        windows=windows,
        known_starts=np.array(job.warm_start, dtype=np.int64),
        threads=job.threads,
        **job.options,
    )
    if (prices := bound.prices) is not None:
        # The last bound once more, now with its certificate.
        own = prices.value, prices.denominator, prices.numerators
        certificate = price_certificate(
            *own, upper_bound=job.upper_bound, lookahead=prices.lookahead
        )
        report.bound(prices.value, "prices", _kept(certificate, job, report))
    if bound.table is not None:
        # A sweep looks ahead, so it proves no bound without.
        ahead = job.options["options"].lookahead
        kept = _kept(sweep_certificate(bound.value, bound.table), job, report) if ahead else None
        report.bound(bound.value, "prices of patterns", kept)
    if bound.expected_starts is not None:
        report.relaxation(bound.objective, bound.expected_starts.tolist())
    # HiGHS solved the master LPs.
    solver = "" if bound.prices is None else f"HiGHS {quiet_highs().version()}"
    outcome = "bound only" if bound.objective is None else "optimal"
    report.done(solver=solver, nodes=0, outcome=outcome)


def _kept(
    certificate: dict[str, Any], job: EngineJob, report: EventReport
) -> dict[str, Any] | None:
    """Return a certificate; None and a note if reading it takes too long."""
    refused = refusal_of_length(job.instance, certificate)
    if refused:
        report.note(f"no certificate of this bound is kept: {refused}")
    return None if refused else certificate
