"""What the checker is attacked with: drawn schedules, judged once more token by token."""

from __future__ import annotations

import random
from typing import Any

from pydantic import ValidationError

from instances import Instance
from schedules import Schedule
from schedules.check import check_schedule
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
    """Tell whether a drawn schedule that the checker lets pass has a TEL below OPT."""
    rng = random.Random(seed)
    rows, memory = draw_rows(rng)
    document = draw_possible(rng, rows, memory, keep)
    instance = instance_of(memory, *rows)
    schedule = a_schedule(instance, document)
    assert check_schedule(instance, schedule).valid
    # Each request makes all its tokens one a round, kept or not, so no latency is below its output.
    assert schedule.tel >= sum(output for _, _, output in rows)
    assert schedule.keeps_tokens <= keep
    return schedule.tel < brute_force_optimum(instance)
