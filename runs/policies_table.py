"""One table of every policy on one instance."""

from __future__ import annotations

import time
from dataclasses import dataclass

from formulations.bounds.volume import volume_bound
from heuristics.policy import NotApplicableError
from heuristics.registry import policies
from heuristics.rounds import EndlessLoopError
from heuristics.simulator import AdviceError
from instances import Instance
from runs.policy import PolicyCall, read_policy_call, run_policy_call
from schedules import check_schedule
from schedules.metrics import measure


@dataclass(frozen=True)
class _Row:
    tel: float
    cells: list[str]


_HEADER = ["policy", "TEL", "", "makespan", "memory %", "evictions", "ms", "checker"]


def policies_table(
    instance: Instance,
    *,
    prediction: str | None,
    seed: int,
    deadline: float,
    threads: int,
) -> tuple[str, bool]:
    """Return an aligned table of every policy, and whether the checker accepted all schedules.

    Columns: TEL (rounds), its ratio to the optimum where the instance states it and else to the
    volume bound (so at least the ratio to OPT), makespan (rounds), mean memory use until then
    (share of M), number of evictions, milliseconds, and the checker's verdict.  A policy that
    cannot serve the instance has its reason instead.
    """
    optimum = instance.known_optimum
    reference = volume_bound(instance) if optimum is None else optimum
    rows = []
    for name in policies():
        call = read_policy_call(name, prediction)
        started = time.perf_counter()
        rows.append(_row(call, instance, reference, seed, deadline, threads, started))
    header = [*_HEADER]
    header[2] = "TEL/LB" if optimum is None else "TEL/OPT"
    lines = [header, *(row.cells for row in sorted(rows, key=lambda row: row.tel))]
    full = [line for line in lines if len(line) == len(header)]
    widths = [max(len(line[column]) for line in full) for column in range(len(header))]
    widths[0] = max(len(line[0]) for line in lines)
    text = "\n".join(
        "  ".join(
            cell.ljust(width) if column == 0 or len(line) < len(header) else cell.rjust(width)
            for column, (cell, width) in enumerate(zip(line, widths, strict=False))
        ).rstrip()
        for line in lines
    )
    kind = "known optimum" if optimum is not None else "lower bound (volumes)"
    accepted = all(row.cells[-1] != "REFUSED" for row in rows)
    return f"{text}\n{kind} {reference}", accepted


def _row(
    call: PolicyCall,
    instance: Instance,
    reference: int,
    seed: int,
    deadline: float,
    threads: int,
    started: float,
) -> _Row:
    try:
        schedule = run_policy_call(call, instance, seed=seed, deadline=deadline, threads=threads)
    except EndlessLoopError as error:
        reason = f"loops for ever (state repeated at round {error.round_of_repeat})"
        return _Row(float("inf"), [call.method, reason])
    except (NotApplicableError, AdviceError) as error:
        return _Row(float("inf"), [call.method, f"not run: {error}"])
    milliseconds = 1000 * (time.perf_counter() - started)
    metrics = measure(instance, schedule)
    verdict = "valid" if check_schedule(instance, schedule).valid else "REFUSED"
    return _Row(
        schedule.tel,
        [
            call.method,
            str(schedule.tel),
            f"{schedule.tel / reference:.4f}",
            str(metrics.makespan),
            f"{100 * metrics.mean_memory_share:.1f}",
            str(metrics.cancelled_attempts),
            f"{milliseconds:.1f}",
            verdict,
        ],
    )
