"""Evaluate the certificate of a custom method in a process with limits: it may take long."""

import contextlib
import json
import socket
import threading
from collections.abc import Iterator
from dataclasses import replace

from instances.bulk_requests import instance_columns, restore_instance
from kvopt.runs.events import BoundProved, Event, event_line
from kvopt.runs.limits import certificate_seconds
from kvopt.runs.process import Ending, call_in_process
from kvopt.runs.run_evidence import certificate_body, evaluate_document
from kvopt.runs.supervise import Listener, RunSnapshot, SupervisedRun
from kvopt.runs.task import Task


def certify(task: Task, run: SupervisedRun, stop: threading.Event, listen: Listener) -> None:
    """Evaluate the certificate of a custom method for a run that has ended, and change its state.

    One that takes too long is dropped (:func:`kvopt.runs.limits.certificate_seconds`).  On Ctrl-C,
    or when ``stop`` is set, the run counts as interrupted.
    """
    state = run.state
    if not state.awaits_proof:
        return
    limit = certificate_seconds(task, run.seconds, run.outcome.ending == "interrupted")

    def over() -> Ending | None:
        listen(RunSnapshot(state))
        return "interrupted" if stop.is_set() else None

    ending: Ending = "crashed"
    events: list[Event] = []
    columns = instance_columns(state.instance)
    state.certificate = certificate_body(state.certificate or {})
    line = json.dumps((columns, state.batch_time, state.upper_bound, state.certificate))
    with contextlib.suppress(OSError):
        outcome, events = call_in_process(
            "kvopt.runs.certify:evaluate_line", line, limit, task.memory_limit, over=over
        )
        ending = outcome.ending
    if ending == "interrupted":
        run.outcome = replace(run.outcome, ending="interrupted")
    proved = [each.value for each in events if isinstance(each, BoundProved)]
    if proved:
        state.proved = max(0, proved[-1])
    elif ending == "interrupted":
        state.drop_certificate("was not evaluated before the interrupt")
    else:
        limit_named = f"was not evaluated within the {ending.replace('_', ' ')}"
        state.drop_certificate(
            limit_named if ending.endswith("limit") else "could not be evaluated"
        )


def evaluate_line(lines: Iterator[str], channel: socket.socket) -> None:
    """Evaluate the certificate of a line, and send the bound that it proves."""
    columns, *others = json.loads(next(lines))
    value = evaluate_document(restore_instance(columns), *others)
    channel.sendall(event_line(BoundProved(value=value, source="certificate")).encode())
