"""Our own search (``formulations.search``): schedules and bounds after every pass."""

from __future__ import annotations

import importlib
import math

import psutil

from formulations.bounds.clique_prices import start_costs
from formulations.groups import window_groups
from formulations.search._relaxation import lp_prices
from formulations.search.layers import Pass
from formulations.windows import start_windows
from runs.job import Job, Report
from runs.solvers.size import too_large

#: Share of the time that the prices may take.
PRICES_SHARE = 0.3
#: Share of the memory that may be used, for the layers of the search.
MEMORY_SHARE = 0.5


def solve(job: Job, report: Report) -> None:
    """Price memory and window groups by an LP, then search within the job's limits."""
    formulation = importlib.import_module(job.module)
    instance = job.instance
    if len(instance) > formulation.REQUESTS_UP_TO:
        report("too_large", text=f"search takes up to {formulation.REQUESTS_UP_TO} requests")
        return
    windows = start_windows(instance, job.upper_bound)
    size = formulation.model_size(instance, windows)
    if reason := too_large(size, job.memory_limit):
        report("too_large", text=reason)
        return
    groups = window_groups(instance)
    left = PRICES_SHARE * (job.seconds - report.elapsed())
    prices, group_prices = lp_prices(instance, windows, groups, left)
    costs = start_costs(instance, prices, groups, group_prices)
    report("built", columns=size, rows=0, entries=size)
    report("bound", value=min(costs.bound, job.upper_bound), source="prices of lp-cliques")
    states, outcome = 0, "limit"
    available = psutil.virtual_memory().available

    def on_pass(found: Pass) -> None:
        nonlocal states, outcome
        states += found.states
        report("schedule", starts=found.starts)
        report("bound", value=found.bound, source="search")
        if found.complete:
            outcome = "optimal"

    formulation.search(
        instance,
        windows,
        groups,
        costs,
        (job.upper_bound, list(job.warm_start)),
        on_pass,
        lambda: report.elapsed() > job.seconds,
        memory_bytes=MEMORY_SHARE * min(available, 1e9 * (job.memory_limit or math.inf)),
    )
    report("done", solver="kvopt search", nodes=states, outcome=outcome)
