"""``--solver auto``: the default, at every size."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from formulations.bounds.volume import volume_bound
from formulations.registry import formulations
from formulations.windows import start_windows
from heuristics.registry import policies
from heuristics.simulator import run_policy
from instances import Instance, read_instance
from instances.families import am1, am2, chat
from kvopt.engines.auto import chosen_formulations, solve_auto
from kvopt.engines.exact import Progress, final_status, warm_start_policies
from schedules import check_schedule
from tests.kvopt.conftest import ROOT, Command
from tests.oracles.brute_force import brute_force_optimum

TINY = sorted((ROOT / "instances" / "tiny").glob("*.json"))


def _solve(instance: Instance, seconds: float) -> Progress:
    progress, outcome = solve_auto(
        instance,
        deadline=time.monotonic() + seconds,
        threads=2,
        seed=0,
        memory_limit=None,
        on_progress=lambda _progress, _improved: None,
    )
    assert not progress.refused
    assert final_status(progress, outcome) != "error"
    return progress


@pytest.mark.parametrize("path", TINY[::8], ids=lambda path: path.stem)
def test_tiny_instances_are_closed(path: Path) -> None:
    """Bound and schedule meet at the brute-force optimum."""
    instance = read_instance(path)
    progress = _solve(instance, 60)
    assert progress.schedule is not None
    assert progress.lower_bound == progress.schedule.tel == brute_force_optimum(instance)


@pytest.mark.parametrize(
    "instance", [am2.generate(seed=3), chat.generate(n=2000)], ids=["am2", "chat"]
)
def test_larger_ones_end_in_time_with_a_bound(instance: Instance) -> None:
    """In 8 s: a checked schedule no worse than svf's, a bound no worse than the volume bound."""
    started = time.monotonic()
    progress = _solve(instance, 8)
    assert time.monotonic() - started < 8 * 1.1 + 2
    assert progress.schedule is not None
    assert check_schedule(instance, progress.schedule).valid
    assert progress.schedule.tel <= run_policy(policies()["svf"], instance).tel
    assert volume_bound(instance) <= progress.lower_bound <= progress.schedule.tel


@pytest.mark.parametrize(
    ("instance", "names"),
    [
        (am2.generate(seed=3, n=12), ["layers"]),
        (am1.generate(seed=0), ["lp-cliques", "bound-patterns"]),
        # Patterns of 40 requests in 16,492 tokens are too many to search.
        (Instance("few", 16_492, chat.generate(n=40).requests), ["lp-cliques"]),
        (chat.generate(n=2000), ["bound-dual"]),
    ],
    ids=["small", "medium", "large memory", "large"],
)
def test_what_runs_beside_the_local_search(instance: Instance, names: list[str]) -> None:
    """By size: exact search; groups, then patterns where these are few; prices on a grid."""
    assert chosen_formulations(instance, start_windows(instance)) == names
    assert all(name in formulations() for name in names)


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
    assert "cpsat cpsat" in result.stdout
