"""Fork server: an idle process that has imported what runs need, and forks one process a run.

A run costs a hundredth of an interpreter's start.  A command that solves forks the server from
itself; a program that calls the library, with threads of its own, starts an interpreter for it.
``multiprocessing`` has such a server, too; that one imports the user's script again in every
process, and leaves behind what cuts itself loose.

Above each run waits its keeper, a fork as well and on Linux a subreaper: all that the run starts
stays below it.  When the run has ended, or the caller has gone, the keeper kills what is left.
No engine is imported here, and nothing that starts threads.
"""

from __future__ import annotations

import atexit
import contextlib
import gc
import importlib
import io
import json
import os
import select
import signal
import socket
import sys
import threading
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NoReturn

from kvopt.places import python_path
from kvopt.runs.linux import adopt_orphans, end_with
from support.checkout import CHECKOUT, ROOT
from support.machine import LACKS, lacking

#: What the server imports before the first run; the last one is rehearsed.
_PRELOADED = ("numpy.random", "psutil", "kvopt.runs.worker")
#: Seconds after which processes that cannot be killed (of another user, say) are left behind.
_KILL_SECONDS = 5.0
#: Shells open nothing from here on.
_ABOVE_ALL = 1024


@dataclass(frozen=True)
class Ends:
    """The ends that a caller keeps of what it shares with a forked process.

    Lines go both ways through the channel.  Through ``control`` come the keeper's process id and
    the run's wait status, a line each; when the caller closes it, the keeper kills the run.
    ``printed`` is the reading end of a pipe for all that the run prints.
    """

    channel: socket.socket
    control: socket.socket
    printed: int


class _Server:
    """The connection to the server of this process; threads may share it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.link: socket.socket | None = None
        self.process = 0

    def ask(self, request: bytes, given: list[int]) -> None:
        """Have a process forked with some descriptors; start the server if there is none."""
        with self._lock:
            try:
                socket.send_fds(self._connect(), [request], given)
            except ConnectionError:  # it was killed
                self.link = None
                socket.send_fds(self._connect(), [request], given)

    def _connect(self) -> socket.socket:
        if self.link is not None:
            return self.link
        ours, theirs = socket.socketpair()
        with theirs:
            self.own(ours, _start(theirs.fileno()))
        return ours

    def own(self, link: socket.socket, server: int) -> None:
        """Take a server that has been started, and end it with this process."""
        self.link, self.process = link, server
        atexit.register(_end, link, server, os.getpid())


_server = _Server()


def start_server() -> None:
    """Fork the server from this command, which has no threads yet."""
    if not sys.flags.optimize:  # Pyomo cannot be imported without docstrings
        _preload()
        with contextlib.suppress(OSError):  # the first run tells what is wrong
            _server.own(*_fork_server(_serve_command))


def fork_process(compiler: bool = False) -> Ends:
    """Fork a process from the server; it waits for a line that says what to call.

    With ``compiler`` it comes from a second server, which loads numba.  An OSError: the machine has
    no process, file or memory left.
    """
    with contextlib.ExitStack() as ours, contextlib.ExitStack() as theirs:
        (channel, one), (control, other) = socket.socketpair(), socket.socketpair()
        printed, written = os.pipe()
        for each in (channel, control):
            ours.enter_context(each)
            each.setblocking(False)
        ours.callback(os.close, printed)
        theirs.enter_context(one)
        theirs.enter_context(other)
        theirs.callback(os.close, written)
        _server.ask(b"1" if compiler else b"0", [one.fileno(), other.fileno(), written])
        ours.pop_all()
    os.set_blocking(printed, False)
    return Ends(channel, control, printed)


def serve_below(channel: socket.socket) -> None:
    """Fork a server for the team of this run, before there are threads, without the run's channel.

    What it forks stays below the run's keeper.
    """
    _server.own(*_fork_server(_serve, channel.fileno()))


def _fork_server(
    serve: Callable[[socket.socket], NoReturn], *kept: int
) -> tuple[socket.socket, int]:
    """Fork a server, which closes the descriptors ``kept``."""
    ours, theirs = socket.socketpair()
    server = os.fork()
    if server == 0:
        try:
            for each in (ours.fileno(), *kept):
                os.close(each)
            serve(theirs)
        finally:
            os._exit(1)
    theirs.close()
    return ours, server


def _serve_command(link: socket.socket) -> NoReturn:
    """Keep of the command its inputs, and else what an interpreter of its own would have."""
    _ignore_signals()
    sys.unraisablehook = sys.__unraisablehook__
    nowhere = os.open(os.devnull, os.O_WRONLY)
    for stream, name in (1, "stdout"), (2, "stderr"):
        os.dup2(nowhere, stream)
        file: Any = io.FileIO(stream, "w", closefd=False)
        unbuffered = io.TextIOWrapper(file, "utf-8", "backslashreplace", write_through=True)
        setattr(sys, name, unbuffered)
    os.close(nowhere)
    # Nothing of the current folder is taken for a module.
    path = sys.path if sys.flags.safe_path else sys.path[1:]
    sys.path[:] = dict.fromkeys([*filter(None, python_path().split(os.pathsep)), *path])
    sys.argv = sys.argv[:1]
    _serve(link)


def _end(link: socket.socket, server: int, owner: int) -> None:
    """Leave no zombie to whoever comes after the owner of the server."""
    if os.getpid() == owner:
        link.close()
        with contextlib.suppress(ProcessLookupError, ChildProcessError):
            os.kill(server, signal.SIGKILL)
            os.waitpid(server, 0)


def _start(descriptor: int) -> int:
    os.set_inheritable(descriptor, True)
    nowhere = os.devnull, os.O_WRONLY, 0
    # It inherits what a shell has opened for a command that may be told to read it.
    return os.posix_spawn(
        sys.executable,
        # -P: nothing of the current folder is taken for one of the project's modules.
        [sys.executable, "-P", "-m", "kvopt.runs.fork_server", str(descriptor)],
        # Matrices are small; with more threads patterns are priced ten times slower.
        {"OPENBLAS_NUM_THREADS": "1"}
        | dict(os.environ)
        # Pyomo cannot be imported without docstrings.
        | {"PYTHONPATH": python_path(), "PYTHONUNBUFFERED": "1", "PYTHONOPTIMIZE": ""},
        file_actions=[(os.POSIX_SPAWN_OPEN, stream, *nowhere) for stream in (1, 2)],
    )


def _main() -> NoReturn:
    link = socket.socket(fileno=int(sys.argv[1]))
    why = ""
    try:
        _preload()
    except Exception as error:  # every run says so
        why = lacking(error) or str(error) or type(error).__name__
    _serve(link, why)


def _preload() -> None:
    """Import what runs need."""
    loaded = [importlib.import_module(name) for name in _PRELOADED]
    loaded[-1].rehearse()


def _serve_compiler(link: socket.socket) -> NoReturn:
    """Load numba, and fork the processes that need it."""
    from support.compiling import load_compiler  # what few commands need

    why = ""
    try:
        load_compiler()
    except (OSError, ImportError, MemoryError) as error:
        why = lacking(error) or str(error)
    _serve(link, why)


def _serve(link: socket.socket, why_not: str = "") -> NoReturn:
    """Fork a process for every request, until the caller has gone, or tell why not."""
    _ignore_signals()
    if os.getsid(0) != os.getpid():
        os.setsid()
    adopt_orphans()
    wake = _wake_at_ends()
    keepers: set[int] = set()
    compiler, compiling = 0, link
    gc.freeze()  # a collection would write to pages that forks share
    poll = select.poll()
    for each in (link, wake):
        poll.register(each, select.POLLIN)
    while True:
        found = [descriptor for descriptor, _ in poll.poll()]
        if wake.fileno() in found:
            wake.recv(4096)
            _kill_orphans(keepers)
        if link.fileno() not in found:
            continue
        request, descriptors, *_ = socket.recv_fds(link, 1, 3)
        if not request:
            os._exit(0)
        # Without room for three descriptors some are lost, and the caller sees the others closed.
        if len(descriptors) == 3:
            try:
                if why_not:
                    raise OSError(why_not)
                ours = {link.fileno(), wake.fileno(), compiling.fileno()}
                if request == b"1":
                    if compiler not in keepers:
                        compiling, compiler = _fork_server(_serve_compiler, *ours, *descriptors)
                        keepers.add(compiler)
                    socket.send_fds(compiling, [b"0"], descriptors)
                elif (keeper := os.fork()) == 0:
                    for descriptor in ours:
                        os.close(descriptor)
                    _fork_run(*descriptors)
                else:
                    keepers.add(keeper)
            except (OSError, MemoryError) as error:
                _fail(descriptors[0], f"{LACKS}{lacking(error) or error}")
        for descriptor in descriptors:
            os.close(descriptor)


def _kill_orphans(keepers: set[int]) -> None:
    """Kill what a killed keeper has left behind; each that is killed has this called again."""
    ended = _reap()
    keepers.difference_update(ended)
    if any(ended.values()):
        import psutil  # the server has it already

        for each in psutil.Process().children():
            if each.pid not in keepers:
                with contextlib.suppress(psutil.Error):
                    each.kill()


def _ignore_signals() -> None:
    """Go on when all processes of a command are told to stop; the command itself ends them."""
    for each in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGCHLD):
        signal.signal(each, signal.SIG_IGN)  # ignored children leave no zombies


def _fork_run(channel: int, control: int, printed: int) -> NoReturn:
    """Be the keeper, and below it the run; neither ever returns to the server."""
    try:
        _keep(socket.socket(fileno=channel), socket.socket(fileno=control), printed)
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(1)


def _fail(channel: int, why: str) -> None:
    """Tell the caller in the run's place that there is no process for it."""
    failure = {"kind": "error", "text": why}
    with contextlib.suppress(OSError):
        os.write(channel, f"{json.dumps(failure)}\n".encode())


def _keep(channel: socket.socket, control: socket.socket, printed: int) -> NoReturn:
    """Fork the run, wait for its end, and kill what it leaves behind."""
    os.setsid()
    adopt_orphans()
    wake = _wake_at_ends()
    keeper = os.getpid()
    try:
        child = os.fork()
    except OSError as error:
        _fail(channel.fileno(), f"{LACKS}{lacking(error)}")
        os._exit(1)
    if child == 0:
        os.close(signal.set_wakeup_fd(-1))
        for each in (control, wake):
            each.close()
        _run(channel, printed, keeper)
    # Channel and print-out of the run must end when the run does.
    channel.close()
    os.close(printed)
    with contextlib.suppress(OSError):  # the caller may have gone
        control.sendall(f"{keeper}\n".encode())
    status = _wait(child, control, wake)
    _kill_descendants()
    if status is not None:
        with contextlib.suppress(OSError):
            control.sendall(f"{status}\n".encode())
    os._exit(0)


def _wake_at_ends() -> socket.socket:
    """Return what can be read whenever a child has ended."""
    wake, woken = socket.socketpair()
    woken.setblocking(False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    old = signal.set_wakeup_fd(woken.detach(), warn_on_full_buffer=False)
    if old != -1:  # of the server that this is a fork of
        os.close(old)
    return wake


def _wait(child: int, control: socket.socket, wake: socket.socket) -> int | None:
    """Return the wait status of the child, once it has ended or the caller has it killed."""
    poll = select.poll()
    for each in (control, wake):
        poll.register(each, select.POLLIN)
    while True:
        statuses = _reap()
        if child in statuses:
            return statuses[child]
        for descriptor, _ in poll.poll():
            if descriptor == control.fileno():
                with contextlib.suppress(ProcessLookupError):
                    os.kill(child, signal.SIGKILL)
                return os.waitpid(child, 0)[1]
            wake.recv(4096)


def _reap() -> dict[int, int]:
    """Take note of every child that has ended; return the wait statuses by process id."""
    ended: dict[int, int] = {}
    with contextlib.suppress(ChildProcessError):
        while (found := os.waitpid(-1, os.WNOHANG))[0]:
            ended[found[0]] = found[1]
    return ended


def _kill_descendants() -> None:
    """Kill every process below this one, again and again until none is left."""
    import psutil  # the server has it already

    deadline = time.monotonic() + _KILL_SECONDS
    with contextlib.suppress(ChildProcessError):  # none is left: orphans are a subreaper's children
        while time.monotonic() < deadline:
            _reap()
            os.waitpid(-1, os.WNOHANG)
            for each in psutil.Process().children(recursive=True):
                with contextlib.suppress(psutil.Error):
                    each.kill()
            time.sleep(0.005)


def _run(channel: socket.socket, printed: int, keeper: int) -> NoReturn:
    """Call what the first line of the channel names, with the lines after it."""
    end_with(keeper)
    for each in (signal.SIGTERM, signal.SIGHUP, signal.SIGCHLD):
        signal.signal(each, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_SETMASK, ())
    os.dup2(printed, 1)
    os.dup2(printed, 2)
    os.close(printed)
    lines = channel.makefile("r", encoding="utf-8", newline="\n")
    named = json.loads(next(lines))
    if not named["reads"]:
        _shut_inputs(channel.fileno())
    if os.environ != named["environment"]:
        os.environ.clear()
        os.environ.update(named["environment"])
    if "numpy.random" in sys.modules:
        sys.modules["numpy.random"].seed()  # or all forks would draw the same numbers
    module, _, function = named["call"].partition(":")
    getattr(importlib.import_module(module), function)(lines, channel)
    os._exit(0)


def _shut_inputs(channel: int) -> None:
    """Leave to a run nothing of what the command reads."""
    os.close(0)
    os.open(os.devnull, os.O_RDONLY)
    os.closerange(3, channel)
    os.closerange(channel + 1, _ABOVE_ALL)
    if CHECKOUT:
        os.chdir(ROOT)


if __name__ == "__main__":
    _main()
