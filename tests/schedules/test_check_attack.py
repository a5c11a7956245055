"""The checker under attack: random and damaged schedules, judged once more token by token."""

from __future__ import annotations

import random
from collections import Counter
from typing import Any

import pytest
from pydantic import ValidationError

from instances import Instance, Request
from schedules import Schedule
from schedules.check import check_schedule
from schedules.metrics import measure
from schedules.picture import _stacked
from tests.oracles.brute_force import brute_force_optimum
from tests.oracles.literal_checker import Row, literal_verdict
from tests.schedules.drawn import damaged, draw_possible, draw_rows


def an_instance(rows: list[Row], memory: int) -> Instance:
    """Build an instance from rows (arrival, prompt, output)."""
    return Instance("drawn", memory, tuple(Request(i, *row) for i, row in enumerate(rows)))


def a_schedule(instance: Instance, document: dict[str, Any]) -> Schedule:
    """Build a schedule from what was drawn."""
    return Schedule(instance="drawn", instance_sha256=instance.sha256, method="drawn", **document)


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
    instance = an_instance(rows, memory)
    expected = literal_verdict(rows, memory, document)
    try:
        schedule = a_schedule(instance, document)
    except ValidationError:
        # Negative numbers and empty lists of starts are refused before the checker sees them.
        return "refused", "" if expected[0] == "malformed" else f"{expected} {rows} {document}"
    verdict = check_schedule(instance, schedule)
    found = verdict.kind, verdict.time
    return verdict.kind, "" if found == expected else f"{found} {expected} {rows} {document}"


@pytest.mark.parametrize("block", range(4))
def test_both_checkers_agree(block: int) -> None:
    """Kind and first violating time are those that following each token finds."""
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
    instance = an_instance(rows, memory)
    try:
        schedule = a_schedule(instance, document)
    except ValidationError:
        return "not built"
    kind = check_schedule(instance, schedule).kind
    try:
        measure(instance, schedule)
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


def below_optimum(seed: int, keep: bool) -> bool:
    """Tell whether a drawn schedule that the checker lets pass has a TEL below OPT."""
    rng = random.Random(seed)
    rows, memory = draw_rows(rng)
    document = draw_possible(rng, rows, memory, keep)
    instance = an_instance(rows, memory)
    schedule = a_schedule(instance, document)
    assert check_schedule(instance, schedule).valid
    # Each request makes all its tokens one a round, kept or not, so no latency is below its output.
    assert schedule.tel >= sum(output for _, _, output in rows)
    assert schedule.keeps_tokens <= keep
    return schedule.tel < brute_force_optimum(instance)


def test_no_valid_schedule_is_better_than_the_optimum() -> None:
    """Cancelled attempts help nobody; only schedules that keep tokens may be below OPT."""
    assert not any(below_optimum(seed, keep=False) for seed in range(300))
