"""Fork server: an idle process that has imported what runs need, and forks one process a run.

A fork costs a hundredth of an interpreter's start.  A command forks the server from itself; a
program that calls the library may have threads, and starts an interpreter.  The server of
``multiprocessing`` imports the user's script in each process, and leaves detached processes behind.

A keeper, a fork as well, waits above each run.  On Linux it is a subreaper: all that the run starts
stays below it.  The keeper kills all that is left when the run ends or the caller is gone.
The server imports no engine, and nothing that starts threads.
"""

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
from functools import partial
from typing import Any, NoReturn

import psutil

from kvopt.project_paths import python_path
from kvopt.runs.linux_processes import adopt_orphans, end_with_parent, lower_priority
from support.machine_errors import LACKS, describe_shortage
from support.project_root import CHECKOUT, ROOT

#: Functions that load what forks need, of the server and of the server with numba.
_REHEARSE, _LOAD_NUMBA = "kvopt.runs.worker:rehearse", "support.kernel_cache:load_compiler"
#: Seconds after which processes that cannot be killed (of another user, say) are left behind.
_KILL_SECONDS = 5.0


class _Server:
    """The connection to a server, shared by threads; the function that starts it calls ``own``."""

    def __init__(self, start: Callable[[], None]) -> None:
        self._start, self._lock = start, threading.Lock()
        self.link: socket.socket | None = None
        self.process = 0

    def send(self, request: bytes, given: list[int]) -> None:
        with self._lock:
            if self.link is not None:
                with contextlib.suppress(ConnectionError):  # it was killed
                    socket.send_fds(self.link, [request], given)
                    return
            self._start()
            assert self.link is not None
            socket.send_fds(self.link, [request], given)

    def own(self, link: socket.socket, process: int) -> None:
        self.link, self.process = link, process
        atexit.register(_end, link, process, os.getpid())


def start_server() -> None:
    """Fork the server from this command, which has no threads yet."""
    if not sys.flags.optimize:  # Pyomo cannot be imported without docstrings
        _imported(_REHEARSE)()
        with contextlib.suppress(OSError):  # the first run sends the reason
            _fork_server(_server, _serve_command)


def fork_process(compiler: bool = False) -> tuple[socket.socket, socket.socket, int]:
    """Fork a process, with numba if it needs the ``compiler``; return channel, control, output.

    The first line on the channel says what to call; lines go both ways there.  Control brings the
    keeper's process id and the run's wait status, a line each; when the caller closes it, the
    keeper kills the run.  Output is the reading end of a pipe.  An OSError: the machine has no
    process, file or memory left.
    """
    (channel, one), (control, other) = socket.socketpair(), socket.socketpair()
    printed, written = os.pipe()
    try:
        with one, other:
            _server.send(b"1" if compiler else b"0", [one.fileno(), other.fileno(), written])
    except BaseException:
        os.close(printed)
        raise
    finally:
        os.close(written)
    channel.setblocking(False)
    control.setblocking(False)
    os.set_blocking(printed, False)
    return channel, control, printed


def serve_below(channel: socket.socket) -> None:
    """Fork a server for the team of this run, before there are threads; its keeper stays above."""
    _fork_server(_server, _serve, channel.fileno())


def _fork(call: Callable[..., NoReturn], *given: Any) -> int:
    """Fork a process that calls a function and ends; return its process id."""
    child = os.fork()
    if child == 0:
        try:
            call(*given)
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(1)
    return child


def _fork_server(owned: _Server, serve: Callable[[socket.socket], NoReturn], *closed: int) -> None:
    ours, theirs = socket.socketpair()

    def begin() -> NoReturn:
        for each in (ours.fileno(), *closed):
            os.close(each)
        serve(theirs)

    with theirs:
        owned.own(ours, _fork(begin))


def _serve_command(link: socket.socket) -> NoReturn:
    """Keep the command's inputs, and set up all else as a fresh interpreter has it."""
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
    if os.getpid() == owner:
        link.close()
        with contextlib.suppress(ProcessLookupError, ChildProcessError):
            os.kill(server, signal.SIGKILL)
            os.waitpid(server, 0)


def _start_interpreter() -> None:
    ours, theirs = socket.socketpair()
    nowhere = os.devnull, os.O_WRONLY, 0
    with theirs:
        theirs.set_inheritable(True)
        # The server inherits files that a shell has opened: a command may read them.
        server = os.posix_spawn(
            sys.executable,
            # -P: nothing of the current folder is taken for one of the project's modules.
            [sys.executable, "-P", "-m", "kvopt.runs.fork_server", str(theirs.fileno())],
            # Matrices are small; with more threads patterns are priced ten times slower.
            {"OPENBLAS_NUM_THREADS": "1"}
            | dict(os.environ)
            # Pyomo cannot be imported without docstrings.
            | {"PYTHONPATH": python_path(), "PYTHONUNBUFFERED": "1", "PYTHONOPTIMIZE": ""},
            file_actions=[(os.POSIX_SPAWN_OPEN, stream, *nowhere) for stream in (1, 2)],
        )
    _server.own(ours, server)


_server = _Server(_start_interpreter)


def _imported(call: str) -> Callable[..., Any]:
    """Import the function of a text ``module:function``."""
    module, _, name = call.partition(":")
    function: Callable[..., Any] = getattr(importlib.import_module(module), name)
    return function


def _serve_after(load: str, link: socket.socket) -> NoReturn:
    """Load what forks need; where that fails, every run says why."""
    why = ""
    try:
        _imported(load)()
    except Exception as error:
        why = describe_shortage(error) or str(error) or type(error).__name__
    _serve(link, why)


def _serve(link: socket.socket, why_not: str = "") -> NoReturn:
    """Fork a process for every request until the caller has gone, or send each why not."""
    _ignore_signals()
    if os.getsid(0) != os.getpid():
        os.setsid()
    adopt_orphans()
    wake = _wake_at_ends()
    descriptors: list[int] = []

    def start_compiler() -> None:
        serve = partial(_serve_after, _LOAD_NUMBA)
        _fork_server(compiler, serve, link.fileno(), wake.fileno(), *descriptors)

    compiler = _Server(start_compiler)
    keepers: set[int] = set()
    gc.freeze()  # a collection would write to pages that forks share
    while True:
        found, _, _ = select.select([link, wake], [], [])
        if wake in found:
            wake.recv(4096)
            _kill_orphans(keepers, compiler.process)
        if link not in found:
            continue
        request, descriptors, *_ = socket.recv_fds(link, 1, 3)
        if not request:
            os._exit(0)
        # Without room for three descriptors some are lost, and the caller sees the others closed.
        if len(descriptors) == 3:
            try:
                if why_not:
                    raise OSError(why_not)
                if request == b"1":
                    compiler.send(b"0", descriptors)
                else:
                    keepers.add(_fork(_keep, (link, wake, compiler.link), *descriptors))
            except (OSError, MemoryError) as error:
                _fail(descriptors[0], f"{LACKS}{describe_shortage(error) or error}")
        for descriptor in descriptors:
            os.close(descriptor)


def _kill_orphans(keepers: set[int], compiler: int) -> None:
    """Kill what a killed keeper has left behind; each that is killed has this called again."""
    ended = _reap()
    keepers.difference_update(ended)
    if any(ended.values()):
        for each in psutil.Process().children():
            if each.pid not in keepers | {compiler}:
                with contextlib.suppress(psutil.Error):
                    each.kill()


def _ignore_signals() -> None:
    """Go on when signals stop all processes of a command; the command itself ends them."""
    for each in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGCHLD):
        signal.signal(each, signal.SIG_IGN)  # ignored children leave no zombies


def _fail(channel: int, why: str) -> None:
    """Send the caller the reason why there is no process."""
    failure = {"kind": "error", "text": why}
    with contextlib.suppress(OSError):
        os.write(channel, f"{json.dumps(failure)}\n".encode())


def _keep(
    of_server: tuple[socket.socket | None, ...], run: int, caller: int, printed: int
) -> NoReturn:
    """Be the keeper: fork the run, wait for its end, and kill what it leaves behind."""
    for each in filter(None, of_server):
        each.close()
    channel, control = socket.socket(fileno=run), socket.socket(fileno=caller)
    os.setsid()
    adopt_orphans()
    wake = _wake_at_ends()
    keeper = os.getpid()
    try:
        child = _fork(_run, channel, printed, keeper, (control, wake))
    except OSError as error:
        _fail(run, f"{LACKS}{describe_shortage(error)}")
        os._exit(1)
    # Channel and print-out of the run must end when the run does.
    channel.close()
    os.close(printed)
    with contextlib.suppress(OSError):  # the caller may have gone
        control.sendall(f"{keeper}\n".encode())
    status = _wait(child, control, wake)
    _kill_descendants()
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


def _wait(child: int, control: socket.socket, wake: socket.socket) -> int:
    """Return the wait status of the child, once it has ended or the caller has it killed."""
    while child not in (statuses := _reap()):
        found, _, _ = select.select([control, wake], [], [])
        if control in found:
            os.kill(child, signal.SIGKILL)
            return os.waitpid(child, 0)[1]
        wake.recv(4096)
    return statuses[child]


def _reap() -> dict[int, int]:
    """Return the wait statuses of all children that have ended, by process id."""
    ended: dict[int, int] = {}
    with contextlib.suppress(ChildProcessError):
        while (found := os.waitpid(-1, os.WNOHANG))[0]:
            ended[found[0]] = found[1]
    return ended


def _kill_descendants() -> None:
    """Kill every process below this one, again and again until none is left."""
    deadline = time.monotonic() + _KILL_SECONDS
    with contextlib.suppress(ChildProcessError):  # none is left: orphans are a subreaper's children
        while time.monotonic() < deadline:
            _reap()
            os.waitpid(-1, os.WNOHANG)
            for each in psutil.Process().children(recursive=True):
                with contextlib.suppress(psutil.Error):
                    each.kill()
            time.sleep(0.005)


def _run(
    channel: socket.socket, printed: int, keeper: int, of_keeper: tuple[socket.socket, ...]
) -> NoReturn:
    """Call what the first line of the channel names, with the lines after it."""
    os.close(signal.set_wakeup_fd(-1))
    for each in of_keeper:
        each.close()
    end_with_parent(keeper)
    for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGCHLD):
        signal.signal(number, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_SETMASK, ())
    os.dup2(printed, 1)
    os.dup2(printed, 2)
    os.close(printed)
    lines = channel.makefile("r", encoding="utf-8", newline="\n")
    named = json.loads(next(lines))
    if named["yields"]:
        lower_priority()
    if not named["reads"]:
        _shut_inputs(channel.fileno())
    if os.environ != named["environment"]:
        os.environ.clear()
        os.environ.update(named["environment"])
    if "numpy.random" in sys.modules:
        sys.modules["numpy.random"].seed()  # or all forks would draw the same numbers
    _imported(named["call"])(lines, channel)
    os._exit(0)


def _shut_inputs(channel: int) -> None:
    """Leave to a run nothing of what the command reads."""
    os.close(0)
    os.open(os.devnull, os.O_RDONLY)
    os.closerange(3, channel)
    os.closerange(channel + 1, 1024)  # shells open nothing from there on
    if CHECKOUT:
        os.chdir(ROOT)


if __name__ == "__main__":
    with socket.socket(fileno=int(sys.argv[1])) as given:
        lowest = given.dup()  # select needs it where the caller has thousands of files open
    _serve_after(_REHEARSE, lowest)
