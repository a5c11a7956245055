"""Runs one job in a process of its own, with hard limits on wall-clock time and memory."""

from __future__ import annotations

import contextlib
import json
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

#: How the process ended: by itself, at a limit, by a signal or error, or by Ctrl-C.
Ending = Literal["finished", "time_limit", "memory_limit", "crashed", "interrupted"]

_ROOT = Path(__file__).resolve().parent.parent
_POLL_SECONDS = 0.1


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
    started = time.monotonic()
    with subprocess.Popen(
        [sys.executable, "-m", "runs.worker"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        cwd=_ROOT,
        env=os.environ | {"PYTHONPATH": str(_ROOT), "PYTHONUNBUFFERED": "1"},
        text=True,
        start_new_session=True,
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        watch = _Watch(process.pid)
        lines: queue.SimpleQueue[str | None] = queue.SimpleQueue()
        reader = threading.Thread(target=_read_lines, args=(process.stdout, lines), daemon=True)
        reader.start()
        ending: Ending = "finished"
        try:
            with contextlib.suppress(BrokenPipeError):
                process.stdin.write(job.to_line())
                process.stdin.flush()
            while True:
                idle()
                line = _next_line(lines)
                if line is None:
                    break
                _deliver(line, on_event)
                if watch.exceeds(job.memory_limit):
                    ending = "memory_limit"
                    break
                if time.monotonic() - started > job.seconds + grace:
                    ending = "time_limit"
                    break
        except KeyboardInterrupt:
            ending = "interrupted"
        finally:
            if ending != "finished":
                kill_tree(process.pid)
            process.stdin.close()
            process.wait()
        reader.join(timeout=5)
        while (line := _next_line(lines)) not in (None, ""):
            _deliver(line or "", on_event)
    detail = ""
    if ending == "finished" and process.returncode != 0:
        ending = "crashed"
        detail = _exit_reason(process.returncode)
    return Outcome(ending, detail, time.monotonic() - started, watch.peak)


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

    def exceeds(self, gigabytes: float | None) -> bool:
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


def _next_line(lines: queue.SimpleQueue[str | None]) -> str | None:
    """Return the next line, "" when there is none yet, None at the end of the stream."""
    try:
        return lines.get(timeout=_POLL_SECONDS)
    except queue.Empty:
        return ""


def _deliver(line: str, on_event: Callable[[Event], None]) -> None:
    # A process killed while it writes leaves half a line.
    with contextlib.suppress(json.JSONDecodeError, TypeError):
        on_event(Event(**json.loads(line)))


def _exit_reason(code: int) -> str:
    if code >= 0:
        return f"exit code {code}"
    with contextlib.suppress(ValueError):
        return signal.Signals(-code).name
    return f"signal {-code}"
