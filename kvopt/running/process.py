"""Processes of their own, with hard limits on wall-clock time and memory."""

from __future__ import annotations

import contextlib
import math
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import IO, Literal

import psutil

from instances.checkout import CHECKOUT, ROOT
from kvopt.places import python_path
from kvopt.running.job import Event, Job
from kvopt.running.pipe import LinePipe

#: How the process ended: by itself, at a limit, by a signal or error, by Ctrl-C, or because the
#: parent had what it wanted.
Ending = Literal["finished", "time_limit", "memory_limit", "crashed", "interrupted", "stopped"]

_POLL_SECONDS = 0.1
#: How long a process that has said its last word may take to exit, and one that has closed its pipe
#: without it, or is being killed.
_EXIT_SECONDS, _GONE_SECONDS = 10, 1.5
#: The events that come last.
_LAST_WORDS = ("done", "peak")
#: How long what a process had sent before its end may take to be looked at.
_DRAIN_SECONDS = 1.0
#: Bytes of the longest event, and what each request adds: starts, attempts and their certificates.
_LONGEST_LINE = 64_000_000
_BYTES_A_REQUEST = 1_000


@dataclass(frozen=True)
class Outcome:
    """How an engine's process ended, and what it cost.

    ``peak_memory`` is the largest resident memory of the process tree that was seen, in bytes.
    """

    ending: Ending
    detail: str
    seconds: float
    peak_memory: int


def run_job(
    job: Job,
    on_event: Callable[[Event], None],
    grace: float = 0.5,
    idle: Callable[[], None] = lambda: None,
) -> Outcome:
    """Run a job in its own process and hand every event to ``on_event`` as it comes.

    The process is killed ``grace`` seconds after ``job.seconds``, or when its resident memory
    exceeds ``job.memory_limit`` gigabytes, or on Ctrl-C (the second Ctrl-C goes through).
    ``idle`` is called about ten times a second.

    Raises
    ------
    KeyboardInterrupt
        Only on a second Ctrl-C while the process is being stopped.
    """
    worker = Worker(job)
    ending: Ending = "finished"
    try:
        while True:
            idle()
            if not worker.take(on_event):
                break
            if worker.exceeds_memory():
                ending = "memory_limit"
                break
            if worker.age() > job.seconds + grace:
                ending = "time_limit"
                break
    except KeyboardInterrupt:
        ending = "interrupted"
    except BaseException:
        worker.close("stopped", lambda _: None)
        raise
    return worker.close(ending, on_event)


class Process:
    """A Python module in a process of its own; it starts at once and sends events.

    It ends with this process, whatever ends that, and all that it starts ends with it
    (``kvopt.running.keeper``).

    Parameters
    ----------
    module
        What is run; it reads one line from standard input and writes events to standard output.
    line
        That line.
    memory_limit
        Gigabytes of resident memory of the process and all that it starts.
    requests
        Requests of the instance, which decide how long an honest event can be.
    """

    def __init__(self, module: str, line: str, memory_limit: float | None, requests: int) -> None:
        self._started = time.monotonic()
        self._memory_limit = memory_limit
        events, sent = os.pipe()
        lifeline, self._lifeline = os.pipe()
        try:
            with _file_holding(line) as task:
                self._process = subprocess.Popen(
                    # -P: nothing of the current folder is taken for one of the project's modules.
                    [sys.executable, "-P", "-m", "kvopt.running.keeper", str(lifeline), module],
                    stdin=task,
                    stdout=sent,
                    stderr=subprocess.DEVNULL,
                    cwd=ROOT if CHECKOUT else None,
                    env=os.environ | {"PYTHONPATH": python_path(), "PYTHONUNBUFFERED": "1"},
                    start_new_session=True,
                    pass_fds=[lifeline],
                )
        except BaseException:
            os.close(events)
            os.close(self._lifeline)
            raise
        finally:
            os.close(sent)
            os.close(lifeline)
        self._watch = _Watch(self._process.pid)
        self._lines = LinePipe(events, _LONGEST_LINE + _BYTES_A_REQUEST * requests)
        self._strange = 0
        self._last_word = False

    def age(self) -> float:
        """Return the seconds since the process was started."""
        return time.monotonic() - self._started

    def exceeds_memory(self) -> bool:
        """Whether the process tree holds more resident memory than the limit."""
        return self._watch.exceeds(self._memory_limit)

    def take(self, on_event: Callable[[Event], None], wait: float = _POLL_SECONDS) -> bool:
        """Hand over the next event if one comes within ``wait`` seconds; False at the end."""
        line = self._lines.take(wait)
        if line is None:
            return False
        if line:
            event = Event.from_line(line)
            if event is None:
                self._strange += 1
            else:
                self._last_word = event.kind in _LAST_WORDS
                on_event(event)
        return True

    @property
    def strange(self) -> int:
        """Number of lines that were no events, or longer than any event can be."""
        return self._strange + self._lines.dropped

    def close(self, ending: Ending, on_event: Callable[[Event], None]) -> Outcome:
        """Kill the process unless it has finished, and hand over the events that are left.

        Of a process that has sent more than can be looked at in ``_DRAIN_SECONDS`` the rest is
        lost.
        """
        if ending == "finished":
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(_EXIT_SECONDS if self._last_word else _GONE_SECONDS)
        # The keeper kills what is left; if it cannot, it is killed with all that is below it.
        os.close(self._lifeline)
        drained = time.monotonic() + _DRAIN_SECONDS
        while time.monotonic() < drained and self.take(on_event, wait=0.01):
            pass
        self._lines.close()
        try:
            self._process.wait(_GONE_SECONDS)
        except subprocess.TimeoutExpired:
            kill_tree(self._process.pid)
            self._process.wait()
        detail = ""
        if ending == "finished" and self._process.returncode != 0:
            ending = "crashed"
            detail = _exit_reason(self._process.returncode)
        return Outcome(ending, detail, self.age(), self._watch.peak)


class Worker(Process):
    """An engine's process with one job."""

    def __init__(self, job: Job) -> None:
        super().__init__("kvopt.running.worker", job.to_line(), job.memory_limit, len(job.instance))
        self.job = job


def kill_tree(pid: int) -> None:
    """Kill a process and everything it started; no error if it is already gone."""
    with contextlib.suppress(psutil.NoSuchProcess):
        root = psutil.Process(pid)
        for process in [*root.children(recursive=True), root]:
            with contextlib.suppress(psutil.NoSuchProcess):
                process.kill()


class _Watch:
    """Resident memory of a process tree; virtual memory would count stacks and libraries."""

    def __init__(self, pid: int) -> None:
        self.peak = 0
        self._pid = pid
        self._looked = -math.inf

    def exceeds(self, gigabytes: float | None) -> bool:
        # Looking goes through all processes of the machine: not once for every event of a burst.
        if time.monotonic() - self._looked < _POLL_SECONDS / 2:
            return False
        self._looked = time.monotonic()
        now = 0
        with contextlib.suppress(psutil.NoSuchProcess):
            root = psutil.Process(self._pid)
            for process in [root, *root.children(recursive=True)]:
                with contextlib.suppress(psutil.NoSuchProcess, psutil.AccessDenied):
                    now += process.memory_info().rss
        self.peak = max(self.peak, now)
        return gigabytes is not None and now > gigabytes * 1e9


def _file_holding(line: str) -> IO[bytes]:
    """Return an open file without a name that holds a line, to be read from its beginning.

    A pipe would have the caller wait for a process that does not read.
    """
    file: IO[bytes]
    if hasattr(os, "memfd_create"):
        file = os.fdopen(os.memfd_create("kvopt-task"), "w+b")
    else:
        file = tempfile.TemporaryFile()  # noqa: SIM115
    file.write(line.encode())
    file.seek(0)
    return file


def _exit_reason(code: int) -> str:
    if code >= 0:
        return f"exit code {code}"
    with contextlib.suppress(ValueError):
        return signal.Signals(-code).name
    return f"signal {-code}"
