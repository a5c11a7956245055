"""The process of a run: reads a task from standard input, sends events while its method works.

After ``Ready`` the clock of the run starts; ``Peak`` comes last.

A second line holds a list of methods as JSON (``Method.document``).  Where there are any they run
one after the other: the task is that of the first.  Imports and kernels are paid for once, and so
is the relaxation that several are advised by.  Before each method it sends ``Begun``, and ``Ready``
when that is prepared and its clock starts; what a method raises ends that method only.  Lines after
these tell of schedules (``kvopt.runs.beside``).
"""

from __future__ import annotations

import json
import os
import signal
import sys
import time
import traceback
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import NoReturn

from heuristics.policy import NotApplicableError
from heuristics.rounds import EndlessLoopError
from heuristics.simulator import AdviceError
from kvopt.methods.grammar import method_of_document
from kvopt.methods.method import Method
from kvopt.methods.own import OwnMethodError
from kvopt.runs.beside import BESIDE
from kvopt.runs.events import Event, Relaxation, Report, event_line
from kvopt.runs.limits import LEAST_SHARE, share
from kvopt.runs.preparing import prepare
from kvopt.runs.task import Task
from support.compiling import CLOCK
from support.machine import LACKS, lacking
from support.text import one_line


def main() -> None:
    """Carry out one task, or a series; the process ends at once after the last method."""
    report = _open_report()
    with _telling_failures(report):
        task = Task.from_line(sys.stdin.readline())
        CLOCK.listen = report.compiling
        if methods := json.loads(sys.stdin.readline()):
            _run_all(task, [method_of_document(each) for each in methods], report)
        else:
            BESIDE.listen(sys.stdin)
            _run_one(task, report)
    _leave(report)


def _run_one(task: Task, report: Report) -> None:
    run = prepare(task, report)
    CLOCK.stop()
    if task.deadline is not None:
        task = replace(task, deadline=task.deadline + CLOCK.total)
    report.ready()
    run(task, report)


def _run_all(task: Task, methods: Sequence[Method], report: Report) -> None:
    advice = task.expected_starts

    def send(event: Event) -> None:
        nonlocal advice
        if isinstance(event, Relaxation) and event.expected_starts:
            advice = list(event.expected_starts)
        report.sink(event)

    told = report.through(send)
    for position, method in enumerate(methods):
        if position and _is_over(task):
            return
        told.begun(method.text)
        with _telling_failures(told):
            one = replace(task, method=method, expected_starts=advice)
            compiled = CLOCK.total
            CLOCK.go_on()
            try:
                run = prepare(one, told)
            finally:
                CLOCK.stop()
            if task.deadline is not None:
                deadline = task.deadline + CLOCK.total - compiled
                task = replace(task, deadline=deadline)
                limit = share(one, deadline - time.monotonic(), len(methods) - position)
                one = replace(one, deadline=deadline, time_limit=limit)
            told.ready()
            run(one, told)


def _is_over(task: Task) -> bool:
    return task.deadline is not None and task.deadline - time.monotonic() < LEAST_SHARE


def _open_report() -> Report:
    """Return what sends events to the parent, and set this process up for running methods."""
    # Libraries print to file descriptor 1; the event stream must hold nothing but events.
    events = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _be_the_first_to_go()

    def send(event: Event) -> None:
        # Flushed, so that a kill loses none.
        events.write(event_line(event))
        events.flush()

    return Report(send)


@contextmanager
def _telling_failures(report: Report) -> Iterator[None]:
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


def _leave(report: Report) -> NoReturn:
    """Say the last word and end the process."""
    report.peak(_peak_memory())
    # Neither threads that a method has left behind nor the interpreter's own end are waited for.
    sys.stderr.flush()
    os._exit(0)


def _be_the_first_to_go() -> None:
    """Have Linux choose this process, not the sweep's, when the machine runs out of memory."""
    try:
        Path("/proc/self/oom_score_adj").write_text("1000", encoding="ascii")
    except OSError:
        return


def _peak_memory() -> int:
    """Return the largest resident memory of this process so far in bytes, 0 where unknown."""
    try:
        for line in Path("/proc/self/status").read_text(encoding="ascii").splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) * 1024
    except (OSError, ValueError):
        pass
    return 0


if __name__ == "__main__":
    main()
