"""What a check shows: figures, whether the statement holds in them, and schedules."""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from dataclasses import dataclass

from heuristics.registry import policies
from heuristics.simulator import DEFAULT_SETTING, Setting, run_policy
from instances import Instance, Request
from schedules import Schedule, Verdict, check_schedule, make_schedule

#: A request that arrives at 0, as (prompt, output) in tokens.
Pair = tuple[int, int]


@dataclass(frozen=True)
class Drawn:
    """A schedule that shows it, and what the checker says of it."""

    instance: Instance
    schedule: Schedule
    verdict: Verdict

    @property
    def tel(self) -> int:
        """TEL (rounds)."""
        return self.schedule.tel


@dataclass(frozen=True)
class Shown:
    """What a check shows: whether the statement holds, the figures, and schedules."""

    holds: bool
    lines: tuple[str, ...]
    drawn: tuple[Drawn, ...] = ()


def run_check(letter: str, name: str) -> Shown:
    """Compute a check of a paper's statement; AttributeError if it has none of that name."""
    found: Shown = getattr(
        importlib.import_module(f"papers.ledger.checks.{letter.lower()}"), name
    )()
    return found


def together(memory: int, *pairs: Pair) -> Instance:
    """Return an instance of requests (prompt, output) that all arrive at 0."""
    return arriving(memory, [(0, prompt, output) for prompt, output in pairs])


def arriving(memory: int, rows: Sequence[tuple[int, int, int]]) -> Instance:
    """Return an instance of requests (arrival, prompt, output)."""
    return Instance("statement", memory, tuple(Request(i, *row) for i, row in enumerate(rows)))


def by_policy(name: str, instance: Instance, setting: Setting = DEFAULT_SETTING) -> Drawn:
    """Return the schedule of a policy, which the checker accepts."""
    return accepted(instance, run_policy(policies()[name], instance, setting))


def by_starts(instance: Instance, starts: Sequence[int], method: str) -> Drawn:
    """Return a schedule by its starts, which the checker accepts."""
    return accepted(instance, make_schedule(instance, starts, method))


def refused(instance: Instance, starts: Sequence[int], method: str) -> Drawn:
    """Return a schedule that exceeds the memory; ValueError if the checker accepts it."""
    schedule = make_schedule(instance, starts, method)
    verdict = check_schedule(instance, schedule)
    if verdict.tokens is None:
        raise ValueError(f"{method}: expected more tokens than M, found {verdict}")
    return Drawn(instance, schedule, verdict)


def accepted(instance: Instance, schedule: Schedule) -> Drawn:
    """Return a schedule that the checker accepts; ValueError if it does not."""
    verdict = check_schedule(instance, schedule)
    if not verdict.valid:
        raise ValueError(f"{schedule.method}: {verdict}")
    return Drawn(instance, schedule, verdict)
