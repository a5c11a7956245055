"""Every registered policy passes these tests unasked: adding a policy adds its cases."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import heuristics.policies
from heuristics.policy_registry import policies
from heuristics.simulator import RunSetting, run_policy
from instances import Instance, Request
from schedules import check_schedule
from tests.heuristics.contract import begins_before, run
from tests.oracles.brute_force import brute_force_optimum
from tests.oracles.draws import instance_of, instances
from tests.tiers import a_few

ALL = sorted(policies())
RANDOM = [name for name in ALL if policies()[name].randomised]


@pytest.mark.parametrize("name", ALL)
@given(instance=instances(max_requests=12), seed=st.integers(0, 5))
@settings(max_examples=40, deadline=None)
def test_schedule_passes_the_checker(name: str, instance: Instance, seed: int) -> None:
    """The independent checker accepts every schedule, each request served once."""
    schedule = run(name, instance, seed)
    if schedule is not None:
        verdict = check_schedule(instance, schedule)
        assert verdict.valid, verdict.reason


@pytest.mark.parametrize("name", ALL)
@given(instance=instances(max_requests=8), seed=st.integers(0, 5))
@settings(max_examples=25, deadline=None)
def test_same_seed_same_schedule(name: str, instance: Instance, seed: int) -> None:
    """A second run repeats the first, of what is not randomised with any seed."""
    assert run(name, instance, seed) == run(name, instance, seed + (name not in RANDOM))


@pytest.mark.parametrize("name", sorted(set(RANDOM) - {"local-search"}))
def test_some_seeds_differ(name: str) -> None:
    """Where sixty requests behind one interval crowd the memory; the search may find one only."""
    # With 20 / 50, above (3 − √5)/2, A_switch is A_min, which draws.
    sizes = np.random.default_rng(7).integers(20, 50, (60, 2)).tolist()
    instance = instance_of(100, *((0, s, o, 20, 50) for s, o in sizes))
    values = {"order": "random"} if name == "sglang-ratio" else {}
    runs = [run_policy(policies()[name], instance, RunSetting(values, seed=k)) for k in range(4)]
    assert len({(each.starts, each.attempts) for each in runs}) > 1


@pytest.mark.parametrize("name", [name for name in ALL if not policies()[name].offline])
@given(instance=instances(max_requests=8))
@settings(max_examples=30, deadline=None)
def test_never_looks_at_the_future(name: str, instance: Instance) -> None:
    """Changing what has not arrived yet leaves everything that began before as it was."""
    cut = max(int(request.arrival) for request in instance.requests)
    changed = tuple(
        request
        if request.arrival < cut
        else Request(request.id, cut + 3, 0, min(1, instance.memory))
        for request in instance.requests
    )
    other = Instance("changed", instance.memory, changed)
    before, after = run(name, instance), run(name, other)
    if before is not None and after is not None:
        assert begins_before(instance, before, cut) == begins_before(other, after, cut)


@pytest.mark.parametrize("name", ALL)
def test_an_idle_worker_between_arrivals(name: str) -> None:
    """An empty queue is waited out; a lone request starts in the round in which it arrives."""
    instance = Instance("gap", 6, (Request(0, 2, 1, 1), Request(1, 40, 2, 3)))
    schedule = run(name, instance)
    assert schedule is not None
    assert schedule.starts == (2, 40)


@pytest.mark.parametrize("name", a_few(sorted(ALL, key="las".__eq__), len(ALL) - 1))
def test_tokens_near_the_largest_allowed(name: str) -> None:
    """Volumes of 10^9-token requests do not overflow 64-bit integers."""
    instance = instance_of(10**9, (0, 0, 10**9), (0, 10**9 - 1, 1), (7, 1, 1))
    schedule = run(name, instance)
    assert schedule is None or check_schedule(instance, schedule).valid


def test_counterexample_to_shortest_first() -> None:
    """J1 Theorem 4.2 fails at M = 5, s = 1, o = (1, 1, 3, 3): MC-SF needs 13, OPT is 12."""
    instance = instance_of(5, *((0, 1, o) for o in (1, 1, 3, 3)))
    # Both short ones at 0 (2 + 2 tokens at round 1), the long ones at 1 and 4: 1 + 1 + 4 + 7.
    assert run_policy(policies()["mc-sf"], instance).tel == 13
    # A swapped list reaches the optimum.
    assert run_policy(policies()["local-search"], instance).tel == 12
    assert brute_force_optimum(instance) == 12


def test_every_file_is_a_policy_with_a_summary() -> None:
    """Each file of the folder is listed under its name with hyphens, with a line to print."""
    folder = Path(heuristics.policies.__path__[0])
    expected = {path.stem.replace("_", "-") for path in folder.glob("[!_]*.py")}
    assert set(policies()) == expected
    assert all(policy.summary for policy in policies().values())


def test_a_new_file_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file dropped into the folder is a policy at once; a file without one is refused."""
    monkeypatch.setattr(heuristics.policies, "__path__", [str(tmp_path)])
    policies.cache_clear()
    try:
        (tmp_path / "longest.py").write_text(
            '"""Longest first."""\n'
            "from heuristics.policy import ListPolicy\n"
            'POLICY = ListPolicy("longest", rank=lambda known: (-known.outputs,))\n'
        )
        assert policies()["longest"].summary == "Longest first."
        policies.cache_clear()
        (tmp_path / "nothing.py").write_text('"""No policy."""\n')
        with pytest.raises(TypeError, match="expected a POLICY"):
            policies()
    finally:
        policies.cache_clear()
