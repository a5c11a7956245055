"""Process of a run: reads a task, sends events while its method works.

After ``Ready`` the clock of the run starts; ``Peak`` comes last.  Lines after the task tell of
schedules (``kvopt.runs.beside``).
"""

from __future__ import annotations

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
from heuristics.rounds import EndlessLoopError
from heuristics.simulator import AdviceError
from instances import Instance, Request
from kvopt.methods.grammar import read_method
from kvopt.methods.own import OwnMethodError
from kvopt.runs.beside import BESIDE
from kvopt.runs.events import Compiling, Event, Peak, Report, event_line
from kvopt.runs.fork_server import serve_below
from kvopt.runs.preparing import prepare
from kvopt.runs.task import Task
from support.compiling import CLOCK, load_compiler
from support.machine import LACKS, lacking
from support.text import one_line


def run(lines: Iterator[str], channel: socket.socket) -> NoReturn:
    """Carry out the task of the first line; the process ends at once after it."""
    report = report_on(channel)
    with telling_failures(report):
        task = Task.from_line(next(lines))
        if task.method.kind == "auto" or task.method.joined:
            _begin_team(task, channel)
        if task.method.kind in ("auto", "engine"):
            BESIDE.listen(lines)
        CLOCK.listen = lambda goes_on: report.send(Compiling(goes_on=goes_on))
        begin = prepare(task, report)
        CLOCK.stopped = True
        if task.deadline is not None:
            task = replace(task, deadline=task.deadline + CLOCK.total)
        report.ready()
        begin(task, report)
    leave(report)


def rehearse() -> None:
    """Run a policy on one request, so that forks of this process have what every run loads."""
    task = Task(Instance("one", 2, (Request(0, 0, 1, 1),)), "one", read_method("svf"))
    report = Report(lambda event: (event_line(event), None)[1])
    prepare(Task.from_line(task.to_line()), report)(task, report)


def _begin_team(task: Task, channel: socket.socket) -> None:
    """Fork the server of the processes that will work beside this one, if any."""
    from kvopt.engines.parts.counting import ends_at_once  # what no policy needs

    assert task.instance is not None
    if not task.batch_time and not ends_at_once(task.instance):
        load_compiler()  # which each of them needs
        serve_below(channel)


def report_on(channel: socket.socket) -> Report:
    """Return what sends events to the parent, and set this process up for running a method."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with contextlib.suppress(OSError):  # Linux ends this one first when memory is over
        Path("/proc/self/oom_score_adj").write_text("1000", encoding="ascii")
    one_at_a_time = threading.Lock()

    def send(event: Event) -> None:
        with one_at_a_time:
            channel.sendall(event_line(event).encode())

    return Report(send)


@contextlib.contextmanager
def telling_failures(report: Report) -> Iterator[None]:
    """Send whatever a method raises as its failure, and go on."""
    try:
        yield
    except MemoryError:
        report.failure("out of memory", "memory_limit")
    except OwnMethodError as error:
        if error.__cause__ is not None:  # the row keeps what is printed
            traceback.print_exception(error.__cause__)
        report.failure(str(error), "error")
    except (NotApplicableError, EndlessLoopError, AdviceError) as error:
        report.failure(str(error), "no_solution")
    except (Exception, SystemExit) as error:
        traceback.print_exc()
        why = lacking(error)
        *_, (frame, line) = traceback.walk_tb(error.__traceback__)
        where = f"{Path(frame.f_code.co_filename).name}:{line}"
        told = f"{LACKS}{why}" if why else f"{where}: {type(error).__name__}: {error}"
        report.failure(one_line(told), "error")


def leave(report: Report) -> NoReturn:
    """Say the last word and end the process."""
    kilobytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss  # bytes on macOS
    report.send(Peak(bytes=kilobytes * (1024 if sys.platform == "linux" else 1)))
    # Neither threads that a method has left behind nor the interpreter's own end are waited for.
    sys.stderr.flush()
    os._exit(0)
