"""Process of a run: reads a task, sends events while its method works.

After ``Ready`` the clock of the run starts; ``PeakMemory`` comes last.  Lines after the task are
schedules (``kvopt.runs.team``).
"""

import contextlib
import os
import resource
import signal
import socket
import sys
import threading
import traceback
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import NoReturn

from heuristics.policy import NotApplicableError
from heuristics.round_driver import EndlessLoopError
from heuristics.simulator import AdviceError
from instances import Instance, Request
from kvopt.methods.custom_python import OwnMethodError
from kvopt.methods.grammar import read_method
from kvopt.runs.events import Compiling, Event, EventReport, MethodFailed, PeakMemory, event_line
from kvopt.runs.fork_server import serve_below
from kvopt.runs.preparation import prepare
from kvopt.runs.task import Task
from kvopt.runs.team import RECEIVED
from support.kernel_cache import CLOCK, load_compiler
from support.machine_errors import LACKS, describe_shortage
from support.message_text import one_line


def run(lines: Iterator[str], channel: socket.socket) -> NoReturn:
    """Carry out the task of the first line; the process ends at once after it."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with contextlib.suppress(OSError):  # Linux ends this one first when memory is over
        Path("/proc/self/oom_score_adj").write_text("1000", encoding="ascii")
    one_at_a_time = threading.Lock()

    def send(event: Event) -> None:
        with one_at_a_time:
            channel.sendall(event_line(event).encode())

    report = EventReport(send)
    try:
        _work(Task.from_line(next(lines)), lines, channel, report)
    except (Exception, SystemExit) as error:
        report.send(describe_failure(error))
    kilobytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss  # bytes on macOS
    report.send(PeakMemory(bytes=kilobytes * (1024 if sys.platform == "linux" else 1)))
    # Neither threads that a method has left behind nor the interpreter's end are waited for.
    sys.stderr.flush()
    os._exit(0)


def rehearse() -> None:
    """Run a policy on one request, so that forks of this process have what every run loads."""
    task = Task(Instance("one", 2, (Request(0, 0, 1, 1),)), "one", read_method("svf"))
    report = EventReport(lambda event: (event_line(event), None)[1])
    prepare(Task.from_line(task.to_line()), report)(task, report)


def _work(task: Task, lines: Iterator[str], channel: socket.socket, report: EventReport) -> None:
    if task.method.kind == "auto" or task.method.joined:
        from kvopt.engines.parts.node_counting import ends_at_once  # what no policy needs

        assert task.instance is not None
        if not task.batch_time and not ends_at_once(task.instance):
            load_compiler()  # which each member of the team needs
            serve_below(channel)
    if task.method.kind in ("auto", "engine"):
        RECEIVED.listen(lines)
    CLOCK.listen = lambda goes_on: report.send(Compiling(goes_on=goes_on))
    begin = prepare(task, report)
    CLOCK.stopped = True
    if task.deadline is not None:
        task = replace(task, deadline=task.deadline + CLOCK.total)
    report.ready()
    begin(task, report)


def describe_failure(error: BaseException) -> MethodFailed:
    """Return the event of an error that ends a method; the row keeps the printed traceback."""
    if isinstance(error, MemoryError):
        return MethodFailed(text="out of memory", status="memory_limit")
    if isinstance(error, NotApplicableError | EndlessLoopError | AdviceError):
        return MethodFailed(text=str(error), status="no_solution")
    if isinstance(error, OwnMethodError):
        if error.__cause__ is not None:
            traceback.print_exception(error.__cause__)
        return MethodFailed(text=str(error))
    traceback.print_exception(error)
    if why := describe_shortage(error):
        return MethodFailed(text=f"{LACKS}{why}")
    last = traceback.extract_tb(error.__traceback__)[-1]
    where = f"{Path(last.filename).name}:{last.lineno}"
    return MethodFailed(text=one_line(f"{where}: {type(error).__name__}: {error}"))
