"""Reads an instance file or a trace in a process with limits: a file may be endless."""

from __future__ import annotations

import base64
import contextlib
import os
import pickle
import socket
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from instances import Instance
from instances.bulk_requests import instance_columns, restore_instance
from kvopt.runs.events import DocumentSent, event_line
from kvopt.runs.process import call_in_process
from kvopt.runs.serving_imports import read_input

if TYPE_CHECKING:
    from serving.traces import TraceOptions, TraceReport

#: Bytes of the longest answer, and the least memory limit of a process that reads, gigabytes.
_LONGEST, _LEAST_MEMORY = 1 << 33, 0.5


class UnreadError(Exception):
    """An input could not be read within a limit; the message says which."""


def read_within(
    path: str, options: TraceOptions, until: float, memory_limit: float | None
) -> tuple[Instance, TraceReport | None]:
    """Read an instance file, or a trace with its report (``serving.traces.read_trace.read_input``).

    The process that reads is killed at ``until`` (``time.monotonic``), or beyond the memory limit.
    An UnreadError: it was killed, or has died.
    """
    seconds = until - time.monotonic()
    held = None if memory_limit is None else max(memory_limit, _LEAST_MEMORY)
    folder = os.curdir
    with contextlib.suppress(FileNotFoundError):  # an instance of the library needs none
        folder = os.getcwd()
    outcome, events = call_in_process(
        "kvopt.runs.read_in_process:read", _packed((folder, path, options)), seconds, held,
        longest=_LONGEST, reads=True,
    )  # fmt: skip
    if outcome.ending == "interrupted":
        raise KeyboardInterrupt
    answers = [each.document for each in events if isinstance(each, DocumentSent)]
    if not answers:
        raise UnreadError(outcome.detail or outcome.ending)
    kind, content, more = _unpacked(answers[0]["packed"])
    if kind is not None:
        error: Exception = kind.__new__(kind, *content)
        vars(error).update(more)
        raise error
    return restore_instance(content), more


def read(lines: Iterator[str], channel: socket.socket) -> None:
    """Read the input that a line names; send the instance and the report, or what was raised."""
    answer: tuple[Any, Any, Any]
    try:
        folder, path, options = _unpacked(next(lines))
        os.chdir(folder)
        instance, report = read_input(path, options)
        answer = None, instance_columns(instance), report
    except Exception as error:
        answer = type(error), error.args, vars(error)
    channel.sendall(event_line(DocumentSent(document={"packed": _packed(answer)})).encode())


def _packed(value: object) -> str:
    return base64.b64encode(pickle.dumps(value)).decode()


def _unpacked(text: str) -> Any:
    return pickle.loads(base64.b64decode(text))
