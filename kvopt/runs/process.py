"""Process of a run: a fork that gets lines and sends events, watched and ended from here."""

import contextlib
import json
import os
import select
import signal
import socket
import time
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Literal

import psutil

from kvopt.runs.events import Event, MethodDone, PeakMemory, read_event
from kvopt.runs.fork_server import fork_process
from kvopt.runs.memory_watch import MemoryWatch

#: Ends of a process: by itself, at a limit, by a signal or error, by Ctrl-C, or by the parent.
Ending = Literal["finished", "time_limit", "memory_limit", "crashed", "interrupted", "stopped"]

#: Seconds between two looks at the limits.
POLL_SECONDS = 0.1
#: Seconds to exit for a process after its last event, and for one that closes its channel before.
_EXIT_SECONDS, _GONE_SECONDS = 10, 1.5
#: Characters that are kept of what a process prints, the last ones.
_OUTPUT_KEPT = 4_000
#: Bytes that are read and sent at a time.
_CHUNK_BYTES, _SENT_BYTES = 1 << 16, 1 << 20


@dataclass(frozen=True)
class ProcessOutcome:
    """End and cost of a process; ``output`` has the last lines that it printed."""

    ending: Ending
    detail: str
    seconds: float
    peak_memory: int
    output: str = ""


class Process:
    """A function in a separate process; all that it starts ends with it, or with this process.

    ``call`` is ``module:function``.  The function gets an iterator of ``lines`` and the channel's
    socket, and writes events there, a line each, of ``longest`` bytes at most; ``strange`` counts
    other lines.  The memory limit, gigabytes, covers all that it starts.  If it ``reads``, it has
    standard input, and what a shell has opened.  If it ``yields``, others have the cores first.
    An OSError: no process or memory is left.
    """

    def __init__(
        self,
        call: str,
        lines: str,
        memory_limit: float | None = None,
        longest: int = 1 << 20,
        compiler: bool = False,
        *,
        reads: bool = False,
        yields: bool = False,
    ) -> None:
        self._started = time.monotonic()
        self._channel, self._control, self._printed = fork_process(compiler)
        self._status = bytearray()
        #: Functions that take chunks, by the descriptor, until its end.
        self._sources = {
            self._channel.fileno(): self._take_lines,
            self._control.fileno(): self._status.extend,
            self._printed: self._take_output,
        }
        self._memory = MemoryWatch(memory_limit)
        self.strange = 0
        self._longest, self._unended = longest, bytearray()
        self._lines: deque[bytearray] = deque()
        self._last_word = self._at_its_end = False
        self._output = b""
        first = {"call": call, "environment": dict(os.environ), "reads": reads, "yields": yields}
        self._unsent = bytearray(f"{json.dumps(first)}\n{lines}".encode())

    @property
    def ended(self) -> bool:
        """Return whether the process sends no more."""
        return self._channel.fileno() not in self._sources

    def send(self, line: str) -> None:
        """Queue a line for the process; a process that does not read delays no one."""
        self._unsent += f"{line}\n".encode()

    def age(self) -> float:
        """Return the seconds since the process was started."""
        return time.monotonic() - self._started

    def exceeds_memory(self) -> bool:
        """Return whether the process tree has held more resident memory than the limit."""
        return self._pid is not None and self._memory.exceeds(self._pid)

    def take(self, on_event: Callable[[Event], None]) -> None:
        """Hand over the events that have come (see :func:`wait_for`)."""
        while self._lines:
            line = self._lines.popleft()
            event = read_event(line) if len(line) <= self._longest else None
            if event is None:
                self.strange += 1
            else:
                self._last_word = isinstance(event, MethodDone | PeakMemory)
                self._at_its_end |= isinstance(event, PeakMemory)
                on_event(event)

    def close(self, ending: Ending, on_event: Callable[[Event], None]) -> ProcessOutcome:
        """Kill the process unless it has finished, and hand over the events that are left."""
        if ending == "finished":
            wait = _EXIT_SECONDS if self._last_word else _GONE_SECONDS
            self._drain(wait, [self._control.fileno()], on_event)
        with contextlib.suppress(OSError):
            self._control.shutdown(socket.SHUT_WR)  # its keeper kills all that is left
        self._drain(_GONE_SECONDS, list(self._sources), on_event)
        if self._control.fileno() in self._sources and self._pid is not None:
            kill_tree(self._pid)
        self._channel.close()
        self._control.close()
        os.close(self._printed)
        detail, code = "", self._exit_code
        # After its last event a process may end in any way.
        if ending == "finished" and code != 0 and not self._at_its_end:
            ending, detail = "crashed", _exit_reason(code)
        text = self._output.decode("utf-8", "backslashreplace")
        safe = "".join(c if c.isprintable() or c == "\n" else f"\\x{ord(c):02x}" for c in text)
        output = safe.strip("\n")[-_OUTPUT_KEPT:]
        return ProcessOutcome(ending, detail, self.age(), self._memory.peak, output)

    def _drain(self, seconds: float, awaited: list[int], on_event: Callable[[Event], None]) -> None:
        end = time.monotonic() + seconds
        while any(each in self._sources for each in awaited) and time.monotonic() < end:
            wait_for([self], 0.05)
            self.take(on_event)

    def awaits(self) -> Iterable[tuple[int, int]]:
        """Return descriptors, and the event that each waits for (``select.poll``)."""
        sends = select.POLLOUT if self._unsent else 0
        for each in self._sources:
            yield each, select.POLLIN | (sends if each == self._channel.fileno() else 0)

    def attend(self, descriptor: int, found: int) -> None:
        """Send and read as much as a descriptor takes and holds now."""
        if found & select.POLLOUT:
            try:
                del self._unsent[: self._channel.send(self._unsent[:_SENT_BYTES])]
            except BlockingIOError:
                pass
            except OSError:
                self._unsent.clear()
        if found & ~select.POLLOUT:
            try:
                chunk = os.read(descriptor, _CHUNK_BYTES)
            except BlockingIOError:
                return
            except OSError:
                chunk = b""
            if chunk:
                self._sources[descriptor](chunk)
            else:
                del self._sources[descriptor]

    def _take_lines(self, chunk: bytes) -> None:
        self._unended += chunk
        if b"\n" in chunk:
            *lines, self._unended = self._unended.split(b"\n")
            self._lines += filter(None, lines)
        # A line that is too long is cut where its length shows.
        del self._unended[self._longest + 1 :]

    def _take_output(self, chunk: bytes) -> None:
        self._output = (self._output + chunk)[-4 * _OUTPUT_KEPT :]  # bytes of a character

    @property
    def _pid(self) -> int | None:
        """The process id of its keeper, once it is known."""
        pid, end, _ = self._status.partition(b"\n")
        return int(pid) if end else None

    @property
    def _exit_code(self) -> int | None:
        _, _, status = self._status.partition(b"\n")
        return os.waitstatus_to_exitcode(int(status)) if status.endswith(b"\n") else None


def wait_for(processes: Iterable[Process], seconds: float) -> None:
    """Wait until any of some processes sends or takes something, and let it."""
    poll, owners = select.poll(), {}
    for process in processes:
        for descriptor, awaited in process.awaits():
            poll.register(descriptor, awaited)
            owners[descriptor] = process
    for descriptor, found in poll.poll(1000 * seconds):
        owners[descriptor].attend(descriptor, found)


def watch_process(
    process: Process, on_event: Callable[[Event], None], over: Callable[[], Ending | None]
) -> ProcessOutcome:
    """Let a process run until it has ended, ``over`` says how it must end, or Ctrl-C ends it."""
    ending: Ending | None = None
    try:
        while not process.ended and ending is None:
            wait_for([process], POLL_SECONDS)
            process.take(on_event)
            ending = over()
        ending = ending or "finished"
    except KeyboardInterrupt:
        pass
    finally:
        outcome = process.close(ending or "interrupted", on_event)
    return outcome


def call_in_process(
    call: str,
    line: str,
    seconds: float,
    memory_limit: float | None = None,
    *,
    longest: int = 1 << 20,
    reads: bool = False,
    over: Callable[[], Ending | None] = lambda: None,
) -> tuple[ProcessOutcome, list[Event]]:
    """Call a function with one line in a process (:class:`Process`); return its end and events."""
    process = Process(call, f"{line}\n", memory_limit, longest, reads=reads)

    def limits() -> Ending | None:
        if process.exceeds_memory():
            return "memory_limit"
        return "time_limit" if process.age() > seconds else over()

    events: list[Event] = []
    return watch_process(process, events.append, limits), events


def kill_tree(pid: int) -> None:
    """Kill a process and everything it started; no error if it is already gone."""
    with contextlib.suppress(psutil.NoSuchProcess):
        root = psutil.Process(pid)
        for process in [*root.children(recursive=True), root]:
            with contextlib.suppress(psutil.NoSuchProcess):
                process.kill()


def _exit_reason(code: int | None) -> str:
    if code is None:
        return "no exit code"
    if code >= 0:
        return f"exit code {code}"
    with contextlib.suppress(ValueError):
        return signal.Signals(-code).name
    return f"signal {-code}"
