"""The only module of runs, methods and engines that imports serving and knows of seconds."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from instances import Instance
from instances.batch_time import parse_batch_time
from schedules import Schedule
from schedules.clock.timeline import make_timeline
from serving.bounds.loads import alone_bound, not_covered, work_bound
from serving.metrics import beyond, serving

if TYPE_CHECKING:
    from serving.traces import TraceOptions, TraceReport

#: The engine of instances in seconds.
ENGINE = "serving.engine"


def bounds_kept_tokens(instance: Instance, batch_time: str) -> bool:
    """Return whether bounds also hold for schedules that keep tokens over evictions.

    In rounds they do not; in seconds they do under most batch times.
    """
    return bool(batch_time) and not not_covered(instance, parse_batch_time(batch_time))


def quick_bounds(instance: Instance, batch_time: str) -> Iterator[tuple[int, str, dict[str, Any]]]:
    """Yield the bounds that cost next to nothing (ns), with their names and certificates."""
    model = parse_batch_time(batch_time)
    for name, compute in (("alone", alone_bound), ("work", work_bound)):
        value = compute(instance, model)
        yield value, name, {"kind": name, "value": value, "batch_time": model.name}


def metrics_of(instance: Instance, schedule: Schedule | None) -> tuple[dict[str, Any], str]:
    """Return the serving metrics of a schedule, and a note; in rounds evictions alone."""
    if schedule is None:
        return {}, ""
    if schedule.clock is None:
        return {"evictions": sum(map(len, schedule.attempts or ()))}, ""
    try:
        times = make_timeline(instance, schedule)
    except ValueError as error:  # too many rounds, or too long ones
        return {}, f"without serving metrics: {error}"
    return asdict(serving(times)), beyond(times, parse_batch_time(schedule.clock.batch_time))


def evaluate_seconds_document(instance: Instance, batch_time: str, document: dict[str, Any]) -> int:
    """Return the bound that a certificate proves under a batch time (ns); 0 if it is of another.

    Raises a CertificateError if it is damaged, or proves nothing.
    """
    from serving.bounds.seconds_certificate import (
        evaluate_seconds_certificate,
        read_seconds_certificate,
    )  # loads NumPy

    rates = read_seconds_certificate(document)
    # One about those that run few at a time proves nothing of others.
    alike = rates.batch_time == batch_time and not rates.running
    return evaluate_seconds_certificate(instance, rates) if alike else 0


def read_input(path: str, options: TraceOptions) -> tuple[Instance, TraceReport | None]:
    """Read an instance file or a trace (:func:`serving.traces.read_trace.read_input`)."""
    from serving.traces import read_trace  # what only the process that reads needs

    return read_trace.read_input(path, options)
