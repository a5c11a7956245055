"""One table of every policy on one instance in seconds, beside a lower bound."""

from __future__ import annotations

import time

from instances import Instance
from instances.batch_time import NANOSECONDS
from kvopt.commands.policies_table import (
    MARK,
    PoliciesTable,
    Row,
    Sweep,
    rows_of,
    table_of,
    table_text,
    without_schedule,
)
from kvopt.methods.grammar import read_method
from kvopt.running.execute import execute
from kvopt.running.task import Finished, Task
from kvopt.terminal import seconds_of
from schedules.files import parse_schedule
from schedules.real_time.serving import goodput
from schedules.real_time.slo import Slo
from schedules.real_time.timeline import timeline

_HEADER = ["policy", "TEL s", "TEL/LB", "TTFT s", "p99", "TPOT s", "p99", "E2EL s", "p99"]
_MORE = ["evictions", "ms", "checker"]
_RATIO = 2
#: Share of the time in which the bound is computed, before the policies.
_BOUND_SHARE = 0.25


def policies_in_seconds(
    instance: Instance,
    batch_time: str,
    *,
    slo: Slo | None,
    prediction: str | None,
    seed: int,
    deadline: float,
    memory_limit: float | None,
    jobs: int,
) -> PoliciesTable:
    """Run every policy until the deadline, as ``policies_table`` does, and return a table.

    Columns: TEL (seconds), its ratio to the lower bound, so at least that to OPT, mean and 99th
    percentile of TTFT, TPOT and E2EL (seconds), with an objective the goodput (requests a second),
    number of evictions, milliseconds of the policy, and the checker's verdict.
    """
    bound = _bound(instance, batch_time, seed, deadline, memory_limit)
    sweep = Sweep(instance, prediction, seed, deadline, memory_limit, jobs, batch_time)
    rows, why = rows_of(sweep, lambda finished: _row(instance, finished, bound, slo))
    good = ["good/s"] if slo else []
    header = [*_HEADER, *good, *_MORE]
    told = f"lower bound {seconds_of(bound)} s" if bound else "no lower bound"
    text = table_text(header, rows, f"{told}; batch time {batch_time}", sweep.left(why))
    return table_of(text, rows)


def _bound(
    instance: Instance,
    batch_time: str,
    seed: int,
    deadline: float,
    memory_limit: float | None,
) -> int:
    """Return a lower bound on the TEL (ns), 0 if none was found in its share of the time."""
    left = deadline - time.monotonic()
    task = Task(
        instance=instance,
        name=instance.name,
        method=read_method("bound"),
        seed=seed,
        time_limit=max(_BOUND_SHARE * left, 0.1),
        memory_limit=memory_limit,
        deadline=deadline,
        batch_time=batch_time,
    )
    return execute(task).record.lower_bound or 0


def _row(instance: Instance, finished: Finished, bound: int, slo: Slo | None) -> Row:
    record, document = finished.record, finished.schedule
    if document is None or record.status == "refused":
        return without_schedule(finished)
    schedule = parse_schedule(document)
    spreads = [
        getattr(record, f"{each}_{name}_ms")
        for name in ("ttft", "tpot", "e2el")
        for each in ("mean", "p99")
    ]
    good = ["-"] if slo else []
    if slo and record.mean_ttft_ms is not None:
        good = [f"{goodput(timeline(instance, schedule), slo):.3f}"]
    cells = [
        record.method + (MARK if schedule.keeps_tokens else ""),
        f"{schedule.tel / NANOSECONDS:.3f}",
        f"{schedule.tel / bound:.4f}" if bound else "-",
        *("-" if value is None else f"{value / 1000:.3f}" for value in spreads),
        *good,
        "-" if record.evictions is None else str(record.evictions),
        f"{1000 * (record.solver_seconds or record.seconds):.1f}",
        "valid",
    ]
    return Row(schedule.tel, cells, keeps_tokens=schedule.keeps_tokens)
