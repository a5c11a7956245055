"""The randomised attack on a few instances: it passes, and it can fail.

``python -m tools.attack`` is the whole of it.
"""

import random
from pathlib import Path

import pytest

from formulations.formulation_registry import formulations
from heuristics.policy_registry import policies
from instances import Instance, Request
from kvopt.methods.grammar import read_method, with_prediction
from kvopt.methods.option_values import read_formulation
from kvopt.runs.events import BoundProved, Event, MethodFailed, RelaxationSolved, ScheduleFound
from schedules import check_schedule, make_schedule
from tests.oracles.brute_force import brute_force_optimum
from tools.attack.__main__ import report, run
from tools.attack.choices import RESTARTING, draw_formulation, draw_policy, switches
from tools.attack.judge import judge
from tools.attack.oracle import best_first_optimum
from tools.attack.shapes import draw_instance

#: Two requests (0, 3), M = 5: at time 3 the first holds 3, so the second starts at 1 or later, and
#: OPT = 3 + 4.
TWO = Instance("two", 5, (Request(0, 0, 0, 3), Request(1, 0, 0, 3)))

#: An engine's process in which every bound is one too high.
LIAR = """
from kvopt.runs.events import EventReport
from tests import engine_batch

say = EventReport.bound
EventReport.bound = lambda self, value, *rest, **named: say(self, value + 1, *rest, **named)
engine_batch.main()
"""


def test_two_oracles_agree() -> None:
    """Best-first search over rounds and start by start give one optimum, and its schedule."""
    hard = 0
    for seed in range(150):
        instance = draw_instance(random.Random(seed), "drawn")
        found = best_first_optimum(instance)
        assert found is not None
        optimum, starts = found
        schedule = make_schedule(instance, list(starts), "oracle")
        assert check_schedule(instance, schedule).valid
        assert optimum == schedule.tel == brute_force_optimum(instance)
        hard += optimum > sum(request.output for request in instance.requests)
    # In most of them the requests are in each other's way.
    assert hard > 60


def test_every_method_and_switch_is_drawn() -> None:
    """All formulations, both values of every switch and all policies come, and can be read."""
    draws = random.Random(0)
    methods = [draw_formulation(draws) for _ in range(1500)]
    covered = {each for method in methods for each in switches(method)}
    for name, formulation in formulations().items():
        assert (name in covered) == formulation.in_rounds
        if not formulation.in_rounds:
            continue
        for option in formulation.options:
            if isinstance(option.default, bool):
                assert {f"{name} {option.name}={word}" for word in ("yes", "no")} <= covered
    assert all(read_formulation(method) for method in methods)
    for last, left_out in ((3, set()), (10**12, set(RESTARTING))):
        instance = Instance("i", 9, (Request(0, 0, 1, 1), Request(1, last, 1, 1)))
        drawn = [with_prediction(*draw_policy(draws, instance)) for _ in range(1500)]
        calls = [read_method(text).call for text in drawn]
        assert {call and call.policy.name for call in calls} == set(policies()) - left_out


def test_a_few_instances_pass(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """No fault in a handful, with every engine, and every row is in the file."""
    path = tmp_path / "rows.jsonl"
    rows = run(path, 5, 6, 2)
    assert [row["number"] for row in rows] == list(range(6))
    assert len(path.read_text(encoding="utf-8").splitlines()) == 6
    assert report(rows, 5) == 0
    assert capsys.readouterr().out.splitlines()[-1].endswith("no fault")


def test_a_lying_engine_is_caught(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Where every bound is one too high, the verdict says so and the exit code is 1."""
    rows = run(tmp_path / "rows.jsonl", 5, 1, 1, engine=("-c", LIAR))
    assert report(rows, 5) == 1
    said = capsys.readouterr().out
    assert "above the optimum" in said
    assert "status error" in said


def test_every_kind_of_fault_is_named() -> None:
    """Bounds, relaxations, certificates, schedules and errors, each alone."""
    proof = {"kind": "prices", "value": 7}
    wrong: dict[str, Event] = {
        "above the optimum": BoundProved(value=8, source="x"),
        "relaxation 7.1": RelaxationSolved(value=7.1, expected_starts=[0, 1]),
        "proves 6": BoundProved(value=7, source="x", certificate=proof),
        "is refused": BoundProved(value=7, source="x", certificate={"kind": "?"}),
        "checker refuses": ScheduleFound(starts=[0, 0]),
        "says no": MethodFailed(text="no"),
    }
    for text, event in wrong.items():
        found = judge(TWO, 7, [0, 3], "search:layers", [event])["faults"]
        assert any(text in fault for fault in found), (text, found)
    # A claim of optimality of a schedule that is not, from an oracle's view.
    found = judge(TWO, 7, [0, 3], "search:layers", [BoundProved(value=9, source="x")])
    assert any("status optimal with TEL 9" in fault for fault in found["faults"])
    right: list[Event] = [BoundProved(value=7, source="x"), ScheduleFound(starts=[0, 1])]
    assert judge(TWO, 7, [0, 3], "search:layers", right)["faults"] == []
