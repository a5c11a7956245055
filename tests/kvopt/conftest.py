"""Small instances as files, and the command as a user calls it."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from instances import Instance, Request, write_instance

ROOT = Path(__file__).resolve().parents[2]
Command = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def solve() -> Command:
    """Run ``solve.py`` with the given arguments."""

    def run(*arguments: object, timeout: float = 120) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, str(ROOT / "solve.py"), *map(str, arguments)],
            capture_output=True,
            text=True,
            timeout=timeout,
        )

    return run


@pytest.fixture
def small(tmp_path: Path) -> Path:
    """An instance whose optimum, 12, no policy finds (J1 Theorem 4.2's counterexample)."""
    path = tmp_path / "small.json"
    requests = tuple(Request(i, 0, 1, o) for i, o in enumerate((1, 1, 3, 3)))
    write_instance(Instance("small", 5, requests), path)
    return path


@pytest.fixture
def hard(tmp_path: Path) -> Path:
    """An am1-like instance that no engine closes within seconds."""
    path = tmp_path / "hard.json"
    requests = tuple(Request(i, 0, 1 + i % 5, 2 + (7 * i) % 38) for i in range(45))
    write_instance(Instance("hard", 45, requests), path)
    return path
