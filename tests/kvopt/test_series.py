"""Many policies within one limit: what each comes to, and what is lost with one that is."""

import time
from pathlib import Path

import pytest

import kvopt
import kvopt.runs.supervise
from instances import Instance, Request
from kvopt.runs.methods_in_turn import MethodSeries
from kvopt.runs.task import Task
from tests.kvopt.sweep_tools import Patch, task_of

FOUR = Instance("four", 6, tuple(Request(i, i % 2, 1 + i % 3, 1 + (2 * i) % 4) for i in range(4)))

_LOOPS = "def solve(instance):\n    while True:\n        pass\n"
_DIES = "import os, signal\ndef solve(instance):\n    os.kill(os.getpid(), signal.SIGKILL)\n"
#: Slowly, so that the limit is what stops it, however late its parent looks.
_EATS = """\
import time
def solve(instance):
    kept = []
    while True:
        kept.append(bytes([1]) * 30_000_000)
        time.sleep(0.03)
"""
_RAISES = "def solve(instance):\n    raise ValueError('no')\n"
_LIES = "def solve(instance):\n    return [0] * len(instance.requests)\n"


def _tasks(folder: Path, *methods: str, memory_limit: float | None = None) -> list[Task]:
    """Return tasks of policies by name, and of methods of one's own by their source."""
    tasks = []
    for number, text in enumerate(methods):
        if text.startswith(("def", "import")):
            path = folder / f"own_{number}.py"
            path.write_text(text)
            text = f"file:{path}"
        tasks.append(task_of(FOUR, text, memory_limit=memory_limit))
    return tasks


@pytest.mark.slow("walks")
def test_one_after_the_other(tmp_path: Path) -> None:
    """In the order of the tasks; each with its own schedule, as it has alone, and bounds."""
    names = ["svf", "sorted-lp", "vllm-v1", "fcfs", "lp-swap", "a-min"]
    series = MethodSeries(_tasks(tmp_path, *names), time.monotonic() + 60)
    found = list(series.run())
    assert [each.record.method for each in found] == names
    assert {each.record.status for each in found} <= {"feasible", "optimal"}
    assert not series.waiting
    for each in found:
        alone = kvopt.run(FOUR, each.record.method)
        assert (each.record.tel, each.record.lower_bound) == (alone.tel, alone.bound)
        assert each.record.found_by == f"policy {each.record.method}"


@pytest.mark.slow("waits")
def test_a_lost_one_costs_no_other(tmp_path: Path) -> None:
    """One that loops, one that dies, one that eats memory: the rest goes on."""
    methods = ["svf", _EATS, "fcfs", _DIES, "h-sf", _LOOPS, "mc-sf", _RAISES, _LIES, "svf-1bit"]
    tasks = _tasks(tmp_path, *methods, memory_limit=0.7)
    found = list(MethodSeries(tasks, time.monotonic() + 24).run())
    by_method = {each.record.method: each.record for each in found}
    assert set(by_method) == {task.method.text for task in tasks}
    endings = [by_method[f"file:own_{number}.py"].ending for number in (1, 3, 5)]
    assert endings == ["memory_limit", "crashed", "time_limit"]
    # The half of 24 seconds, and what a method of one's own gets to end in.
    assert 1 <= by_method["file:own_5.py"].time_limit < 13.1
    assert by_method["file:own_7.py"].status == "error"
    assert by_method["file:own_8.py"].status == "refused"
    for name in ("svf", "fcfs", "h-sf", "mc-sf", "svf-1bit"):
        assert by_method[name].tel == kvopt.run(FOUR, name).tel


def test_nothing_is_lost_at_an_interrupt(tmp_path: Path, monkeypatch: Patch) -> None:
    """What was found before Ctrl-C is there, the one under way says so, the others wait."""
    tasks = _tasks(tmp_path, "svf", "fcfs", _LOOPS, "h-sf", "mc-sf")
    series = MethodSeries(tasks, time.monotonic() + 60)
    over = kvopt.runs.supervise._Run.over

    def interrupted(run: kvopt.runs.supervise._Run) -> object:
        if run.state.method == tasks[2].method.text and run.ready is not None:
            raise KeyboardInterrupt
        return over(run)

    monkeypatch.setattr(kvopt.runs.supervise._Run, "over", interrupted)
    found = list(series.run())
    assert [each.record.tel is not None for each in found] == [True, True, False]
    assert found[2].record.ending == "interrupted"
    assert series.interrupted
    assert [task.method.text for task in series.waiting] == ["h-sf", "mc-sf"]


def test_the_first_may_take_all(tmp_path: Path) -> None:
    """Of a minute and four methods the first has a half, however many wait, or all."""
    methods = ("svf", "fcfs", "mc-sf", "svf-first-fit")
    limits = []
    for whole in (False, True):
        series = MethodSeries(_tasks(tmp_path, *methods), time.monotonic() + 60, first_whole=whole)
        found = list(series.run())
        assert [each.record.status for each in found] == ["feasible"] * 4
        limits.append(found[0].record.time_limit)
        assert found[1].record.time_limit < 31
    assert 20 < limits[0] < 31 < limits[1]


def test_what_the_end_of_the_time_stops_was_not_run(tmp_path: Path) -> None:
    """It has had no share that it could be said to have used up, and waits with the others."""
    series = MethodSeries(_tasks(tmp_path, _LOOPS, "svf"), time.monotonic() + 1.2, first_whole=True)
    assert (list(series.run()), len(series.waiting)) == ([], 2)
