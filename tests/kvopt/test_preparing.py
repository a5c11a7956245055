"""What is done before the clock of a run starts: loading, and what can be while kernels compile."""

from __future__ import annotations

import itertools
import time
from pathlib import Path

import pytest

from kvopt.methods.grammar import read_method
from kvopt.runs.events import BoundProved, Compiling, Event, Report, ScheduleFound
from kvopt.runs.preparing import prepare
from kvopt.runs.task import Task
from serving import engine
from serving.bounds import rates
from tests.kvopt.conftest import HARD
from tests.kvopt.sweep_tools import in_python
from tests.tiers import a_few


def test_a_run_has_a_bound_and_a_schedule_while_kernels_compile(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They come at second 0, before the first word of compiling; the engine begins after it."""
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    events: list[Event] = []

    def take(event: Event) -> None:
        events.append(event)
        if isinstance(event, Compiling):
            raise InterruptedError

    with pytest.raises(InterruptedError):
        prepare(Task(HARD, "hard", read_method("improve")), Report(take))
    bound, schedule, first, *_ = events
    assert isinstance(bound, BoundProved)
    assert isinstance(schedule, ScheduleFound)
    assert (bound.seconds, schedule.seconds) == (0.0, 0.0)
    assert isinstance(first, Compiling)


#: Prepares a method and runs it; prints which libraries came late.
_RUN = """
import sys
from kvopt.methods.grammar import read_method
from kvopt.runs.events import Report
from kvopt.runs.preparing import prepare
from kvopt.runs.task import Task
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
    engine.compile_kernels()
    assert compiled == ["machine_prices"]
