"""Makes the row of a run: what it showed, what it cost, where it was."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

from instances.files import instance_document
from instances.telling import one_line
from kvopt.running.process import Outcome
from kvopt.running.provenance import provenance
from kvopt.running.record import Record
from kvopt.running.task import Finished, Task
from kvopt.running.verdict import Account
from schedules import Status, make_schedule
from schedules.files import schedule_document


@dataclass(frozen=True)
class Cost:
    """Seconds to the end of the imports and from there to the end; the start of everything."""

    start_seconds: float
    seconds: float
    started: float

    @property
    def total_seconds(self) -> float:
        """Seconds from the start of everything until now."""
        return time.monotonic() - self.started


def faulty(task: Task, fault: str, status: str, started: float) -> Finished:
    """Return the row of a task that no process was started for."""
    total = time.monotonic() - started
    record = Record(
        **_of_task(task),
        **_of_machine(provenance()),
        status=status,
        ending="finished",
        detail=one_line(fault),
        total_seconds=round(total, 4),
    )
    return Finished(record, instance=_instance(task))


def finished(task: Task, account: Account, outcome: Outcome, cost: Cost) -> Finished:
    """Return the row of a run that has ended, with its schedule and certificate."""
    account.close()
    ending = outcome.ending if outcome.ending != "finished" else account.engine_ending
    status = account.status(ending)
    detail = [*account.detail(), *filter(None, [outcome.detail])]
    origin = provenance()
    record = Record(
        **_of_task(task),
        **_of_machine(origin),
        status=status,
        ending=ending,
        detail=one_line("; ".join(detail)),
        tel=None if account.schedule is None else account.schedule.tel,
        lower_bound=account.lower_bound,
        found_by=account.found_by,
        bound_source=one_line(account.bound_source),
        relaxation=account.relaxation,
        root_bound=account.root_bound,
        model_columns=account.model.get("columns"),
        model_rows=account.model.get("rows"),
        model_entries=account.model.get("entries"),
        seconds=round(cost.seconds, 4),
        solver_seconds=account.solver_seconds,
        start_seconds=round(cost.start_seconds, 4),
        total_seconds=round(cost.total_seconds, 4),
        peak_memory=max(account.peak_memory, outcome.peak_memory),
        nodes=account.nodes,
        solver=account.solver,
        incumbents=account.incumbents,
        bounds=account.bounds,
    )
    schedule = _schedule(task, account, record, status, origin)
    return Finished(
        record,
        schedule,
        account.certificate,
        _instance(task),
        notes=tuple(account.told()),
        refused=tuple(account.refused),
        contradictions=tuple(account.contradictions),
        about_the_file=account.misstated or account.disputed,
        formulation=account.chosen,
    )


def _of_task(task: Task) -> dict[str, Any]:
    instance = task.instance
    return {
        "key": task.key,
        "instance": one_line(task.name) if instance is None else instance.name,
        "instance_sha256": "" if instance is None else instance.sha256,
        "family": "" if instance is None else instance.family or "",
        "n": 0 if instance is None else len(instance),
        "memory": 0 if instance is None else instance.memory,
        "known_optimum": None if instance is None else instance.known_optimum,
        "section": task.section,
        "method": task.method,
        "seed": task.seed,
        "time_limit": task.time_limit,
        "memory_limit": task.memory_limit,
        "threads": task.threads,
        "code": task.code,
        "versions": task.versions,
    }


def _of_machine(origin: dict[str, Any]) -> dict[str, Any]:
    columns = ("python", "platform", "cpu", "cores", "ram_gb", "command", "finished_utc")
    return {name: origin[name] for name in columns} | {"git_commit": origin["git_commit"] or ""}


def _instance(task: Task) -> dict[str, Any] | None:
    return None if task.instance is None else instance_document(task.instance)


def _schedule(
    task: Task, account: Account, record: Record, status: Status, origin: dict[str, Any]
) -> dict[str, Any] | None:
    if account.schedule is None or task.instance is None:
        return None
    schedule = make_schedule(
        task.instance,
        account.schedule.starts,
        task.method,
        lower_bound=None if account.schedule.keeps_tokens else account.lower_bound,
        status=status if status == "optimal" else "feasible",
        attempts=account.schedule.attempts,
        kept=account.schedule.kept,
        provenance=origin
        | {
            "found_by": account.found_by,
            "bound_source": account.bound_source,
            "solver": account.solver,
            "versions": task.versions,
            "code": task.code,
            "seed": task.seed,
            "threads": task.threads,
            "time_limit_seconds": task.time_limit,
            "seconds": record.seconds,
        },
    )
    return schedule_document(schedule)
