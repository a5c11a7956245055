"""Processes of their own, with hard limits on wall-clock time and memory."""

from __future__ import annotations

import contextlib
import json
import math
import os
import queue
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Literal

import psutil

from runs.job import Event, Job

#: How the process ended: by itself, at a limit, by a signal or error, by Ctrl-C, or because the
#: parent had what it wanted.
Ending = Literal["finished", "time_limit", "memory_limit", "crashed", "interrupted", "stopped"]

_ROOT = Path(__file__).resolve().parent.parent
_POLL_SECONDS = 0.1
#: How long a process that has said its last word may take to exit.
_EXIT_SECONDS = 10


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
    return worker.close(ending, on_event)


class Process:
    """A Python module in a process of its own; it starts at once and sends events.

    Parameters
    ----------
    module
        What is run; it reads one line from standard input and writes events to standard output.
    line
        That line.
    memory_limit
        Gigabytes of resident memory of the process and all that it starts.
    """

    def __init__(self, module: str, line: str, memory_limit: float | None) -> None:
        self._started = time.monotonic()
        self._memory_limit = memory_limit
        self._process = subprocess.Popen(
            [sys.executable, "-m", module],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            cwd=_ROOT,
            env=os.environ | {"PYTHONPATH": _python_path(), "PYTHONUNBUFFERED": "1"},
            text=True,
            encoding="utf-8",
            errors="replace",
            start_new_session=True,
        )
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._watch = _Watch(self._process.pid)
        self._lines: queue.SimpleQueue[str | None] = queue.SimpleQueue()
        self._reader = threading.Thread(
            target=_read_lines, args=(self._process.stdout, self._lines), daemon=True
        )
        self._reader.start()
        with contextlib.suppress(BrokenPipeError):
            self._process.stdin.write(line)
            self._process.stdin.flush()

    def age(self) -> float:
        """Return the seconds since the process was started."""
        return time.monotonic() - self._started

    def exceeds_memory(self) -> bool:
        """Whether the process tree holds more resident memory than the limit."""
        return self._watch.exceeds(self._memory_limit)

    def take(self, on_event: Callable[[Event], None], wait: float = _POLL_SECONDS) -> bool:
        """Hand over the next event if one comes within ``wait`` seconds; False at the end."""
        try:
            line = self._lines.get(timeout=wait)
        except queue.Empty:
            return True
        if line is None:
            return False
        try:
            event = Event(**json.loads(line))
        except (json.JSONDecodeError, TypeError):
            # A process killed while it writes leaves half a line.
            return True
        on_event(event)
        return True

    def close(self, ending: Ending, on_event: Callable[[Event], None]) -> Outcome:
        """Kill the process unless it has finished, and hand over the events that are left."""
        if ending != "finished":
            kill_tree(self._process.pid)
        else:
            # Its input must stay open until it has ended: a closed one tells it that it is alone.
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(timeout=_EXIT_SECONDS)
        _kill_session(self._process.pid)
        assert self._process.stdin is not None
        with contextlib.suppress(BrokenPipeError):
            self._process.stdin.close()
        self._process.wait()
        self._reader.join(timeout=5)
        assert self._process.stdout is not None
        self._process.stdout.close()
        while not self._lines.empty():
            self.take(on_event)
        detail = ""
        if ending == "finished" and self._process.returncode != 0:
            ending = "crashed"
            detail = _exit_reason(self._process.returncode)
        return Outcome(ending, detail, self.age(), self._watch.peak)


class Worker(Process):
    """An engine's process with one job."""

    def __init__(self, job: Job) -> None:
        super().__init__("runs.worker", job.to_line(), job.memory_limit)
        self.job = job


def _python_path() -> str:
    """Return where modules are looked for: this project's first, then the user's."""
    return os.pathsep.join([str(_ROOT), *filter(None, [os.environ.get("PYTHONPATH")])])


def kill_tree(pid: int) -> None:
    """Kill a process and everything it started; no error if it is already gone."""
    with contextlib.suppress(psutil.NoSuchProcess):
        root = psutil.Process(pid)
        for process in [*root.children(recursive=True), root]:
            with contextlib.suppress(psutil.NoSuchProcess):
                process.kill()


def _kill_session(pid: int) -> None:
    """Kill what a process that has ended left behind in the session that it led."""
    if hasattr(os, "killpg"):
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(pid, signal.SIGKILL)


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


def _read_lines(stream: IO[str], lines: queue.SimpleQueue[str | None]) -> None:
    with contextlib.suppress(ValueError, OSError):
        for line in stream:
            lines.put(line)
    lines.put(None)


def _exit_reason(code: int) -> str:
    if code >= 0:
        return f"exit code {code}"
    with contextlib.suppress(ValueError):
        return signal.Signals(-code).name
    return f"signal {-code}"
