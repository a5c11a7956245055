"""The checker under attack: random and damaged schedules, judged once more token by token."""

from __future__ import annotations

from collections import Counter

import pytest
from pydantic import ValidationError

from schedules.check import check_schedule
from schedules.metrics import measure
from schedules.picture import _stacked
from tests.schedules.attack import a_schedule, an_instance, below_optimum, disagreement, drawn


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


def test_no_valid_schedule_is_better_than_the_optimum() -> None:
    """Cancelled attempts help nobody; only schedules that keep tokens may be below OPT."""
    assert not any(below_optimum(seed, keep=False) for seed in range(300))
