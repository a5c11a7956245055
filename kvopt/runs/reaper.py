"""Reaps the processes of one run: all that it starts ends with it, or with the caller.

``python -m kvopt.runs.reaper FD MODULE`` runs a module in a process of its own, beneath one that
waits.  On Linux the waiting process is a subreaper: whatever the module starts stays below it in
the tree of processes, also what has cut itself loose by forking twice or by a session of its own.
When the module has ended, or when the caller has gone (the other end of the pipe FD is closed,
which the kernel does for a process that is killed), all of it is killed, and the reaper ends as the
module did.  Elsewhere the module runs alone and ends with its caller.

Nothing heavy is imported here: the module's process begins as a copy of this one.
"""

from __future__ import annotations

import contextlib
import os
import resource
import runpy
import select
import signal
import sys
import threading
import time
from collections import defaultdict
from typing import NoReturn

from kvopt.runs.linux import adopt_orphans, end_with
from support.machine import LACKS

#: Seconds between two looks for orphans that have ended and wait to be taken note of.
_REAP_SECONDS = 1.0
#: Seconds after which processes that cannot be killed (of another user, say) are left behind.
_KILL_SECONDS = 5.0


def main() -> NoReturn:
    """Run the module named on the command line; see above."""
    lifeline, module = int(sys.argv[1]), sys.argv[2]
    if sys.platform != "linux":
        threading.Thread(target=_exit_with_caller, args=(lifeline,), daemon=True).start()
        _run(module)
    adopt_orphans()
    reaper = os.getpid()
    try:
        child = os.fork()
    except OSError as error:
        _fail(error)
    if child == 0:
        os.close(lifeline)
        end_with(reaper)
        _run(module)
    # The pipes of the run must end when the run does.
    os.close(0)
    os.close(1)
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    status = _wait(child, lifeline)
    _kill_descendants()
    _end_as(status)


def _fail(error: OSError) -> NoReturn:
    """Tell the caller in place of the module that there is no process for it."""
    from kvopt.runs.events import Failure, event_line

    print(event_line(Failure(seconds=0.0, text=f"{LACKS}{error.strerror}")), end="", flush=True)
    sys.exit(1)


def _run(module: str) -> NoReturn:
    sys.argv = [module]
    runpy.run_module(module, run_name="__main__", alter_sys=True)
    sys.exit(0)


def _wait(child: int, lifeline: int) -> int | None:
    """Return the wait status of the child, None if the caller has gone before it ended."""
    poll = select.poll()
    poll.register(lifeline, select.POLLIN)
    watched = os.pidfd_open(child)
    poll.register(watched, select.POLLIN)
    while True:
        ready = {descriptor for descriptor, _ in poll.poll(1000 * _REAP_SECONDS)}
        statuses = _reap()
        if child in statuses:
            return statuses[child]
        if lifeline in ready:
            return None


def _reap() -> dict[int, int]:
    """Take note of every child that has ended; return the wait statuses by process id."""
    ended: dict[int, int] = {}
    with contextlib.suppress(ChildProcessError):
        while True:
            pid, status = os.waitpid(-1, os.WNOHANG)
            if pid == 0:
                break
            ended[pid] = status
    return ended


def _kill_descendants() -> None:
    """Kill every process below this one, again and again until none is left."""
    deadline = time.monotonic() + _KILL_SECONDS
    while (below := _descendants(os.getpid())) and time.monotonic() < deadline:
        for pid in below:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)
        _reap()
        time.sleep(0.005)


def _descendants(root: int) -> list[int]:
    children: dict[int, list[int]] = defaultdict(list)
    for name in os.listdir("/proc"):
        if name.isdigit():
            with contextlib.suppress(OSError, ValueError, IndexError):
                with open(f"/proc/{name}/stat", "rb") as file:
                    # The command stands in parentheses and may hold anything.
                    parent = int(file.read().rpartition(b")")[2].split()[1])
                children[parent].append(int(name))
    found, waiting = [], [root]
    while waiting:
        below = children[waiting.pop()]
        found += below
        waiting += below
    return found


def _end_as(status: int | None) -> NoReturn:
    if status is None:
        os._exit(1)
    if os.WIFSIGNALED(status):
        # Dying of the same signal tells the caller which one it was.
        number = os.WTERMSIG(status)
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        with contextlib.suppress(OSError):  # SIGKILL has no handler to be taken away
            signal.signal(number, signal.SIG_DFL)
            signal.pthread_sigmask(signal.SIG_UNBLOCK, {number})
        os.kill(os.getpid(), number)
        os._exit(128 + number)
    os._exit(os.WEXITSTATUS(status))


def _exit_with_caller(lifeline: int) -> None:
    while os.read(lifeline, 1024):
        pass
    os._exit(1)


if __name__ == "__main__":
    main()
