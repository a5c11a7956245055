"""Custom methods in any language: a program that reads an instance and prints schedules.

Its standard input is the instance (``kvopt.instance/1``).  Each line that it prints may be a
schedule, and the best counts: a list of start rounds in the instance's order, as ``[0, 3, 5]``, or
a ``kvopt.schedule/1`` object (in real time: with a clock).  Other lines are notes.  Its environment
has ``KVOPT_SECONDS`` (its limit), ``KVOPT_SEED``, ``KVOPT_THREADS`` and ``KVOPT_BATCH_TIME`` (empty
in rounds).  It runs below the process of the run, under the same limits, and ends with it.
"""

import json
import os
import select
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import BinaryIO

from instances import Instance
from instances.instance_files import format_instance
from kvopt.methods.custom_python import OwnMethodError, ResultSender
from kvopt.runs.events import EventReport
from kvopt.runs.task import Task
from schedules.schedule_files import SCHEMA, parse_schedule
from support.json_files import parse_object
from support.machine_errors import describe_shortage
from support.message_text import one_line

#: Bytes that a pipe holds.
_PIPE_BYTES = 1 << 16
_POLL_SECONDS = 0.05


def load_program(path: Path) -> Callable[[Task, EventReport], None]:
    """Return a function that runs a program on a task; an OwnMethodError if it fails."""

    def run(task: Task, report: EventReport) -> None:
        assert task.instance is not None
        send, found = ResultSender(report), False
        with tempfile.TemporaryFile() as given:
            given.write(format_instance(task.instance).encode())
            given.seek(0)
            with _start_program(path, given, task) as process:
                try:
                    for line in _read_lines(process):
                        if line.lstrip()[:1] in (b"[", b"{"):
                            found = True
                            _send_schedule(send, path, line, task.instance)
                        else:
                            print(line.decode("utf-8", "replace"), file=sys.stderr)
                except BaseException:
                    process.kill()
                    raise
                code = process.wait()
        if code:
            how = f"with exit code {code}" if code > 0 else f"by signal {-code}"
            raise OwnMethodError(f"{path.name}: ended {how}")
        if not found:
            raise OwnMethodError(f"{path.name}: expected a schedule on a line, found none")
        report.done(solver=path.name)

    return run


def _start_program(path: Path, given: BinaryIO, task: Task) -> subprocess.Popen[bytes]:
    environment = os.environ | {
        "KVOPT_SECONDS": f"{task.time_limit:g}",
        "KVOPT_SEED": str(task.seed),
        "KVOPT_THREADS": str(task.threads),
        "KVOPT_BATCH_TIME": task.batch_time,
    }
    try:
        return subprocess.Popen(
            [path], stdin=given, stdout=subprocess.PIPE, cwd=path.parent, env=environment
        )
    except OSError as error:
        if describe_shortage(error):
            raise
        raise OwnMethodError(f"{path.name}: cannot be started: {error.strerror}") from None


def _read_lines(process: subprocess.Popen[bytes]) -> Iterator[bytes]:
    """Yield the lines of a program until its end; its children may hold the output open longer."""
    assert process.stdout is not None
    pipe, rest, left = process.stdout.fileno(), bytearray(), _PIPE_BYTES
    while left > 0:
        # Ask first, then read: all that the program has printed is in the pipe.
        ended = process.poll() is not None
        if not select.select([pipe], [], [], 0 if ended else _POLL_SECONDS)[0]:
            if ended:
                break
            continue
        piece = os.read(pipe, _PIPE_BYTES)
        if not piece:
            break
        if ended:
            left -= len(piece)
        rest += piece
        if b"\n" in piece:
            *lines, rest = rest.split(b"\n")
            yield from map(bytes, lines)
    if rest:
        yield bytes(rest)


def _send_schedule(send: ResultSender, path: Path, line: bytes, instance: Instance) -> None:
    try:
        if line.lstrip().startswith(b"["):
            send("schedule", starts=json.loads(line))
            return
        schedule = parse_schedule(parse_object(line.decode(), SCHEMA))
    except (ValueError, TypeError, RecursionError) as error:
        raise OwnMethodError(one_line(f"{path.name}: {error}")) from None
    if schedule.instance_sha256 != instance.sha256:
        raise OwnMethodError(f"{path.name}: a schedule of another instance, {schedule.instance!r}")
    send("schedule", starts=schedule)
