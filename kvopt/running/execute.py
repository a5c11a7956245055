"""Carries out one task in a process of its own; whatever happens there ends as a row."""

from __future__ import annotations

import threading
import time
from functools import cache

from kvopt.methods.fingerprint import fingerprint, versions
from kvopt.methods.grammar import Method, MethodError, read_method
from kvopt.running.row import Cost, faulty, finished
from kvopt.running.supervise import Listener, supervise
from kvopt.running.task import Finished, Task
from kvopt.running.telling import where_and_what

#: A run that looks at the clock itself is killed when it exceeds its limit by this share and these
#: seconds.
GRACE_SHARE = 0.1
GRACE_SECONDS = 2.0


class InterruptedRunError(Exception):
    """The run was stopped by the caller; there is nothing to be stored."""


def execute(
    task: Task, stop: threading.Event | None = None, listen: Listener = lambda _: None
) -> Finished:
    """Carry out a task and return its row; whatever goes wrong in the run is a row too.

    The method has ``task.time_limit`` seconds from the end of its imports.  Its process and all
    that this has started are killed after :func:`limit_of`, or when together they hold more memory
    than the limit.

    Parameters
    ----------
    stop
        When it is set, the run is killed.
    listen
        Called with what is known so far, ten times a second and whenever something has come.

    Raises
    ------
    InterruptedRunError
        If ``stop`` was set before the run had ended.
    """
    started = time.monotonic()
    try:
        return _execute(task, stop or threading.Event(), listen, started)
    except InterruptedRunError:
        raise
    except Exception as error:
        # A fault of ours is no reason to lose the other runs either.
        return faulty(task, f"kvopt itself failed: {where_and_what(error)}", "error", started)


def _execute(task: Task, stop: threading.Event, listen: Listener, started: float) -> Finished:
    if task.fault:
        return faulty(task, task.fault, task.fault_status, started)
    if task.code and (reason := difference(task)):
        return faulty(task, reason, "error", started)
    if task.deadline is not None and started > task.deadline:
        return faulty(task, "the time limit was over before it began", "time_limit", started)
    try:
        run = supervise(task, limit_of(task), kill_at=task.deadline, stop=stop, listen=listen)
    except OSError as error:
        # The machine has no process or no memory left for it; the sweep goes on.
        return faulty(task, f"no process could be started: {error.strerror}", "error", started)
    if run.outcome.ending == "interrupted":
        raise InterruptedRunError
    cost = Cost(run.start_seconds, run.seconds, started)
    return finished(task, run.account, run.outcome, cost)


def limit_of(task: Task) -> float:
    """Return the seconds after which a run is killed.

    A policy is killed at the limit.  A method that looks at the clock itself gets a tenth and two
    seconds more to tell what it has found.
    """
    looks = _method(task).looks_at_the_clock
    return task.time_limit + (GRACE_SHARE * task.time_limit + GRACE_SECONDS if looks else 0.0)


def difference(task: Task) -> str:
    """Return one line if sources or libraries are not those for which the task was planned.

    Empty if they are.
    """
    try:
        method = _method(task)
        if fingerprint(method) != task.code:
            return "the sources were edited since the sweep began, or are others on this machine"
        here = _versions(method)
    except (MethodError, OSError, SyntaxError) as error:
        return f"{task.method}: {' '.join(str(error).split())}"
    return ", ".join(
        f"{name} {here.get(name, 'missing')} on this machine, the sweep began with {version}"
        for name, version in task.versions.items()
        if here.get(name) != version
    )


def _method(task: Task) -> Method:
    return read_method(task.method, planned=True, path=task.method_path)


def _versions(method: Method) -> dict[str, str]:
    return _known_versions(method.text, method.task_path)


@cache
def _known_versions(text: str, path: str) -> dict[str, str]:
    return versions(read_method(text, planned=True, path=path))
