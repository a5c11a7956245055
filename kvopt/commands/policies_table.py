"""One table of every policy on one instance, each in a process of its own."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from formulations.valid.volumes import volume_bound
from heuristics.policy import AdvisedPolicy, ListPolicy
from heuristics.registry import policies
from instances import Instance
from kvopt.executors.local import LocalExecutor
from kvopt.methods.grammar import every_policy
from kvopt.registered import registered
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
MARK = " *"


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
class Row:
    """The TEL of a policy, and its cells: the first is its name; a reason may be all others."""

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
    """Run every policy until the deadline, the quick ones first, and return a table in rounds.

    Columns: TEL (rounds), its ratio to the optimum where the instance states it undisputed and else
    to the volume bound (so at least the ratio to OPT), makespan (rounds), mean memory use until
    then (share of M), number of evictions, milliseconds, the gap to the registry's best schedule
    where it has the instance (a policy that kept tokens has none; the line below names schedule
    and bound), and the checker's verdict.  A policy that
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
    sweep = Sweep(instance, prediction, seed, deadline, memory_limit, jobs)
    rows, why = rows_of(sweep, lambda finished: _row(instance, finished))
    upper = [row.tel for row in rows if row.accepted and not row.keeps_tokens]
    least = min((tel for tel in upper if tel is not None), default=None)
    bound = volume_bound(instance)
    found = dispute(instance, least, bound, "volumes", None)
    optimum = instance.known_optimum if found is None else None
    reference = bound if optimum is None else optimum
    for row in rows:
        if row.tel is not None:
            row.cells[_RATIO] = f"{row.tel / reference:.4f}"
    known = registered(instance)
    header = [*_HEADER]
    if known is not None:
        header.insert(-1, "to best %")
    for row in rows:
        if known is not None and row.tel is not None:
            row.cells.insert(-1, "-" if row.keeps_tokens else f"{known.gap(row.tel):.3f}")
    header[_RATIO] = "TEL/LB" if optimum is None else "TEL/OPT"
    kind = "known optimum" if optimum is not None else "lower bound (volumes)"
    best = "" if known is None else f"best known {known}"
    text = table_text(header, rows, best, f"{kind} {reference}", sweep.left(why))
    return table_of(text, rows, "" if found is None else found.text)


def rows_of(sweep: Sweep, row: Callable[[Finished], Row]) -> tuple[list[Row], str]:
    """Run a sweep and return its rows, and why policies may be left."""
    rows: list[Row] = []
    try:
        for finished in sweep.run():
            rows.append(row(finished))
    except KeyboardInterrupt:
        if not any(each.tel is not None for each in rows):
            raise
        return rows, "interrupted by the user"
    return rows, "the time was over"


def table_text(header: list[str], rows: list[Row], *below: str) -> str:
    """Return the aligned table, by TEL, with lines below it."""
    lines = [_aligned([header, *(row.cells for row in sorted(rows, key=_by_tel))])]
    if any(row.keeps_tokens for row in rows):
        lines.append(f"{MARK.strip()} {KEEPS_TOKENS_NOTE}")
    return "\n".join([*lines, *filter(None, below)])


def table_of(text: str, rows: list[Row], misstated: str = "") -> PoliciesTable:
    """Return a table with what its rows tell of the checker."""
    return PoliciesTable(
        text,
        accepted=all(row.accepted for row in rows),
        found=any(row.tel is not None for row in rows),
        misstated=misstated,
    )


class Sweep:
    """Every policy once; ``waiting`` are the names of those that have not begun."""

    def __init__(
        self,
        instance: Instance,
        prediction: str | None,
        seed: int,
        deadline: float,
        memory_limit: float | None,
        jobs: int,
        batch_time: str = "",
    ) -> None:
        self._instance, self._seed, self._batch_time = instance, seed, batch_time
        self._deadline, self._memory_limit, self._jobs = deadline, memory_limit, jobs
        self._advice: list[float] | None = None
        self.waiting = sorted(policies(), key=_slowness)
        self._methods = dict(zip(policies(), every_policy(prediction), strict=True))

    def run(self) -> Iterator[Finished]:
        """Yield what becomes of every policy, as long as there is time."""
        advised = [name for name in self.waiting if isinstance(policies()[name], AdvisedPolicy)]
        for last in (advised[0], advised[-1]):
            for finished in LocalExecutor(self._jobs).run(self._tasks(last)):
                self._advice = self._advice or finished.expected_starts
                yield finished

    def left(self, why: str) -> str:
        """Return one line on the policies that were not run, empty if all were."""
        count, names = len(self.waiting), ", ".join(self.waiting)
        were = "policy was" if count == 1 else "policies were"
        return f"{count} {were} not run, {why}: {names}" if count else ""

    def _tasks(self, last: str) -> Iterator[Task]:
        """Yield tasks as they are asked for, up to one policy, as long as there is time."""
        while last in self.waiting and (left := self._deadline - time.monotonic()) > _LEAST_SECONDS:
            share = left * self._jobs / len(self.waiting)
            yield Task(
                instance=self._instance,
                name=self._instance.name,
                method=self._methods[self.waiting.pop(0)],
                seed=self._seed,
                time_limit=min(left, max(share, _LEAST_SECONDS)),
                memory_limit=self._memory_limit,
                deadline=self._deadline,
                expected_starts=self._advice,
                batch_time=self._batch_time,
            )


def _slowness(name: str) -> tuple[int, str]:
    policy = policies()[name]
    return 0 if isinstance(policy, ListPolicy) else 2 if isinstance(
        policy, AdvisedPolicy
    ) else 1, name


def _aligned(lines: list[list[str]]) -> str:
    """Return lines of cells as text; those with a reason in place of numbers are not aligned."""
    columns = len(lines[0])
    full = [line for line in lines if len(line) == columns]
    widths = [max(len(line[column]) for line in full) for column in range(columns)]
    widths[0] = max(len(line[0]) for line in lines)
    return "\n".join(
        "  ".join(
            cell.ljust(width) if column == 0 or len(line) < columns else cell.rjust(width)
            for column, (cell, width) in enumerate(zip(line, widths, strict=False))
        ).rstrip()
        for line in lines
    )


def _by_tel(row: Row) -> tuple[float, str]:
    return math.inf if row.tel is None else row.tel, row.cells[0]


def without_schedule(finished: Finished) -> Row:
    """Return the row of a policy that has no schedule, or one that was refused."""
    record = finished.record
    if record.status == "refused":
        return Row(None, [record.method, f"REFUSED: {record.detail}"], accepted=False)
    reason = record.detail or record.status.replace("_", " ")
    if record.ending == "time_limit":
        reason = f"stopped after its share of the time, {record.time_limit:.1f} s"
    return Row(None, [record.method, f"not run to its end: {reason}"])


def _row(instance: Instance, finished: Finished) -> Row:
    record, document = finished.record, finished.schedule
    if document is None or record.status == "refused":
        return without_schedule(finished)
    schedule = make_schedule(
        instance,
        document["starts"],
        record.method,
        attempts=document.get("attempts"),
        kept=document.get("kept"),
    )
    metrics = measure(instance, schedule)
    cells = [
        record.method + (MARK if schedule.keeps_tokens else ""),
        str(schedule.tel),
        "",
        str(metrics.makespan),
        f"{100 * metrics.mean_memory_share:.1f}",
        str(metrics.cancelled_attempts),
        f"{1000 * (record.solver_seconds or record.seconds):.1f}",
        "valid",
    ]
    return Row(schedule.tel, cells, keeps_tokens=schedule.keeps_tokens)
