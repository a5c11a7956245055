"""Commands in copies of one process that has imported what they need: a tenth of their start.

A copy is what an interpreter is that has just begun a command: a process of its own, with its own
folder, environment, arguments and streams, in which nothing has run yet.  Only what it imports is
there already; so tests of imports, of start-up and of signals start an interpreter of their own.

The processes of runs are copies too, of those commands and wherever a test asks for it
(``OF_RUNS``).  ``python -m tests.copies`` is what is copied; it ends with the tests.
"""

from __future__ import annotations

import atexit
import contextlib
import gc
import importlib
import io
import json
import os
import runpy
import select
import socket
import subprocess
import sys
import uuid
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path
from threading import Timer
from types import ModuleType, SimpleNamespace
from typing import IO, Any, NoReturn

import kvopt.running.process
from heuristics.registry import policies
from tests.copied import LISTED, PASSED, TOLD, Copy

ROOT = Path(__file__).resolve().parents[1]
#: What commands and runs import sooner or later; no engine, which no two of them share.
_IMPORTED = (
    "kvopt.best_known.__main__",
    "kvopt.commands.evaluate",
    "kvopt.commands.listing",
    "kvopt.commands.main",
    "kvopt.commands.policies_table",
    "kvopt.commands.solve",
    "kvopt.running.keeper",
    "kvopt.running.worker",
    "kvopt.sweeps",
)
_LONGEST = 1 << 20


def run_copy(
    *command: object,
    cwd: Path | None = None,
    env: dict[str, str] | None = None,
    timeout: float = 120,
) -> subprocess.CompletedProcess[str]:
    """Do what ``subprocess.run`` does of ``python``: with a script, ``-m MODULE`` or ``-c CODE``.

    Raises
    ------
    subprocess.TimeoutExpired
        If it has not ended within the seconds; it is killed.
    """
    arguments = [str(each) for each in command]
    readers, writers = zip(os.pipe(), os.pipe(), strict=True)
    try:
        copy = Copy(
            arguments, asked=original(), stdout=writers[0], stderr=writers[1], cwd=cwd, env=env
        )
    finally:
        for writer in writers:
            os.close(writer)
    output, errors = (os.fdopen(reader) for reader in readers)
    with output, errors, ThreadPoolExecutor(2) as pool:
        texts = [pool.submit(stream.read) for stream in (output, errors)]
        late = Timer(timeout, copy.kill)
        late.start()
        shown = [text.result() for text in texts]
        code = copy.wait()
        expired = late.finished.is_set()
        late.cancel()
    if expired:
        raise subprocess.TimeoutExpired(arguments, timeout, *shown)
    return subprocess.CompletedProcess(arguments, code, *shown)


def start_keeper(command: list[str], **given: Any) -> Copy:
    """Start the process of a run, as ``kvopt.running.process`` does by ``subprocess.Popen``."""
    _, safe_path, *rest = command
    assert safe_path == "-P"
    (passed,) = given.pop("pass_fds")
    return Copy(
        rest,
        asked=original(),
        stdin=given.pop("stdin").fileno(),
        new_session=given.pop("start_new_session"),
        passed=passed,
        **given,
    )


#: What ``kvopt.running.process`` finds in place of ``subprocess`` where runs are copies.
OF_RUNS = SimpleNamespace(Popen=start_keeper, TimeoutExpired=subprocess.TimeoutExpired)


@cache
def original() -> str:
    """Start the process that is copied; return the name of the socket where it is asked."""
    if TOLD in os.environ:  # in a copy
        return os.environ[TOLD]
    name = f"kvopt-copies-{uuid.uuid4().hex}"
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.copies", name],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        cwd=ROOT,
        start_new_session=True,
    )
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdout.readline()  # now it listens

    def end(stdin: IO[bytes] = process.stdin) -> None:
        stdin.close()
        process.wait()

    atexit.register(end)
    return name


def serve(name: str) -> None:
    """Make copies until standard input is closed; in each copy, run its command."""
    for module in _IMPORTED:
        importlib.import_module(module)
    policies()
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as listening:
        listening.bind(f"\0{name}")
        listening.listen()
        print("listens", flush=True)
        # What is there now is left alone by the copies' collectors, and so stays shared.
        gc.collect()
        gc.freeze()
        while sys.stdin not in (ready := select.select([sys.stdin, listening], [], [], 1.0)[0]):
            if ready:
                asking, _ = listening.accept()
                with asking:
                    question, descriptors, *_ = socket.recv_fds(asking, _LONGEST, 5)
                if os.fork() == 0:
                    listening.close()
                    _attend(json.loads(question), name, *descriptors)
                for each in descriptors:
                    os.close(each)
            with contextlib.suppress(ChildProcessError):
                while os.waitpid(-1, os.WNOHANG)[0]:
                    pass


def _attend(question: dict[str, Any], asked: str, told: int, *descriptors: int) -> NoReturn:
    """Make the copy; tell its id and, when it has ended, its exit code."""
    handed = dict(zip(question.pop("handed"), descriptors, strict=True))
    pid = os.fork()
    if pid == 0:
        os.close(told)
        _become(asked=asked, handed=handed, **question)
    for each in descriptors:
        os.close(each)
    _tell(told, pid)
    _, status = os.waitpid(pid, 0)
    _tell(told, os.waitstatus_to_exitcode(status))
    os._exit(0)


def _tell(told: int, number: int) -> None:
    with contextlib.suppress(BrokenPipeError):  # who asked is gone
        os.write(told, f"{number}\n".encode())


def _become(
    command: list[str],
    cwd: str,
    env: dict[str, str],
    new_session: bool,
    handed: dict[str, int],
    asked: str,
) -> NoReturn:
    """Run a command as the interpreter does; end as that would."""
    if new_session:
        os.setsid()
    _take_streams(handed, unbuffered="PYTHONUNBUFFERED" in env)
    os.environ.clear()
    os.environ.update(env | {TOLD: asked})
    if LISTED in env:
        with open(env[LISTED], "a", encoding="utf-8") as listed:
            listed.write(f"{os.getpid()}\n")
    os.chdir(cwd)
    sys.argv = [str(handed.get("passed")) if each == PASSED else each for each in command]
    vars(kvopt.running.process)["subprocess"] = OF_RUNS
    if command[0] == "-c":
        code, sys.argv = sys.argv[1], ["-c", *sys.argv[2:]]
        # Its own imports come from its folder, as the interpreter has it.
        sys.path.insert(0, "")
        exec(compile(code, "<string>", "exec"), vars(_main_module()))
        sys.exit()
    if command[0] != "-m":
        runpy.run_path(sys.argv[0], run_name="__main__")
        sys.exit()
    module = sys.argv[1]
    sys.argv = sys.argv[1:]
    # They are run as if they had not been imported.
    for name in (module, f"{module}.__main__", "kvopt.running.worker"):
        if not hasattr(sys.modules.get(name), "__path__"):
            sys.modules.pop(name, None)
    runpy.run_module(module, run_name="__main__", alter_sys=True)
    sys.exit()


def _main_module() -> ModuleType:
    """Put an empty module in the place of the one that is run."""
    module = ModuleType("__main__")
    sys.modules["__main__"] = module
    return module


def _take_streams(handed: dict[str, int], *, unbuffered: bool) -> None:
    nothing = os.open(os.devnull, os.O_RDONLY)
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        os.dup2(handed.get(name, nothing), number)
        if name in handed:
            os.close(handed[name])
    os.close(nothing)
    sys.stdin = os.fdopen(0, closefd=False)
    output = os.fdopen(1, "wb", 0 if unbuffered else -1, closefd=False)
    sys.stdout = io.TextIOWrapper(output, write_through=unbuffered)
    errors = os.fdopen(2, "wb", 0, closefd=False)
    sys.stderr = io.TextIOWrapper(errors, errors="backslashreplace", write_through=True)


if __name__ == "__main__":
    # Not as the main module, which the commands will be.
    importlib.import_module("tests.copies").serve(sys.argv[1])
