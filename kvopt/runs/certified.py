"""Has the certificate of a method of one's own evaluated, in a process with limits.

An evaluation may take longer than the run has left, and must cost nobody the schedule.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from dataclasses import replace
from functools import partial

from instances.bulk import instance_columns
from kvopt.runs.events import BoundProved, Event
from kvopt.runs.limits import certificate_seconds
from kvopt.runs.process import Ending, Process
from kvopt.runs.supervise import Listener, Snapshot, Supervised
from kvopt.runs.task import Task

_MODULE = "kvopt.runs.certified_worker"
_POLL_SECONDS = 0.1
#: Why a certificate proves nothing, by how its evaluation has ended.
_REASONS = {
    "time_limit": "was not evaluated within the time limit",
    "memory_limit": "was not evaluated within the memory limit",
    "interrupted": "was not evaluated before the interrupt",
}


def certify(task: Task, run: Supervised, stop: threading.Event, listen: Listener) -> None:
    """Evaluate what a method of one's own proves; a certificate that takes too long is dropped.

    It has what the run has left of its time, and some more
    (:func:`kvopt.runs.limits.certificate_seconds`).  On Ctrl-C the run counts as interrupted.

    Parameters
    ----------
    run
        A run that has ended; its state and ending are changed.
    stop
        When it is set, the evaluation is killed and the run counts as interrupted.
    """
    state = run.state
    if not state.awaits_proof:
        return
    limit = certificate_seconds(task, run.seconds, run.outcome.ending == "interrupted")
    proved: list[int] = []
    ending: Ending = "interrupted"
    try:
        process = Process(_MODULE, _line(run), task.memory_limit, len(state.instance))
        try:
            ending = _wait(process, proved, limit, stop, lambda: listen(Snapshot(state)))
        finally:
            ending = process.close(ending, partial(_take, proved)).ending
    except KeyboardInterrupt:
        pass
    except OSError:
        ending = "crashed"
    if ending == "interrupted":
        run.outcome = replace(run.outcome, ending="interrupted")
    if proved:
        state.proved = max(0, proved[-1])
    else:
        state.drop_certificate(_REASONS.get(ending, "could not be evaluated"))


def _wait(
    process: Process,
    proved: list[int],
    limit: float,
    stop: threading.Event,
    look: Callable[[], None],
) -> Ending:
    while process.take(partial(_take, proved), _POLL_SECONDS):
        look()
        if stop.is_set():
            return "interrupted"
        if process.exceeds_memory():
            return "memory_limit"
        if process.age() > limit:
            return "time_limit"
    return "finished"


def _take(proved: list[int], event: Event) -> None:
    if isinstance(event, BoundProved):
        proved.append(event.value)


def _line(run: Supervised) -> str:
    state = run.state
    told = {
        "instance": instance_columns(state.instance),
        "batch_time": state.batch_time,
        "upper_bound": state.upper_bound,
        "certificate": state.certificate,
    }
    return json.dumps(told) + "\n"
