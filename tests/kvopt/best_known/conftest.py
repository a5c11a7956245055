"""Fixtures: a store, and the registry of its runs."""

from __future__ import annotations

from pathlib import Path

import pytest

from kvopt.best_known import __main__ as command
from kvopt.best_known import prove
from tests.kvopt.best_known.registry import FOUR, LIBRARY, OPTIMAL, PAIR, WORSE, Sweep


@pytest.fixture(autouse=True)
def _small_library(monkeypatch: pytest.MonkeyPatch) -> None:
    for each in (command, prove):
        monkeypatch.setattr(each, "library_by_hash", lambda: dict(LIBRARY))


@pytest.fixture
def sweep(tmp_path: Path) -> Sweep:
    """A store in which ``pair`` is proved by its volumes, and no registry."""
    found = Sweep(tmp_path)
    found.run(PAIR, "svf", [0, 1], 3, "volumes")
    return found


@pytest.fixture
def proved(sweep: Sweep) -> Sweep:
    """``four`` is reported by two solvers as proved."""
    sweep.run(FOUR, "cpsat:cpsat", OPTIMAL, 12, "CP-SAT")
    sweep.run(FOUR, "highs:ilp", OPTIMAL, 12, "HiGHS", day=2)
    assert sweep.merge() == 0
    return sweep


@pytest.fixture
def lied(sweep: Sweep) -> Sweep:
    """Two solvers report 13 as the optimum of ``four``, which is 12."""
    sweep.run(FOUR, "cpsat:cpsat", WORSE, 13, "CP-SAT")
    sweep.run(FOUR, "highs:ilp", WORSE, 13, "HiGHS", day=2)
    assert sweep.merge() == 0
    return sweep
