"""One table of every policy on one instance, each in a process of its own."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from dataclasses import dataclass

from formulations.valid.volumes import volume_bound
from heuristics.policy import AdvisedPolicy, ListPolicy
from heuristics.registry import policies
from instances import Instance
from kvopt.executors.local import LocalExecutor
from kvopt.methods.grammar import every_policy
from kvopt.running.stated_optimum import dispute
from kvopt.running.task import Finished, Task
from schedules import make_schedule
from schedules.metrics import measure
from schedules.model import KEEPS_TOKENS_NOTE

_HEADER = ["policy", "TEL", "", "makespan", "memory %", "evictions", "ms", "checker"]
#: Column of the ratio, which needs all TELs: one of them may prove the stated optimum wrong.
_RATIO = 2
#: Seconds that a policy gets at least, as long as so many are left.
_LEAST_SECONDS = 1.0
#: Marks a schedule that keeps tokens.
_MARK = " *"


@dataclass(frozen=True)
class PoliciesTable:
    """The aligned text, what the checker accepted, and one line if the file is wrong.

    ``accepted`` tells whether it accepted all schedules, ``found`` whether there is one.
    ``misstated`` tells of a result that contradicts the optimum that the instance's file states.
    """

    text: str
    accepted: bool
    found: bool
    misstated: str


@dataclass(frozen=True)
class _Row:
    tel: int | None
    cells: list[str]
    accepted: bool = True
    keeps_tokens: bool = False


def policies_table(
    instance: Instance,
    *,
    prediction: str | None,
    seed: int,
    deadline: float,
    memory_limit: float | None,
    jobs: int,
) -> PoliciesTable:
    """Run every policy until the deadline, the quick ones first, and return a table.

    Columns: TEL (rounds), its ratio to the optimum where the instance states it undisputed and else
    to the volume bound (so at least the ratio to OPT), makespan (rounds), mean memory use until
    then (share of M), number of evictions, milliseconds, and the checker's verdict.  A policy that
    cannot serve the instance has its reason instead; one that kept tokens here is marked.  The last
    line says how many were not run.

    Each policy may take its share of the time that is left when it begins, so that a slow one costs
    no other its turn.  The relaxation that some are advised by is solved by the first of them.

    Parameters
    ----------
    deadline
        On the clock of ``time.monotonic``, seconds.
    memory_limit
        Resident memory of each policy's processes, gigabytes.
    jobs
        Policies that run side by side.
    """
    sweep = _Sweep(instance, prediction, seed, deadline, memory_limit, jobs)
    rows: list[_Row] = []
    why = "the time was over"
    try:
        for finished in sweep.run():
            rows.append(_row(instance, finished))
    except KeyboardInterrupt:
        if not any(row.tel is not None for row in rows):
            raise
        why = "interrupted by the user"
    text, misstated = _shown(instance, rows)
    if sweep.waiting:
        names = ", ".join(sweep.waiting)
        count = len(sweep.waiting)
        were = "policy was" if count == 1 else "policies were"
        text += f"\n{count} {were} not run, {why}: {names}"
    return PoliciesTable(
        text,
        accepted=all(row.accepted for row in rows),
        found=any(row.tel is not None for row in rows),
        misstated=misstated,
    )


def _shown(instance: Instance, rows: list[_Row]) -> tuple[str, str]:
    """Return the rows as a table with their ratios, and how they contradict the instance's file."""
    upper = [row.tel for row in rows if row.accepted and not row.keeps_tokens]
    least = min((tel for tel in upper if tel is not None), default=None)
    bound = volume_bound(instance)
    found = dispute(instance, least, bound, "volumes", None)
    optimum = instance.known_optimum if found is None else None
    reference = bound if optimum is None else optimum
    for row in rows:
        if row.tel is not None:
            row.cells[_RATIO] = f"{row.tel / reference:.4f}"
    header = [*_HEADER]
    header[_RATIO] = "TEL/LB" if optimum is None else "TEL/OPT"
    lines = [_aligned([header, *(row.cells for row in sorted(rows, key=_by_tel))])]
    if any(row.keeps_tokens for row in rows):
        lines.append(f"{_MARK.strip()} {KEEPS_TOKENS_NOTE}")
    kind = "known optimum" if optimum is not None else "lower bound (volumes)"
    lines.append(f"{kind} {reference}")
    return "\n".join(lines), "" if found is None else found.text


class _Sweep:
    """Every policy once; ``waiting`` are the names of those that have not begun."""

    def __init__(
        self,
        instance: Instance,
        prediction: str | None,
        seed: int,
        deadline: float,
        memory_limit: float | None,
        jobs: int,
    ) -> None:
        self._instance, self._seed = instance, seed
        self._deadline, self._memory_limit, self._jobs = deadline, memory_limit, jobs
        self._advice: list[float] | None = None
        self.waiting = sorted(policies(), key=_slowness)
        self._methods = dict(zip(policies(), every_policy(prediction), strict=True))

    def run(self) -> Iterator[Finished]:
        advised = [name for name in self.waiting if isinstance(policies()[name], AdvisedPolicy)]
        for last in (advised[0], advised[-1]):
            for finished in LocalExecutor(self._jobs).run(self._tasks(last)):
                self._advice = self._advice or finished.expected_starts
                yield finished

    def _tasks(self, last: str) -> Iterator[Task]:
        """Yield tasks as they are asked for, up to one policy, as long as there is time."""
        while last in self.waiting and (left := self._deadline - time.monotonic()) > _LEAST_SECONDS:
            share = left * self._jobs / len(self.waiting)
            yield Task(
                instance=self._instance,
                name=self._instance.name,
                method=self._methods[self.waiting.pop(0)].text,
                seed=self._seed,
                time_limit=min(left, max(share, _LEAST_SECONDS)),
                memory_limit=self._memory_limit,
                deadline=self._deadline,
                expected_starts=self._advice,
            )


def _slowness(name: str) -> tuple[int, str]:
    policy = policies()[name]
    return 0 if isinstance(policy, ListPolicy) else 2 if isinstance(
        policy, AdvisedPolicy
    ) else 1, name


def _aligned(lines: list[list[str]]) -> str:
    """Return lines of cells as text; those with a reason in place of numbers are not aligned."""
    full = [line for line in lines if len(line) == len(_HEADER)]
    widths = [max(len(line[column]) for line in full) for column in range(len(_HEADER))]
    widths[0] = max(len(line[0]) for line in lines)
    return "\n".join(
        "  ".join(
            cell.ljust(width) if column == 0 or len(line) < len(_HEADER) else cell.rjust(width)
            for column, (cell, width) in enumerate(zip(line, widths, strict=False))
        ).rstrip()
        for line in lines
    )


def _by_tel(row: _Row) -> tuple[float, str]:
    return math.inf if row.tel is None else row.tel, row.cells[0]


def _row(instance: Instance, finished: Finished) -> _Row:
    record, document = finished.record, finished.schedule
    if record.status == "refused":
        return _Row(None, [record.method, f"REFUSED: {record.detail}"], accepted=False)
    if document is None:
        reason = record.detail or record.status.replace("_", " ")
        if record.ending == "time_limit":
            reason = f"stopped after its share of the time, {record.time_limit:.1f} s"
        return _Row(None, [record.method, f"not run to its end: {reason}"])
    schedule = make_schedule(
        instance,
        document["starts"],
        record.method,
        attempts=document.get("attempts"),
        kept=document.get("kept"),
    )
    metrics = measure(instance, schedule)
    cells = [
        record.method + (_MARK if schedule.keeps_tokens else ""),
        str(schedule.tel),
        "",
        str(metrics.makespan),
        f"{100 * metrics.mean_memory_share:.1f}",
        str(metrics.cancelled_attempts),
        f"{1000 * (record.solver_seconds or record.seconds):.1f}",
        "valid",
    ]
    return _Row(schedule.tel, cells, keeps_tokens=schedule.keeps_tokens)
