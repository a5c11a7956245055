"""What a run needs is loaded before its clock starts."""

from __future__ import annotations

import itertools
import time

import pytest

from formulations.bounds import rates
from kvopt.engines import in_seconds
from tests.kvopt.sweep_tools import in_python
from tests.tiers import a_few

#: Prepares a method and runs it; prints which libraries came late.
_RUN = """
import sys
from kvopt.methods.grammar import read_method
from kvopt.running.events import Report
from kvopt.running.preparing import prepare
from kvopt.running.task import Task
import kvopt

instance = kvopt.read("tiny_two_bursts")
task = Task(instance=instance, name=instance.name, method=read_method(sys.argv[1]))
run = prepare(task, Report([].append))
loaded = set(sys.modules)
run(task, Report([].append))
late = {"highspy", "ortools", "pyomo", "scipy", "numba"} & sys.modules.keys() - loaded
print(sorted(late), "pyomo" in loaded)
"""


@pytest.mark.parametrize(
    ("method", "pyomo"),
    a_few(
        [
            ("highs:ilp", True),
            ("search", False),
            ("sorted-lp", True),
            ("cpsat:cpsat-strong", False),
            ("bound:bound-dual", False),
        ],
        3,
    ),
)
def test_libraries_are_loaded_before_the_clock(method: str, pyomo: bool) -> None:
    """No library is left for the counted time, also what Pyomo puts off until its first model."""
    assert in_python(_RUN, method).splitlines()[-1] == f"[] {pyomo}"


def test_kernels_are_compiled_whatever_the_clock_says(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where a busy machine takes an hour for each step, too."""
    compiled: list[str] = []
    clock = itertools.count(step=3600)
    monkeypatch.setattr(time, "monotonic", lambda: float(next(clock)))
    monkeypatch.setattr(rates, "_load_kernel", lambda: compiled.append("machine_prices"))
    in_seconds.compile_kernels()
    assert compiled == ["machine_prices"]
