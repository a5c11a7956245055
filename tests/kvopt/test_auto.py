"""``--solver auto``: the default, at every size."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import pytest

from formulations.valid.volumes import volume_bound
from formulations.valid.windows import start_windows
from heuristics.registry import policies
from heuristics.simulator import run_policy
from instances import Instance, read_instance
from instances.families import am1, am2, amax_trap, chat_lognormal, uniform
from kvopt.engines.auto import chosen_methods
from kvopt.engines.start import is_joined, warm_start_policies
from kvopt.methods.grammar import read_method
from kvopt.running.execute import InterruptedRunError, execute
from kvopt.running.supervise import Look
from kvopt.running.task import Finished, Task
from schedules import check_schedule
from schedules.files import parse_schedule
from tests.kvopt.conftest import ROOT, Command
from tests.oracles.brute_force import brute_force_optimum

pytestmark = pytest.mark.usefixtures("runs_are_copies")

TINY = sorted((ROOT / "instances" / "tiny").glob("*.json"))


def _solve(instance: Instance, seconds: float) -> Finished:
    finished = execute(
        Task(instance, instance.name, read_method("auto"), time_limit=seconds, threads=2)
    )
    assert finished.record.status in ("optimal", "feasible"), finished.record.detail
    return finished


@pytest.mark.parametrize("path", TINY[::8], ids=lambda path: path.stem)
def test_tiny_instances_are_closed(path: Path) -> None:
    """Bound and schedule meet at the brute-force optimum."""
    instance = read_instance(path)
    record = _solve(instance, 60).record
    assert record.lower_bound == record.tel == brute_force_optimum(instance)


@pytest.mark.parametrize(
    "instance", [am2.generate(seed=3), chat_lognormal.generate(n=2000)], ids=["am2", "chat"]
)
def test_larger_ones_end_in_time_with_a_bound(instance: Instance) -> None:
    """In 8 s: a checked schedule no worse than svf's, a bound no worse than the volume bound."""
    finished = _solve(instance, 8)
    record = finished.record
    assert record.seconds < 8 * 1.1 + 2
    assert finished.schedule is not None
    assert check_schedule(instance, parse_schedule(finished.schedule)).valid
    assert record.tel is not None
    assert record.lower_bound is not None
    assert record.tel <= run_policy(policies()["svf"], instance).tel
    assert volume_bound(instance) <= record.lower_bound <= record.tel


@pytest.mark.parametrize(
    ("instance", "names"),
    [
        (am2.generate(seed=3, n=10), ["search:layers"]),
        (am2.generate(seed=3, n=12), ["search:layers"]),
        (am1.generate(seed=0, n=13), ["search:sweep", "search:layers"]),
        (Instance("few", 16_492, chat_lognormal.generate(n=20).requests), ["search:layers"]),
        (am1.generate(seed=0), ["search:sweep", "bound:bound-patterns"]),
        # Patterns of 40 requests in 16,492 tokens are too many to search.
        (Instance("few", 16_492, chat_lognormal.generate(n=40).requests), ["highs:lp-cliques"]),
        (chat_lognormal.generate(n=2000), ["bound:bound-dual"]),
        # Many starts, but of two kinds; and many, each looked at in less than a second.
        (amax_trap.generate(upper=32), ["search:sweep", "bound:bound-patterns"]),
        (uniform.generate(n=200), ["search:sweep", "bound:bound-patterns"]),
        (uniform.generate(n=2000), ["bound:bound-dual"]),
    ],
    ids=[
        "tiny",
        "small",
        "middle",
        "small, large memory",
        "medium",
        "large memory",
        "large",
        "two kinds",
        "many starts",
        "too many starts",
    ],
)
def test_what_runs_beside_the_local_search(instance: Instance, names: list[str]) -> None:
    """Search forwards where few; sweeps where patterns are; else groups, or prices on a grid."""
    found = chosen_methods(instance, start_windows(instance))
    assert [method.text for method in found] == names


def test_warm_starts_begin_with_the_best_and_end_with_the_slow() -> None:
    """On large instances the list is cut short, so smallest volume first must not be cut off."""
    order = warm_start_policies()
    assert order[0].name == "svf"
    slow = [policy.first_fit for policy in order]
    assert slow == sorted(slow)
    assert any(slow)


def test_it_is_the_default(small: Path, solve: Command) -> None:
    """Without --solver and --policy the method is auto."""
    result = solve(small)
    assert result.returncode == 0
    assert any(line.split() == ["method", "auto"] for line in result.stdout.splitlines())


def test_it_takes_no_formulation(small: Path, solve: Command) -> None:
    """auto chooses its formulations itself; naming one alone names its solver."""
    assert solve(small, "--solver", "auto", "--formulation", "ilp").returncode == 2
    result = solve(small, "--formulation", "cpsat")
    assert any(line.split() == ["method", "cpsat:cpsat"] for line in result.stdout.splitlines())


@pytest.mark.parametrize(
    ("method", "n", "given", "joined"),
    [
        ("highs", 21, {}, True),
        ("cpsat", 21, {}, True),
        ("highs", 20, {}, False),
        ("highs:ilp", 21, {}, False),
        ("auto", 21, {}, False),
        ("search", 21, {}, False),
        ("bound", 21, {}, False),
        ("highs", 21, {"prove_anyway": True}, False),
        ("highs", 21, {"warm_start": [0]}, False),
        ("highs", 21, {"batch_time": "unit"}, False),
    ],
)
def test_whom_others_join(method: str, n: int, given: dict[str, Any], joined: bool) -> None:
    """Engines with a model that are asked for by name alone, beyond small sizes, in rounds."""
    instance = am1.generate(seed=0, n=n)
    task = Task(instance, "x", method, **({"prove_anyway": False} | given))
    assert is_joined(read_method(method), task) is joined


def test_where_a_sweep_is_too_large_prices_take_its_place() -> None:
    """It refuses without a word of being done; the run is stopped at the first better bound."""
    task = Task(uniform.generate(n=400), "x", read_method("auto"), time_limit=60, threads=2)
    enough, sources = threading.Event(), set()

    def listen(look: Look) -> None:
        sources.add(look.state.bound_source)
        if look.state.bound_source == "prices of patterns":
            enough.set()

    with pytest.raises(InterruptedRunError):
        execute(task, enough, listen)
    assert sources == {"", "volumes", "prices of patterns"}


@pytest.mark.parametrize("solver", ["highs", "cpsat"])
def test_an_engine_begins_with_the_best_schedule(solver: str) -> None:
    """The local search has one before the model is built, and bounds come from beside it.

    The run is stopped as soon as both have been seen.
    """
    instance = am2.generate(seed=5, n=24)
    task = Task(instance, "x", solver, time_limit=40, threads=1, prove_anyway=False)
    least = run_policy(policies()["svf"], instance).tel
    enough, found_by = threading.Event(), set()

    def listen(look: Look) -> None:
        state = look.state
        found_by.add(state.found_by)
        if state.model and state.bound_source in ("prices of patterns", "search"):
            assert state.upper_bound is not None
            assert state.upper_bound < least
            enough.set()

    with pytest.raises(InterruptedRunError):
        execute(task, enough, listen)
    assert enough.is_set()
    assert "local search" in found_by
