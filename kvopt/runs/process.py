"""Processes of their own, with hard limits on wall-clock time and memory."""

from __future__ import annotations

import contextlib
import json
import math
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import psutil

from kvopt.runs.begun import WORKER, begun
from kvopt.runs.events import Done, Event, Peak, read_event
from kvopt.runs.pipe import LinePipe, Tail
from kvopt.runs.task import Task

if TYPE_CHECKING:
    from kvopt.methods.method import Method

#: How the process ended: by itself, at a limit, by a signal or error, by Ctrl-C, or because the
#: parent had what it wanted.
Ending = Literal["finished", "time_limit", "memory_limit", "crashed", "interrupted", "stopped"]

_POLL_SECONDS = 0.1
#: Niceness of a process that goes behind others.
_BEHIND = 10
#: How long a process that has said its last word may take to exit, and one that has closed its pipe
#: without it, or is being killed.
_EXIT_SECONDS, _GONE_SECONDS = 10, 1.5
#: Characters of what a process has printed that are kept, the last ones.
_OUTPUT_KEPT = 4_000
#: How long what a process had sent before its end may take to be looked at.
_DRAIN_SECONDS = 1.0
#: How often memory is looked at anew where a process has ended during the look.
_LOOKS = 3
#: How much longer than a look memory is not looked at after it where no limit is at stake, and the
#: longest of that in seconds.
_REST, _LONGEST_REST = 100, 5.0
#: Bytes of the longest event, and what each request adds: starts, attempts and their certificates.
_LONGEST_LINE = 64_000_000
_BYTES_A_REQUEST = 1_000


@dataclass(frozen=True)
class Outcome:
    """How an engine's process ended, and what it cost.

    ``peak_memory`` is the largest resident memory of the process tree that was seen, in bytes, a
    page that processes share counted once where the system tells;
    ``output`` the last lines that it has printed, on either stream.
    """

    ending: Ending
    detail: str
    seconds: float
    peak_memory: int
    output: str = ""


class Process:
    """A Python module in a process of its own; it starts at once and sends events.

    It ends with this process, whatever ends that, and all that it starts ends with it
    (``kvopt.runs.reaper``).

    Parameters
    ----------
    module
        What is run; it reads lines from standard input and writes events to standard output.
    lines
        Those lines.  What it prints on standard error is kept, the end of it.
    memory_limit
        Gigabytes of resident memory of the process and all that it starts.
    requests
        Requests of the instance, which decide how long an honest event can be.
    hears
        Whether :meth:`tell` may be called; otherwise standard input ends after the lines.
    """

    def __init__(
        self,
        module: str,
        lines: str,
        memory_limit: float | None,
        requests: int,
        *,
        hears: bool = False,
    ) -> None:
        self._begun = begun(module)
        self._process = self._begun.process
        self._watch = _Watch(self._process.pid, memory_limit)
        if memory_limit is not None:
            # What has begun ahead may be done before the next look.
            self._watch.look()
        self._begun.hand(lines)
        if not hears:
            self._begun.hand_no_more()
        self._tail = Tail(self._begun.printed, _OUTPUT_KEPT)
        self._lines = LinePipe(self._begun.events, _LONGEST_LINE + _BYTES_A_REQUEST * requests)
        self._strange = 0
        self._last_word = self._at_its_end = False

    @staticmethod
    def of(task: Task, methods: Sequence[Method] = (), *, hears: bool = False) -> Process:
        """Start the process of a task, or of many methods that are run as it says."""
        assert task.instance is not None
        lines = task.to_line() + json.dumps([each.document() for each in methods]) + "\n"
        return Process(WORKER, lines, task.memory_limit, len(task.instance), hears=hears)

    def tell(self, starts: Sequence[int]) -> None:
        """Tell it of a better schedule, by its starts (``kvopt.runs.beside``)."""
        self._begun.hand(json.dumps(list(starts)) + "\n")

    def age(self) -> float:
        """Return the seconds since the process was started."""
        return time.monotonic() - self._begun.started

    def exceeds_memory(self) -> bool:
        """Whether the process tree holds more resident memory than the limit."""
        return self._watch.exceeds()

    def step_back(self) -> None:
        """Let other processes go first where processors are short, as far as the system allows."""
        with contextlib.suppress(psutil.NoSuchProcess):
            root = psutil.Process(self._process.pid)
            for process in (root, *root.children(recursive=True)):
                with contextlib.suppress(psutil.NoSuchProcess, psutil.AccessDenied):
                    process.nice(max(_BEHIND, process.nice()))

    def take(self, on_event: Callable[[Event], None], wait: float = _POLL_SECONDS) -> bool:
        """Hand over the next event if one comes within ``wait`` seconds; False at the end."""
        line = self._lines.take(wait)
        if line is None:
            return False
        if line:
            event = read_event(line)
            if event is None:
                self._strange += 1
            else:
                self._last_word = isinstance(event, Done | Peak)
                self._at_its_end |= isinstance(event, Peak)
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
        self._begun.hand_no_more()
        # The reaper kills what is left; if it cannot, it is killed with all that is below it.
        os.close(self._begun.lifeline)
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
        # After its last word a process has nothing left to do but to end, in whatever way.
        if ending == "finished" and self._process.returncode != 0 and not self._at_its_end:
            ending = "crashed"
            detail = _exit_reason(self._process.returncode)
        return Outcome(ending, detail, self.age(), self._watch.peak, self._tail.close())


def kill_tree(pid: int) -> None:
    """Kill a process and everything it started; no error if it is already gone."""
    with contextlib.suppress(psutil.NoSuchProcess):
        root = psutil.Process(pid)
        for process in [*root.children(recursive=True), root]:
            with contextlib.suppress(psutil.NoSuchProcess):
                process.kill()


class _Watch:
    """Resident memory of a process tree; virtual memory would count stacks and libraries.

    A page that processes share counts once, in equal shares (proportional set size), where the
    system tells.  What no process maps any more, as a segment of shared memory, is not seen.
    """

    def __init__(self, pid: int, gigabytes: float | None) -> None:
        self.peak = 0
        self._pid = pid
        self._limit = math.inf if gigabytes is None else gigabytes * 1e9
        self._next = -math.inf

    def exceeds(self) -> bool:
        # Looking goes through all processes of the machine: not once for every event of a burst.
        if time.monotonic() > self._next:
            self.look()
        return self.peak > self._limit

    def look(self) -> None:
        began = time.monotonic()
        with contextlib.suppress(psutil.NoSuchProcess):
            self.peak = max(self.peak, self._held())
        ended = time.monotonic()
        free = self._limit == math.inf
        rest = min(_REST * (ended - began), _LONGEST_REST) if free else 0.0
        self._next = ended + max(_POLL_SECONDS / 2, rest)

    def _held(self) -> int:
        """Return the bytes that the tree holds, and no more than the peak if that is sure."""
        least = sys.maxsize
        for _ in range(_LOOKS):
            root = psutil.Process(self._pid)
            resident = {each: _resident(each) for each in (root, *root.children(recursive=True))}
            now = sum(resident.values())
            if now > self.peak:
                # Shares take a look at every page, and are less: only where they decide something.
                now = sum(min(rss, _share(process)) for process, rss in resident.items())
            least = min(least, now)
            # The share of one that ends meanwhile is counted again in those of the others.
            gone = any(rss and not _resident(process) for process, rss in resident.items())
            if least <= self.peak or not gone:
                break
        return least


def _resident(process: psutil.Process) -> int:
    with contextlib.suppress(psutil.NoSuchProcess, psutil.AccessDenied):
        return int(process.memory_info().rss)
    return 0


def _share(process: psutil.Process) -> int:
    """Return the proportional set size of a process in bytes, where Linux tells, 0 of one gone."""
    with contextlib.suppress(OSError, ValueError):
        rollup = Path(f"/proc/{process.pid}/smaps_rollup").read_text(encoding="ascii")
        for line in rollup.splitlines():
            if line.startswith("Pss:"):
                return int(line.split()[1]) * 1024
    # Asked again: what has no share to read may have ended since.
    return _resident(process)


def _exit_reason(code: int) -> str:
    if code >= 0:
        return f"exit code {code}"
    with contextlib.suppress(ValueError):
        return signal.Signals(-code).name
    return f"signal {-code}"
