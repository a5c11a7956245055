"""The process of a series: many policies on one instance, one after the other.

It reads two lines from standard input: the task of the first method, and as JSON the text and the
path of each (``Task.method``, ``Task.method_path``), and whether its own start, the first of the
series, may put off the deadline.  Imports and kernels are paid for once, and so
is the relaxation that several are advised by.  Before each method it sends ``Begun``, and ``Ready``
when that is prepared and its clock starts; what a method raises ends that method only.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Sequence
from dataclasses import replace

from kvopt.running.events import Event, Relaxation, Report
from kvopt.running.kernel import process_age
from kvopt.running.limits import LEAST_SHARE, late_start, share
from kvopt.running.task import Task
from kvopt.running.worker import leave, open_report, prepare, telling_failures


def main() -> None:
    """Carry out the methods of a series; the process ends at once after the last one."""
    report = open_report()
    with telling_failures(report):
        task = Task.from_line(sys.stdin.readline())
        each, is_first = json.loads(sys.stdin.readline())
        _run_all(task, each, is_first, report)
    leave(report)


def _run_all(task: Task, each: Sequence[tuple[str, str]], is_first: bool, report: Report) -> None:
    advice = task.expected_starts

    def send(event: Event) -> None:
        nonlocal advice
        if isinstance(event, Relaxation) and event.expected_starts:
            advice = list(event.expected_starts)
        report.sink(event)

    told = report.through(send)
    for position, (method, path) in enumerate(each):
        if position and _is_over(task):
            return
        told.begun(method)
        with telling_failures(told):
            one = replace(task, method=method, method_path=path, expected_starts=advice)
            begun = time.monotonic()
            run = prepare(one)
            if task.deadline is not None:
                # What takes too long here compiles, which is nobody's fault.
                whole = is_first and position == 0
                took = process_age() if whole else time.monotonic() - begun
                deadline = task.deadline + late_start(one, took)
                task = replace(task, deadline=deadline)
                limit = share(one, deadline - time.monotonic(), len(each) - position)
                one = replace(one, deadline=deadline, time_limit=limit)
            told.ready()
            run(one, told)


def _is_over(task: Task) -> bool:
    return task.deadline is not None and task.deadline - time.monotonic() < LEAST_SHARE


if __name__ == "__main__":
    main()
