"""What the tests of sweeps share: small instances, the command, and who is still alive."""

from __future__ import annotations

import os
import subprocess
import sys
import time
import uuid
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import psutil

from instances import Instance, Request, write_instance
from kvopt.commands.evaluate import main
from kvopt.store.export import read_rows
from tests.commands import run_command

ROOT = Path(__file__).resolve().parents[2]
#: Set in the environment of a command and of all that it starts.
_MARK = "KVOPT_TEST_MARK"


def write_small(folder: Path, count: int) -> list[Path]:
    """Write instances of four requests that every policy solves at once; TEL differs by number."""
    paths = []
    for number in range(count):
        requests = tuple(Request(i, 0, 1, o) for i, o in enumerate((1, 1, 3, 3 + number)))
        path = folder / f"small_{number}.json"
        write_instance(Instance(f"small_{number}", 5 + number, requests, family="small"), path)
        paths.append(path)
    return paths


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
        return subprocess.Popen(
            self.line(),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=os.environ | {_MARK: self.mark},
        )

    def run(self, timeout: float = 120) -> subprocess.CompletedProcess[str]:
        """Run the command to its end."""
        process = self.start()
        out, err = process.communicate(timeout=timeout)
        return subprocess.CompletedProcess(process.args, process.returncode, out, err)

    def call(self) -> subprocess.CompletedProcess[str]:
        """Do the same here, for what it stores and says: its processes are not told as alive."""
        return run_command(main, *self.arguments)

    def alive(self) -> list[str]:
        """Return the command lines of processes that are left after five seconds' grace."""
        deadline = time.monotonic() + 5
        while (found := self.living()) and time.monotonic() < deadline:
            time.sleep(0.05)
        return found

    def living(self) -> list[str]:
        """Return the command lines of the processes that are there now."""
        found = []
        for process in psutil.process_iter():
            try:
                if process.environ().get(_MARK) == self.mark and process.status() != "zombie":
                    found.append(" ".join(process.cmdline()))
            except psutil.Error:
                continue
        return found


def statuses(store: Path) -> dict[tuple[str, str], str]:
    """Return the status of every stored run by instance and method."""
    rows = read_rows(store)
    return dict(
        zip(zip(rows["instance"], rows["method"], strict=True), rows["status"], strict=True)
    )
