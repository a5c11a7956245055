"""Fixtures: a store, and the registry of its runs."""

from pathlib import Path

import pytest

from tests.kvopt.best_known.registry import FOUR, LIBRARY, OPTIMAL, PAIR, Sweep, have_library
from tests.kvopt.sweep_tools import Patch


@pytest.fixture(autouse=True)
def _small_library(monkeypatch: Patch) -> None:
    have_library(monkeypatch, *LIBRARY.values())


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
