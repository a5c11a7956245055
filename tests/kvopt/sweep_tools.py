"""What tests of runs share: small instances, methods, commands, and who is still alive."""

import contextlib
import io
import json
import os
import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from textwrap import indent
from typing import Any

import psutil
import pytest

from instances import Instance, Request, write_instance
from kvopt.commands.evaluate import main
from kvopt.methods.fingerprint import fingerprint, versions
from kvopt.methods.grammar import read_method
from kvopt.runs.process import Process, watch_process
from kvopt.runs.task import FinishedRun, Task
from kvopt.store import Store
from tests.commands import run_command, run_process

Capture = pytest.CaptureFixture[str]
Patch = pytest.MonkeyPatch
ROOT = Path(__file__).resolve().parents[2]
#: Set in the environment of a command and of all that it starts.
_MARK = "KVOPT_TEST_MARK"
#: Optimum 2 + 4: request 1 starts at its arrival, when request 0 has left.
PAIR = Instance("pair", 5, (Request(0, 0, 1, 2), Request(1, 3, 0, 4)))


def write_small(folder: Path, count: int) -> list[Path]:
    """Write instances of four requests that every policy solves at once; TEL differs by number."""
    folder.mkdir(parents=True, exist_ok=True)
    paths = []
    for number in range(count):
        requests = tuple(Request(i, 0, 1, o) for i, o in enumerate((1, 1, 3, 3 + number)))
        path = folder / f"small_{number}.json"
        write_instance(Instance(f"small_{number}", 5 + number, requests, family="small"), path)
        paths.append(path)
    return paths


class Screen(io.StringIO):
    """A terminal, and what is shown there."""

    def isatty(self) -> bool:
        return True


def task_of(instance: Instance, method: str, *, planned: bool = False, **more: Any) -> Task:
    """Return a run of a method by its text, with its sources and libraries as a sweep plans it."""
    read = read_method(method)
    if planned:
        more |= {"code": fingerprint(read), "versions": versions(read)}
    return Task(instance, instance.name, read, **more)


def own_method(folder: Path, body: str, head: str = "import os, time") -> str:
    """Write a method of one's own, with its body from the third line on; return its text."""
    folder.mkdir(exist_ok=True)
    path = folder / "own.py"
    declared = "def solve(instance, report, seconds, seed, threads):"
    path.write_text(f"{head}\n{declared}\n{indent(body, '    ')}\n", encoding="utf-8")
    return f"file:{path}"


def store_runs(path: Path, *runs: FinishedRun) -> None:
    """Put runs into a store."""
    with closing(Store(path)) as store:
        store.put(*runs)


def wait_until(holds: Callable[[], object], seconds: float = 60) -> None:
    """Wait until something holds; an assertion fails after some seconds."""
    deadline = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < deadline, "it did not happen in time"
        time.sleep(0.02)


_PIPED: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
#: What libraries print goes to standard error.
_ANSWERS = "import sys; from tests.child import open_answers; sys.stdout = open_answers()"


def in_python(code: str, *arguments: object, folder: Path = ROOT, **environment: str) -> str:
    """Return what a fresh interpreter prints, which must come to its end."""
    command = [sys.executable, "-c", f"{_ANSWERS}\n{code}", *arguments]
    environment = os.environ | {"PYTHONPATH": str(ROOT)} | environment
    run = run_process(*command, cwd=folder, env=environment)
    assert run.returncode == 0, run.stderr
    return run.stdout.strip()


def in_fork(code: str, *arguments: object) -> str:
    """Return what a process prints that begins with all that the server of runs has imported."""
    with tempfile.NamedTemporaryFile("r") as printed:
        told = {"code": code, "arguments": [*map(str, arguments)], "printed": printed.name}
        process = Process("tests.stand_in:execute", f"{json.dumps(told)}\n", compiler=True)
        outcome = watch_process(
            process, lambda _: None, lambda: "time_limit" if process.age() > 120 else None
        )
        assert (outcome.ending, outcome.detail) == ("finished", ""), outcome
        return printed.read().strip()


def start_solve(*arguments: object) -> subprocess.Popen[str]:
    """Start ``solve.py``; its output is piped."""
    command = [sys.executable, str(ROOT / "solve.py"), *map(str, arguments)]
    return subprocess.Popen(command, **_PIPED, start_new_session=True)


def ended(process: subprocess.Popen[str], timeout: float = 120) -> subprocess.CompletedProcess[str]:
    """Wait for the end of a process, and return what it has printed."""
    out, err = process.communicate(timeout=timeout)
    return subprocess.CompletedProcess(process.args, process.returncode, out, err)


def wait_for_an_incumbent(process: subprocess.Popen[str]) -> None:
    """Read what ``solve.py`` prints until a policy has found a schedule."""
    assert process.stdout is not None
    while "policy" not in process.stdout.readline():
        assert process.poll() is None


def summary_of(output: str) -> dict[str, str]:
    """Return labels and values of a summary, of several lines of a label the last."""
    cells = (line.partition("  ") for line in output.splitlines())
    return {label: value.strip() for label, _, value in cells if value}


@dataclass
class Evaluate:
    """Starts ``evaluate.py`` and knows all processes that come of it."""

    arguments: Sequence[object]
    mark: str = field(default_factory=lambda: uuid.uuid4().hex)

    def line(self) -> list[str]:
        """Return what is started."""
        return [sys.executable, str(ROOT / "evaluate.py"), *map(str, self.arguments)]

    def start(self) -> subprocess.Popen[str]:
        """Start the command; its output is piped."""
        return subprocess.Popen(self.line(), **_PIPED, env=os.environ | {_MARK: self.mark})

    def run(self, timeout: float = 120) -> subprocess.CompletedProcess[str]:
        """Run the command to its end."""
        return ended(self.start(), timeout)

    def call(self) -> subprocess.CompletedProcess[str]:
        """Do the same here, for what it stores and says: its processes are not told as alive."""
        return run_command(main, *self.arguments)

    def killed_when(self, holds: Callable[[], object]) -> list[str]:
        """Start the command, kill it as soon as something holds, and return what is left."""
        process = self.start()
        wait_until(holds)
        process.kill()
        process.communicate()
        return self.alive()

    def alive(self) -> list[str]:
        """Return the command lines of processes that are left after five seconds' grace."""
        deadline = time.monotonic() + 5
        while (found := self._processes()) and time.monotonic() < deadline:
            time.sleep(0.05)
        return [" ".join(line) for line in found.values()]

    def _processes(self) -> dict[psutil.Process, list[str]]:
        found = {}
        for process in psutil.process_iter():
            try:
                if process.environ().get(_MARK) == self.mark and process.status() != "zombie":
                    found[process] = process.cmdline()
            except psutil.Error:
                continue
        return found

    def workers(self) -> int:
        """Return how many processes of runs are there now: below a keeper, below the server."""
        lines = self._processes().items()
        forked = {each.pid: each for each, line in lines if "kvopt.runs.fork_server" in line}
        with contextlib.suppress(psutil.Error):
            above = [forked.get(each.ppid()) for each in forked.values()]
            return sum(each is not None and each.ppid() in forked for each in above)
        return 0
