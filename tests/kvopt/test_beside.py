"""Schedules that the processes of a team tell one another of."""

from __future__ import annotations

import time

import pytest

from formulations.lagrangian.starts import certified_costs
from formulations.search import layers
from formulations.search.layers import Pass
from formulations.valid.windows import start_windows
from instances.families import am1
from kvopt.engines import auto
from kvopt.engines.job import Job, tel_of
from kvopt.methods.grammar import read_method
from kvopt.running import process
from kvopt.running.events import Event, Ready, Report, ScheduleFound
from kvopt.running.task import Task
from kvopt.running.team import Order, Tell, run_team
from tests.kvopt.sweep_tools import PAIR
from tests.oracles.brute_force import brute_force_optimum

TASK = Task(PAIR, PAIR.name, read_method("improve"))


def test_what_a_team_tells_reaches_each_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """Once they listen, two are told of a schedule, and send it back."""
    monkeypatch.setattr(process, "WORKER", "tests.hearing")
    ready: list[Event] = []
    found: list[list[int]] = []

    def listen(_: Task, event: Event) -> list[Order]:
        if isinstance(event, ScheduleFound):
            found.append(event.starts)
        ready.extend([event] if isinstance(event, Ready) else [])
        return [Tell([0, 3])] if isinstance(event, Ready) and len(ready) == 2 else []

    outcomes = run_team(
        [TASK, TASK], listen, deadline=time.monotonic() + 60, finished=lambda: False
    )
    assert [each.ending for each in outcomes] == ["finished"] * 2
    assert found == [[0, 3]] * 2


def test_auto_tells_of_what_is_better_only() -> None:
    """A schedule that is no better, or none at all, is told to nobody."""
    events: list[Event] = []
    job = Job(PAIR, "auto", None, False, time.monotonic() + 60, 1, 0, [1, 6], 9)
    team = auto._Team(job, Report(events.append))
    told = [
        team._listen(TASK, ScheduleFound(starts=starts, found_by="another", seconds=0))
        for starts in ([0, 7], [0, 2], [0, 4], [0, 5], [0, 3])
    ]
    assert told == [[], [], [Tell([0, 4])], [], [Tell([0, 3])]]


def test_what_is_known_beside_is_no_news_unless_it_is_better() -> None:
    """Its TEL is that of its starts: (1 + 2) + (4 + 4 − 3) = 8."""
    job = Job(PAIR, "search", None, False, 0.0, 1, 0, [1, 6], 9, beside=lambda: [1, 4])
    assert job.known(9) == (8, [1, 4])
    assert job.known(8) is None
    assert Job(PAIR, "search", None, False, 0.0, 1, 0, [1, 6], 9).known(9) is None


def test_a_pass_takes_a_better_schedule_on_its_way() -> None:
    """Told of the optimum after some rounds, it proves it, and makes fewer states."""
    instance = am1.generate(seed=1, n=8, memory=14)
    optimum = brute_force_optimum(instance)
    # One after the other.
    outputs = instance.outputs.tolist()
    poor = [sum(outputs[:i]) for i in range(8)]
    tel = tel_of(instance, poor)
    assert tel > optimum
    windows = start_windows(instance, tel)
    costs = certified_costs(instance, [], None, windows.latest)
    passes: list[Pass] = []

    def search(known: list[tuple[int, list[int]] | None]) -> Pass:
        layers.search(
            instance, windows, [], costs, (tel, poor), passes.append,
            widths=(100_000,), known=lambda: known.pop(0) if len(known) > 1 else known[0],
        )  # fmt: skip
        return passes.pop()

    alone = search([None])
    assert alone.complete
    assert alone.tel == optimum
    told = search([None, None, (optimum, alone.starts)])
    assert told.complete
    assert (told.tel, told.starts) == (optimum, alone.starts)
    assert told.states < alone.states
    # What is no better, or too late for the numbers of a pass, changes nothing.
    assert search([None, None, (optimum, [1 << 15] * 8)]) == alone
    assert search([None, None, (tel, [0] * 8)]) == alone
