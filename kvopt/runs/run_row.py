"""Makes the row of a run: its results, its cost and its machine."""

import time
from dataclasses import fields, replace
from typing import Any

from kvopt.methods.engine_table import proofs
from kvopt.methods.knowledge import knowledge_of
from kvopt.methods.method import Method
from kvopt.methods.option_values import format_numbers
from kvopt.runs.provenance import collect_provenance
from kvopt.runs.row_columns import FAILED, Record
from kvopt.runs.serving_imports import metrics_of
from kvopt.runs.state import RunState
from kvopt.runs.supervise import SupervisedRun
from kvopt.runs.task import FinishedRun, Task
from schedules import Schedule, Status
from support.message_text import one_line

#: Columns that the file of a schedule has, too.
_OF_SCHEDULE = (
    *("solver", "nodes", "found_by", "bound_source", "relaxation", "seconds"),
    *("versions", "code", "seed", "threads"),
)


def make_faulty_row(
    task: Task, fault: str, status: Status, started: float, ending: str = "finished"
) -> FinishedRun:
    """Return the row of a task without a process, or whose process is lost."""
    detail, origin = one_line(fault), collect_provenance()
    record = _record(task, started, origin, {}, status=status, ending=ending, detail=detail)
    return FinishedRun(record, instance=task.instance, status=status, notes=(detail,))


def make_row(task: Task, run: SupervisedRun, started: float, code: str = "") -> FinishedRun:
    """Return the row, schedule and certificate of a run; ``code`` is the digest of its sources."""
    state, method, origin = run.state, task.method, collect_provenance()
    status = state.status()
    metrics, note = metrics_of(state.instance, state.schedule)
    if note:
        state.add_note(note)
    record = _record(
        task,
        started,
        origin,
        vars(state),
        code=code,
        status=status,
        detail=one_line("; ".join(state.detail())),
        tel=None if state.schedule is None else state.schedule.tel,
        output=run.outcome.output if method.kind == "file" or status in FAILED else "",
        seconds=round(run.seconds, 4),
        start_seconds=round(run.start_seconds, 4),
        peak_memory=max(state.peak_memory, run.outcome.peak_memory),
        **{f"model_{name}": size for name, size in state.model.items() if name != "seconds"},
        **metrics,
    )
    return FinishedRun(
        record,
        _schedule(state, record, origin),
        state.certificate,
        task.instance,
        notes=tuple(state.reader_notes()),
        status=state.standing(),
        refused=tuple(state.refused),
        contradictions=tuple(state.contradictions),
        failure=state.failure,
        about_the_file=state.misstated,
        formulation=state.chosen,
        engine=proofs().get(method.solver, method.solver) if method.joined else "",
        compiling=run.compiling,
        expected_starts=state.expected_starts,
    )


def _record(
    task: Task, started: float, origin: dict[str, Any], state: dict[str, Any], **more: Any
) -> Record:
    """Return a row with all columns that state, task and machine have by their name."""
    named = {each.name for each in fields(Record)}
    of, columns = task.instance, state | vars(task) | origin
    names = ("instance", "instance_sha256", "family", "n", "memory", "known_optimum")
    found: list[Any] = [one_line(task.name), "", "", 0, 0, None]
    if of is not None:
        found = [of.name, of.sha256, of.family or "", len(of), of.memory, of.stated_optimum]
    return Record(
        **{name: value for name, value in columns.items() if name in named}
        | dict(zip(names, found, strict=True))
        | {"key": task.key, "method": task.method.text, "git_commit": origin["git_commit"] or ""}
        | {"total_seconds": round(time.monotonic() - started, 4)}
        | _declared(task.method)
        | more
    )


def _declared(method: Method) -> dict[str, str]:
    """Return the columns that a custom file declares."""
    if method.own is None:
        return {}
    known = knowledge_of(method)
    words = "" if known.lengths == "unknown" else str(known)
    called = format_numbers(method.own.values)
    return {"own_name": method.own_name, "told": words, "called": called}


def _schedule(state: RunState, record: Record, origin: dict[str, Any]) -> Schedule | None:
    """Return the schedule that passed the checker, with the run's bound and provenance."""
    found = state.schedule
    if found is None:
        return None
    return replace(
        found,
        # None where the bound is not about this schedule.
        lower_bound=None if found.easier else state.lower_bound,
        status="optimal" if state.standing() == "optimal" else "feasible",
        provenance=origin
        | {name: getattr(record, name) for name in _OF_SCHEDULE}
        | {
            "formulation": state.chosen or None,
            "outcome": state.engine_outcome or state.ending,
            "model": state.model or None,
            "notes": state.notes,
            "time_limit_seconds": record.time_limit,
            "limit_kind": "wall clock",
            "peak_memory_mb": round(record.peak_memory / 1e6),
        },
    )
