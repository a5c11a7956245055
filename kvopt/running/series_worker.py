"""The process of a series: many policies on one instance, one after the other.

It reads two lines from standard input: the task of the first method, and as JSON all methods
(``Method.document``).  Imports and kernels are paid for once, and so is the relaxation that several
are advised by.  Before each method it sends ``Begun``, and ``Ready``
when that is prepared and its clock starts; what a method raises ends that method only.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Sequence
from dataclasses import replace

from instances.compiling import CLOCK
from kvopt.methods.grammar import method_of_document
from kvopt.methods.method import Method
from kvopt.running.events import Event, Relaxation, Report
from kvopt.running.limits import LEAST_SHARE, share
from kvopt.running.task import Task
from kvopt.running.worker import leave, open_report, prepare, telling_failures


def main() -> None:
    """Carry out the methods of a series; the process ends at once after the last one."""
    report = open_report()
    with telling_failures(report):
        task = Task.from_line(sys.stdin.readline())
        CLOCK.listen = report.compiling
        methods = [method_of_document(each) for each in json.loads(sys.stdin.readline())]
        _run_all(task, methods, report)
    leave(report)


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
        with telling_failures(told):
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


if __name__ == "__main__":
    main()
