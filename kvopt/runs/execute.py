"""Carries out one task in a separate process; every failure there becomes a row."""

import threading
import time
from pathlib import Path
from traceback import extract_tb

from kvopt.runs.certify import certify
from kvopt.runs.limits import kill_at, limit_of
from kvopt.runs.run_row import make_faulty_row, make_row
from kvopt.runs.supervise import Listener, RunSnapshot, supervise
from kvopt.runs.task import FinishedRun, Task
from support.machine_errors import LACKS, MachineError, describe_shortage


class InterruptedRunError(Exception):
    """The run was stopped by the caller; there is nothing to be stored."""


def execute(
    task: Task, stop: threading.Event | None = None, listen: Listener = lambda _: None
) -> FinishedRun:
    """Carry out a task and return its row; a failure of the run is a row too.

    Its processes are killed after :func:`kvopt.runs.limits.limit_of`, or beyond the memory limit.
    On Ctrl-C the run is stopped, and its row has all that it has shown so far.  ``listen`` receives
    each ``RunSnapshot``.  Raises an InterruptedRunError if ``stop`` was set before the run had
    ended, and a MachineError if the machine lacks a process, thread, open file, memory or disk.
    """
    started = time.monotonic()
    try:
        return _execute(task, stop or threading.Event(), listen, started)
    except InterruptedRunError:
        raise
    except Exception as error:
        if why := describe_shortage(error):
            raise MachineError(why) from None
        # A fault of kvopt does not end the other runs.
        last = extract_tb(error.__traceback__)[-1]
        what = f"{Path(last.filename).name}:{last.lineno}: {type(error).__name__}: {error}"
        return make_faulty_row(task, f"kvopt itself failed: {what}", "error", started)


def _execute(task: Task, stop: threading.Event, listen: Listener, started: float) -> FinishedRun:
    if fault := task.fault or (task.code and _other_versions(task)):
        return make_faulty_row(task, fault, task.fault_status, started)
    if task.deadline is not None and started > task.deadline:
        late = f"the time limit was over {started - task.deadline:.1f} s before it began"
        return make_faulty_row(task, late, "time_limit", started)
    try:
        run = supervise(task, limit_of(task), kill_at=kill_at(task), stop=stop, listen=listen)
    except OSError as error:
        raise MachineError(f"no process could be started: {error.strerror}") from None
    # A reader without a store gets the partial result.
    if run.state.failure.startswith(LACKS) and (task.code or run.state.schedule is None):
        raise MachineError(run.state.failure)
    certify(task, run, stop, listen)
    listen(RunSnapshot(run.state, ended=True))
    if stop.is_set() and run.outcome.ending == "interrupted":
        raise InterruptedRunError
    run.state.end(run.outcome)
    # The row of edited sources says so and is not taken for the planned one.
    return make_row(task, run, started, _code_now(task))


def find_difference(task: Task) -> str:
    """Return one line if sources or libraries are not those of the task, else nothing."""
    if _code_now(task) != task.code:
        return "the sources were edited since the sweep began, or are others on this machine"
    return _other_versions(task)


def _code_now(task: Task) -> str:
    """Return the digest of a task's sources as they are now; empty where they cannot be read."""
    from kvopt.methods.fingerprint import UNREAD, fingerprint  # what only a stored run needs

    if not task.code or task.code.startswith(UNREAD):
        return task.code
    try:
        return fingerprint(task.method, task.outputs)
    except (OSError, SyntaxError):
        return ""


def _other_versions(task: Task) -> str:
    from kvopt.methods.fingerprint import versions

    try:
        here = versions(task.method, task.outputs)
    except (OSError, SyntaxError) as error:
        return f"{task.method.text}: {' '.join(str(error).split())}"
    return ", ".join(
        f"{name} {here.get(name, 'missing')} on this machine, the sweep began with {version}"
        for name, version in task.versions.items()
        if here.get(name) != version
    )
