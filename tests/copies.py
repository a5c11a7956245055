"""Commands in copies of one process that has imported what they need: a tenth of their start.

A copy is what an interpreter is that has just begun a command: a process of its own, with its own
folder, environment, arguments and streams, in which nothing has run yet.  Only what it imports is
there already; so tests of imports, of start-up and of signals start an interpreter of their own.

``python -m tests.copies FD`` is the process that is copied; it ends with the tests.
"""

from __future__ import annotations

import atexit
import contextlib
import gc
import importlib
import json
import os
import runpy
import signal
import socket
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path
from threading import Timer
from typing import Any, NoReturn

ROOT = Path(__file__).resolve().parents[1]
#: What the commands import sooner or later; no engine, which they never load.
_IMPORTED = (
    "kvopt.best_known.__main__",
    "kvopt.commands.evaluate",
    "kvopt.commands.listing",
    "kvopt.commands.main",
    "kvopt.commands.policies_table",
    "kvopt.commands.solve",
    "kvopt.sweeps",
)
_LONGEST = 1 << 20


def run_copy(
    *command: object,
    cwd: Path | None = None,
    env: dict[str, str] | None = None,
    timeout: float = 120,
) -> subprocess.CompletedProcess[str]:
    """Do what ``subprocess.run`` does of ``python COMMAND``: of a script, or of ``-m MODULE``.

    Raises
    ------
    subprocess.TimeoutExpired
        If it has not ended within the seconds; it is killed.
    """
    arguments = [str(each) for each in command]
    question = {
        "command": arguments,
        "cwd": str(cwd or Path.cwd()),
        "env": dict(os.environ) if env is None else env,
    }
    readers, writers = zip(*(os.pipe() for _ in range(3)), strict=True)
    try:
        socket.send_fds(_original(), [json.dumps(question).encode()], writers)
    finally:
        for writer in writers:
            os.close(writer)
    told, output, errors = (os.fdopen(reader) for reader in readers)
    with told, output, errors, ThreadPoolExecutor(2) as pool:
        texts = [pool.submit(stream.read) for stream in (output, errors)]
        late = Timer(timeout, _kill, [int(told.readline())])
        late.start()
        shown = [text.result() for text in texts]
        code = int(told.readline())
        expired = late.finished.is_set()
        late.cancel()
    if expired:
        raise subprocess.TimeoutExpired(arguments, timeout, *shown)
    return subprocess.CompletedProcess(arguments, code, *shown)


def _kill(pid: int) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)


@cache
def _original() -> socket.socket:
    """Start the process that is copied; return where it is asked for copies."""
    ours, its = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with its:
        process = subprocess.Popen(
            [sys.executable, "-m", "tests.copies", str(its.fileno())],
            stdin=subprocess.DEVNULL,
            cwd=ROOT,
            pass_fds=[its.fileno()],
        )

    def end() -> None:
        ours.close()
        process.wait()

    atexit.register(end)
    return ours


def main() -> None:
    """Make a copy for every question; in each copy, run its command."""
    asked = socket.socket(fileno=int(sys.argv[1]))
    for name in _IMPORTED:
        importlib.import_module(name)
    # What is there now is left alone by the copies' collectors, and so stays shared.
    gc.collect()
    gc.freeze()
    while True:
        question, descriptors, *_ = socket.recv_fds(asked, _LONGEST, 3)
        if not question:
            os._exit(0)
        if os.fork() == 0:
            asked.close()
            _attend(json.loads(question), *descriptors)
        for each in descriptors:
            os.close(each)
        _take_note_of_the_ended()


def _take_note_of_the_ended() -> None:
    with contextlib.suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass


def _attend(question: dict[str, Any], told: int, output: int, errors: int) -> NoReturn:
    """Make the copy; tell its id and, when it has ended, its exit code."""
    pid = os.fork()
    if pid == 0:
        os.dup2(output, 1)
        os.dup2(errors, 2)
        for each in (told, output, errors):
            os.close(each)
        sys.stdout = os.fdopen(1, "w", closefd=False)
        sys.stderr = os.fdopen(2, "w", errors="backslashreplace", closefd=False)
        _become(**question)
    os.close(output)
    os.close(errors)
    os.write(told, f"{pid}\n".encode())
    _, status = os.waitpid(pid, 0)
    os.write(told, f"{os.waitstatus_to_exitcode(status)}\n".encode())
    os._exit(0)


def _become(command: list[str], cwd: str, env: dict[str, str]) -> NoReturn:
    """Run a command as the interpreter does; end as that would."""
    os.environ.clear()
    os.environ.update(env)
    os.chdir(cwd)
    sys.argv = command
    if command[0] == "-m":
        sys.argv = command[1:]
        # It is run as if it had not been imported.
        for name in (command[1], f"{command[1]}.__main__"):
            if not hasattr(sys.modules.get(name), "__path__"):
                sys.modules.pop(name, None)
        runpy.run_module(command[1], run_name="__main__", alter_sys=True)
    else:
        runpy.run_path(command[0], run_name="__main__")
    sys.exit()


if __name__ == "__main__":
    main()
