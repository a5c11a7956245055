"""One table of every policy on one instance."""

from __future__ import annotations

import time

from formulations.bounds.volume import volume_bound
from heuristics.registry import policies
from heuristics.simulator import run_policy
from instances import Instance
from schedules import check_schedule
from schedules.metrics import measure


def policies_table(instance: Instance) -> str:
    """Return an aligned table: TEL, ratio to the best bound known, makespan, memory, time.

    The ratio is to the optimum where the instance states it, else to the volume bound (and so at
    least the true ratio to OPT).
    """
    optimum = instance.known_optimum
    reference = volume_bound(instance) if optimum is None else optimum
    label = "TEL/LB" if optimum is None else "TEL/OPT"
    header = ["policy", "TEL", label, "makespan", "mean memory %", "evictions", "ms", "checker"]
    rows = []
    for policy in policies().values():
        started = time.perf_counter()
        schedule = run_policy(policy, instance)
        milliseconds = 1000 * (time.perf_counter() - started)
        metrics = measure(instance, schedule)
        rows.append(
            (
                schedule.tel,
                [
                    policy.name,
                    str(schedule.tel),
                    f"{schedule.tel / reference:.4f}",
                    str(metrics.makespan),
                    f"{100 * metrics.mean_memory_share:.1f}",
                    str(metrics.cancelled_attempts),
                    f"{milliseconds:.1f}",
                    "valid" if check_schedule(instance, schedule).valid else "REFUSED",
                ],
            )
        )
    lines = [header, *(cells for _, cells in sorted(rows))]
    widths = [max(len(line[column]) for line in lines) for column in range(len(header))]
    text = "\n".join(
        "  ".join(
            cell.ljust(width) if column == 0 else cell.rjust(width)
            for column, (cell, width) in enumerate(zip(line, widths, strict=True))
        ).rstrip()
        for line in lines
    )
    kind = "known optimum" if optimum is not None else "lower bound (volumes)"
    return f"{text}\n{kind} {reference}"
