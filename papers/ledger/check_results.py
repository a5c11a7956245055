"""Results of checks: figures, schedules, and if the statement holds."""

import importlib
from collections.abc import Sequence
from dataclasses import dataclass

from heuristics.policy_registry import policies
from heuristics.simulator import DEFAULT_SETTING, RunSetting, run_policy
from instances import Instance, Request
from schedules import Schedule, Verdict, check_schedule, make_schedule

#: A request that arrives at 0, as (prompt, output) in tokens.
Pair = tuple[int, int]


@dataclass(frozen=True)
class CheckedSchedule:
    """A schedule with the checker's verdict."""

    instance: Instance
    schedule: Schedule
    verdict: Verdict

    @property
    def tel(self) -> int:
        """TEL (rounds)."""
        return self.schedule.tel


@dataclass(frozen=True)
class CheckResult:
    """Result of a check: if the statement holds, figures as text, schedules."""

    holds: bool
    lines: tuple[str, ...]
    drawn: tuple[CheckedSchedule, ...] = ()


def run_check(letter: str, name: str) -> CheckResult:
    """Compute a check of a paper by name; AttributeError for an unknown name."""
    found: CheckResult = getattr(
        importlib.import_module(f"papers.ledger.checks.{letter.lower()}"), name
    )()
    return found


def together(memory: int, *pairs: Pair) -> Instance:
    """Return an instance of requests (prompt, output); all arrive at 0."""
    return arriving(memory, [(0, prompt, output) for prompt, output in pairs])


def arriving(memory: int, rows: Sequence[tuple[int, int, int]]) -> Instance:
    """Return an instance of requests (arrival, prompt, output)."""
    return Instance("statement", memory, tuple(Request(i, *row) for i, row in enumerate(rows)))


def by_policy(
    name: str, instance: Instance, setting: RunSetting = DEFAULT_SETTING
) -> CheckedSchedule:
    """Return a policy's schedule, accepted by the checker."""
    return accepted(instance, run_policy(policies()[name], instance, setting))


def by_starts(instance: Instance, starts: Sequence[int], method: str) -> CheckedSchedule:
    """Return the schedule with these starts, accepted by the checker."""
    return accepted(instance, make_schedule(instance, starts, method))


def refused(instance: Instance, starts: Sequence[int], method: str) -> CheckedSchedule:
    """Return a schedule that exceeds the memory; ValueError if it fits."""
    schedule = make_schedule(instance, starts, method)
    verdict = check_schedule(instance, schedule)
    if verdict.tokens is None:
        raise ValueError(f"{method}: expected more tokens than M, found {verdict}")
    return CheckedSchedule(instance, schedule, verdict)


def accepted(instance: Instance, schedule: Schedule) -> CheckedSchedule:
    """Return a schedule with its verdict; ValueError if the checker refuses it."""
    verdict = check_schedule(instance, schedule)
    if not verdict.valid:
        raise ValueError(f"{schedule.method}: {verdict}")
    return CheckedSchedule(instance, schedule, verdict)
