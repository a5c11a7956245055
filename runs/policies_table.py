"""One table of every policy on one instance."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass

from formulations.bounds.volume import volume_bound
from heuristics.policy import NotApplicableError
from heuristics.registry import policies
from heuristics.rounds import EndlessLoopError
from heuristics.simulator import AdviceError
from instances import Instance
from runs.alarm import TimeLimitError
from runs.policy import PolicyCall, read_policy_call, run_policy_call
from runs.stated_optimum import dispute
from schedules import check_schedule
from schedules.metrics import measure
from schedules.model import KEEPS_TOKENS_NOTE


@dataclass(frozen=True)
class _Row:
    tel: int | None
    cells: list[str]
    accepted: bool = True
    keeps_tokens: bool = False


_HEADER = ["policy", "TEL", "", "makespan", "memory %", "evictions", "ms", "checker"]
#: Column of the ratio, which needs all TELs: one of them may prove the stated optimum wrong.
_RATIO = 2
#: Marks a schedule that keeps tokens.
_MARK = " *"


def policies_table(
    instance: Instance,
    *,
    prediction: str | None,
    seed: int,
    deadline: float,
    threads: int,
) -> tuple[str, bool, str]:
    """Return an aligned table of every policy, whether the checker accepted all, and a warning.

    The warning is one line if a result contradicts the optimum that the instance's file states.

    Columns: TEL (rounds), its ratio to the optimum where the instance states it undisputed and else
    to the volume bound (so at least the ratio to OPT), makespan (rounds), mean memory use until
    then (share of M), number of evictions, milliseconds, and the checker's verdict.  A policy that
    cannot serve the instance has its reason instead; one that kept tokens here is marked.
    """
    rows = []
    for name in policies():
        call = read_policy_call(name, prediction)
        started = time.perf_counter()
        rows.append(_row(call, instance, seed, deadline, threads, started))
    upper = [row.tel for row in rows if row.accepted and not row.keeps_tokens]
    least = min((tel for tel in upper if tel is not None), default=None)
    bound = volume_bound(instance)
    found = dispute(instance, least, bound, "volumes", None)
    optimum = instance.known_optimum if found is None else None
    reference = bound if optimum is None else optimum
    header = [*_HEADER]
    header[_RATIO] = "TEL/LB" if optimum is None else "TEL/OPT"
    for row in rows:
        if row.tel is not None:
            row.cells[_RATIO] = f"{row.tel / reference:.4f}"
    lines = [header, *(row.cells for row in sorted(rows, key=_by_tel))]
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
    accepted = all(row.accepted for row in rows)
    note = f"{_MARK.strip()} {KEEPS_TOKENS_NOTE}\n" if any(row.keeps_tokens for row in rows) else ""
    return f"{text}\n{note}{kind} {reference}", accepted, "" if found is None else found.text


def _by_tel(row: _Row) -> float:
    return math.inf if row.tel is None else row.tel


def _row(
    call: PolicyCall,
    instance: Instance,
    seed: int,
    deadline: float,
    threads: int,
    started: float,
) -> _Row:
    try:
        schedule = run_policy_call(call, instance, seed=seed, deadline=deadline, threads=threads)
    except EndlessLoopError as error:
        reason = f"loops for ever (state repeated at round {error.round_of_repeat})"
        return _Row(None, [call.method, reason])
    except (NotApplicableError, AdviceError, TimeLimitError) as error:
        return _Row(None, [call.method, f"not run: {error}"])
    milliseconds = 1000 * (time.perf_counter() - started)
    metrics = measure(instance, schedule)
    accepted = check_schedule(instance, schedule).valid
    return _Row(
        schedule.tel,
        [
            call.method + (_MARK if schedule.keeps_tokens else ""),
            str(schedule.tel),
            "",
            str(metrics.makespan),
            f"{100 * metrics.mean_memory_share:.1f}",
            str(metrics.cancelled_attempts),
            f"{milliseconds:.1f}",
            "valid" if accepted else "REFUSED",
        ],
        accepted,
        schedule.keeps_tokens,
    )
