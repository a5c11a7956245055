"""Our own search (``formulations.search``): schedules and bounds after every pass."""

from __future__ import annotations

import math

import psutil

from formulations.bounds.certificate import price_certificate
from formulations.bounds.clique_lp import by_highs, lp_prices
from formulations.bounds.clique_prices import start_costs
from formulations.groups import window_groups
from formulations.search.layers import Pass
from formulations.windows import start_windows
from runs.job import Job, Report
from runs.solvers.loading import load_formulation
from runs.solvers.size import too_large

#: Share of the time that the prices may take.
PRICES_SHARE = 0.3
#: Share of the memory that may be used, for the layers of the search.
MEMORY_SHARE = 0.5


def solve(job: Job, report: Report) -> None:
    """Price memory and window groups by an LP, then search within the job's limits.

    Without ``prices`` or ``groups`` among the options the missing ones are 0.
    """
    formulation, options = load_formulation(job)
    instance = job.instance
    if len(instance) > formulation.REQUESTS_UP_TO:
        report("too_large", text=f"search takes up to {formulation.REQUESTS_UP_TO} requests")
        return
    windows = start_windows(instance, job.upper_bound)
    size = formulation.model_size(instance, windows)
    if reason := too_large(size, job.memory_limit):
        report("too_large", text=reason)
        return
    chosen = options["options"]
    groups = window_groups(instance) if chosen.groups and chosen.prices else []
    costs = start_costs(instance, [], groups, [[] for _ in groups])
    if chosen.prices:
        left = PRICES_SHARE * (job.seconds - report.elapsed())
        if found := lp_prices(instance, windows, groups, left, by_highs):
            prices, group_prices = found
            costs = start_costs(instance, prices, groups, group_prices)
    report("built", columns=size, rows=0, entries=size)
    certificate = price_certificate(
        costs.bound,
        costs.denominator,
        costs.memory,
        groups=groups,
        group_prices=costs.groups,
    )
    bound = min(costs.bound, job.upper_bound)
    report("bound", value=bound, source="prices", certificate=certificate)
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
        options=chosen,
        memory_bytes=MEMORY_SHARE * min(available, 1e9 * (job.memory_limit or math.inf)),
    )
    report("done", solver="kvopt search", nodes=states, outcome=outcome)
