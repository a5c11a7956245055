"""The checker under attack: random and damaged schedules, judged once more token by token."""

import random
from collections import Counter
from typing import Any

import pytest
from pydantic import ValidationError

from heuristics.policy_registry import policies
from instances import Instance
from kvopt.runs.state import RunState
from schedules import Schedule
from schedules.check import check_schedule
from schedules.schedule_metrics import mean_memory
from schedules.schedule_picture import _stacked
from tests.heuristics.contract import run
from tests.oracles.brute_force import brute_force_optimum
from tests.oracles.draws import instance_of
from tests.oracles.literal_checker import Judged, Row, literal_verdict
from tests.schedules.drawn import damaged, draw_possible, draw_rows


def a_schedule(instance: Instance, document: dict[str, Any]) -> Schedule:
    """Build a schedule from what was drawn."""
    return Schedule(instance="made", instance_sha256=instance.sha256, method="drawn", **document)


def drawn(seed: int) -> tuple[list[Row], int, dict[str, Any]]:
    """Draw requests, a memory and a schedule, which is damaged in four of five cases."""
    rng = random.Random(seed)
    rows, memory = draw_rows(rng)
    document = draw_possible(rng, rows, memory, keep=rng.random() < 0.7)
    if rng.random() < 0.8:
        document = damaged(rng, document, rows)
    return rows, memory, document


def disagreement(seed: int) -> tuple[str, str]:
    """Judge one drawn schedule both ways; return the kind and, if they differ, what was drawn."""
    rows, memory, document = drawn(seed)
    instance = instance_of(memory, *rows)
    expected = literal_verdict(rows, memory, document)
    try:
        schedule = a_schedule(instance, document)
    except ValidationError:
        # Negative numbers and empty lists of starts are refused before the checker sees them.
        return "refused", "" if expected.kind == "malformed" else f"{expected} {rows} {document}"
    verdict = check_schedule(instance, schedule)
    ids = verdict.request_ids if verdict.kind == "infeasible" else ()
    words = expected.words if expected.words in verdict.reason else verdict.reason
    found = Judged(verdict.kind, verdict.time, verdict.tokens, ids, words)
    return verdict.kind, "" if found == expected else f"{found} {expected} {rows} {document}"


def below_optimum(seed: int, keep: bool) -> bool:
    """Return whether a drawn schedule that the checker lets pass has a TEL below OPT."""
    rng = random.Random(seed)
    rows, memory = draw_rows(rng)
    document = draw_possible(rng, rows, memory, keep)
    instance = instance_of(memory, *rows)
    schedule = a_schedule(instance, document)
    assert check_schedule(instance, schedule).valid
    # Each request makes all its tokens one a round, kept or not, so no latency is below its output.
    assert schedule.tel >= sum(output for _, _, output in rows)
    assert keep or not schedule.easier
    return schedule.tel < brute_force_optimum(instance)


@pytest.mark.parametrize("block", range(4))
def test_both_checkers_agree(block: int) -> None:
    """Kind, first violating time, tokens held, ids and words are those of following each token."""
    kinds: Counter[str] = Counter()
    for seed in range(1000 * block, 1000 * block + 1000):
        kind, difference = disagreement(seed)
        assert not difference, f"seed {seed}: {difference}"
        kinds[kind] += 1
    # A test that draws nothing valid, or nothing damaged, would show nothing.
    assert min(kinds[kind] for kind in ("valid", "malformed", "infeasible")) > 50


def describe(seed: int) -> str:
    """Measure and draw a schedule; return its kind, or what refused a damaged one."""
    rows, memory, document = drawn(seed)
    instance = instance_of(memory, *rows)
    try:
        schedule = a_schedule(instance, document)
    except ValidationError:
        return "not built"
    kind = check_schedule(instance, schedule).kind
    try:
        mean_memory(instance, schedule)
        _stacked(instance, schedule)
    except ValueError:
        # A possible schedule can be drawn unless its rounds are too large.
        assert kind != "valid" or max(schedule.starts) > 2**52
        return "refused"
    return kind


def test_no_schedule_breaks_metrics_and_picture() -> None:
    """Damaged ones raise ValueError and nothing else; possible ones are measured."""
    kinds = Counter(describe(seed) for seed in range(1000))
    assert min(kinds["valid"], kinds["refused"]) > 100


def test_no_valid_schedule_is_better_than_the_optimum() -> None:
    """Cancelled attempts help nobody; only schedules that keep tokens may be below OPT."""
    assert not any(below_optimum(seed, keep=False) for seed in range(500))
    assert any(below_optimum(seed, keep=True) for seed in range(500))


def test_policies_are_optimal_where_they_are() -> None:
    """With OPT as a bound, a run is optimal where its schedule kept nothing and has that TEL."""
    kept = 0
    for seed in range(25):
        rows, memory = draw_rows(random.Random(seed), 5)
        instance = instance_of(memory, *rows)
        optimum = brute_force_optimum(instance)
        for name in policies():
            # Its seconds are for large instances.
            if name == "local-search" or (schedule := run(name, instance, seed)) is None:
                continue
            state = RunState(instance, name)
            assert state.offer(schedule, name), (seed, name, state.refused)
            state.raise_bound(optimum, "brute force")
            right = schedule.tel == optimum and not schedule.easier
            assert state.standing() == ("optimal" if right else "feasible"), (seed, name)
            kept += bool(schedule.easier)
    assert kept > 0
