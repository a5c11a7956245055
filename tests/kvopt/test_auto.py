"""``--solver auto``: the default, at every size."""

import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from formulations.formulation_registry import formulations
from formulations.valid.windows import start_windows
from heuristics.policy_registry import policies
from heuristics.simulator import run_policy
from instances import Instance, Request, read_instance
from instances.families import am1, am2, amax_trap, chat_lognormal, uniform
from kvopt.engines import auto
from kvopt.engines.auto import chosen_method
from kvopt.engines.job import EngineJob
from kvopt.engines.parts import node_counting
from kvopt.engines.start import RELAXATION_ORDER
from kvopt.methods.engine_table import proofs
from kvopt.methods.grammar import read_method
from kvopt.methods.witness import engine_witness, search_witness
from kvopt.runs.events import BoundProved, Event, EventReport, MethodDone, ScheduleFound, read_event
from kvopt.runs.execute import execute
from kvopt.runs.process import ProcessOutcome
from kvopt.runs.state import RunState
from kvopt.runs.task import Task
from schedules import check_schedule, make_schedule
from tests.kvopt.best_known.registry import FOUR
from tests.kvopt.sweep_tools import ROOT, in_fork, task_of
from tests.oracles.brute_force import brute_force_optimum

TINY = sorted((ROOT / "instances" / "tiny").glob("*.json"))
#: Methods beside which others work.
JOINED = ["highs", "cpsat", "appsi_highs"]
#: What a bound rests on where volumes prove it, too.
SOURCES = {"highs:ilp": "HiGHS", "cpsat:cpsat": "CP-SAT", "search:layers": "search"}
SOURCES |= {"search": "search", "highs": "volumes", "auto": "volumes"}


def _chat(n: int) -> Instance:
    return Instance("few", 16_492, chat_lognormal.generate(n=n).requests)


def _job(instance: Instance, seconds: float) -> EngineJob:
    """Return what ``auto`` is asked, with the schedule of smallest volume first to begin with."""
    known, deadline = run_policy(policies()["svf"], instance), time.monotonic() + seconds
    return EngineJob(instance, "auto", None, False, deadline, 1, 0, list(known.starts), known.tel)


@pytest.mark.parametrize("path", TINY[::4], ids=lambda path: path.stem)
def test_tiny_instances_are_counted_at_once(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No other process and no kernel: counts prove the optimum here and now, within a second."""
    instance = read_instance(path)
    assert node_counting.ends_at_once(instance)
    assert auto.kernels_of(instance, "") == set()
    monkeypatch.setattr(auto, "_Team", None)
    sent: list[Event] = []
    began = time.process_time()
    auto.solve(_job(instance, 60), EventReport(sent.append))
    assert time.process_time() - began < 1
    schedule, bound, done = sent
    assert isinstance(schedule, ScheduleFound)
    found = make_schedule(instance, schedule.starts, "auto")
    assert check_schedule(instance, found).valid
    assert isinstance(bound, BoundProved)
    assert bound.value == found.tel == brute_force_optimum(instance)
    assert isinstance(done, MethodDone)


#: What ``auto`` does by itself, of each size: a team of processes is an error.
_ALONE = """
import sys
from instances.families import am2
from kvopt.engines import auto
from kvopt.runs.events import EventReport, event_line
from tests.kvopt.test_auto import _job

auto.run_team = None
for n in map(int, sys.argv[1:]):
    job = _job(am2.generate(seed=3, n=n), 60)
    auto.solve(job, EventReport(lambda event: print(event_line(event), end="")))
    print()
"""


def test_few_requests_are_searched_alone() -> None:
    """An optimum that the bidirectional search proves needs no process beside."""
    sizes = (10, 14)
    for n, lines in zip(sizes, in_fork(_ALONE, *sizes).split("\n\n"), strict=True):
        instance = am2.generate(seed=3, n=n)
        assert not node_counting.ends_at_once(instance)
        events = [read_event(line.encode()) for line in lines.splitlines()]
        bound = max(event.value for event in events if isinstance(event, BoundProved))
        best = [event for event in events if isinstance(event, ScheduleFound)][-1]
        found = make_schedule(instance, best.starts, "auto")
        assert check_schedule(instance, found).valid
        assert found.tel == bound
        assert isinstance(events[-1], MethodDone)
        assert events[-1].outcome == "optimal"


@pytest.mark.parametrize(
    ("asked", "ends", "first"),
    [
        (None, "gives up", "improve"),
        (None, "no memory", "improve"),
        (None, "no time", ""),
        ("cpsat", "no time", "search:bidirectional"),
    ],
)
def test_others_follow_the_search_alone(
    asked: str | None, ends: str, first: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A second seed where it gives up; itself with a named engine, which yields."""
    given, team, yielding = list[Task](), list[Task](), list[bool]()

    def search(engine: object, method: object, task: Task, report: object) -> None:
        del engine, method, report
        given.append(task)
        if ends == "no memory":
            raise MemoryError
        if ends == "no time":
            assert task.deadline is not None
            time.sleep(max(task.deadline - time.monotonic(), 0))

    def run_team(tasks: list[Task], *_: object, **more: Any) -> list[ProcessOutcome]:
        team.extend(tasks)
        yielding.extend(map(more["yields"], [*tasks, *more["on_tick"]()]))
        return [ProcessOutcome("stopped", "", 1.0, 1)]

    monkeypatch.setattr(auto, "run_engine", search)
    monkeypatch.setattr(auto, "run_team", run_team)
    began, seconds = time.monotonic(), 10 if asked or ends != "no time" else 2
    asked_method = read_method(asked) if asked else None
    job = replace(_job(am1.generate(seed=0, n=13), seconds), asked=asked_method)
    auto.solve(job, EventReport(lambda _: None))
    assert [task.method.text for task in given] == ["search:bidirectional"]
    assert given[0].deadline is not None
    assert given[0].deadline < began + 5 if asked else given[0].deadline == job.deadline
    assert [task.method.text for task in team] == ([first, "improve"] if first else [])
    assert len({(task.method.text, task.seed) for task in team}) == len(team)
    assert yielding == [False] * len(team) + [True] * (asked is not None)


@pytest.mark.parametrize(
    ("instance", "name"),
    [
        (am1.generate(seed=0, n=13), "search:bidirectional"),
        (_chat(20), "search:layers"),
        (am1.generate(seed=0), "search:bidirectional(states=yes)"),
        # Patterns of 40 requests in 16,492 tokens are too many to search.
        (_chat(40), "highs:ilp-sparse(groups=yes,relaxed=yes)"),
        # Many starts, but of two kinds; and many, each looked at in less than a second.
        (amax_trap.generate(upper=32), "search:sweep(multipliers=yes)"),
        (uniform.generate(n=200), "search:sweep(multipliers=yes)"),
        (uniform.generate(n=400), "bound:bound-patterns"),
        (uniform.generate(n=2000), "bound:bound-dual"),
    ],
    ids=str,
)
def test_what_runs_beside_the_local_search(instance: Instance, name: str) -> None:
    """Both directions where few; sweeps where patterns are; else groups, or prices on a grid."""
    assert chosen_method(instance, start_windows(instance), None) == name


def test_where_memory_is_too_little_for_a_sweep_prices_take_its_place() -> None:
    """Its tables would take 0.9 GB."""
    instance = uniform.generate(n=200)
    windows = start_windows(instance)
    assert chosen_method(instance, windows, 0.8) == "bound:bound-patterns"
    assert chosen_method(instance, windows, 1.0) == "search:sweep(multipliers=yes)"


def test_whom_others_join() -> None:
    """Solvers of models that are asked for by name alone: the text decides."""
    alone = ["highs:ilp", "cpsat:cpsat", "auto", "search", "bound", "improve", "svf"]
    joined = {each: read_method(each, planned=True).joined for each in [*JOINED, *alone]}
    assert [each for each, others in joined.items() if others] == JOINED


@pytest.mark.parametrize("method", SOURCES)
def test_whoever_is_asked_for_a_proof_proves_by_itself(method: str) -> None:
    """Where the volume bound meets the best policy, too: 1 + 2 for two of one token in M = 2."""
    pair = Instance("pair", 2, (Request(0, 0, 1, 1), Request(1, 0, 1, 1)))
    record = execute(task_of(pair, method, time_limit=30)).record
    assert (record.status, record.tel, record.lower_bound) == ("optimal", 3, 3)
    assert record.bound_source == SOURCES[method]


@pytest.mark.parametrize("solver", ["highs", "cpsat"])
def test_no_witness_where_others_help(solver: str) -> None:
    """Its start windows come from another's schedule; with its formulation named it is one."""
    alone = {"highs": "highs:ilp(groups=yes)", "cpsat": "cpsat:cpsat"}[solver]
    source = proofs()[solver]
    assert search_witness(solver, "optimal", 12, 12, source) is None
    assert search_witness(alone, "optimal", 12, 12, source) == engine_witness(alone, 12)


def _asked() -> tuple[RunState, auto._Team, Task]:
    """Return a run of HiGHS as ``auto`` has it beside others, begun from [0, 1, 2, 5]."""
    state = RunState(FOUR, "highs")
    engine = read_method("highs").on(formulations()["ilp"])
    job = EngineJob(
        FOUR, "highs", None, False, time.monotonic(), 1, 0, [0, 1, 2, 5], 16, asked=engine
    )
    team = auto._Team(job, EventReport(lambda event: (state.take(event), None)[1]))
    (task,) = [order for order in team._tick() if isinstance(order, Task)]
    return state, team, task


def test_what_the_engine_had_by_itself() -> None:
    """The row has its start, its checked schedule and its bound; not those of the others."""
    # OPT is 12 with the starts 0, 1, 0, 3; [0, 3, 0, 3] is 14, one after the other 20.
    state, team, task = _asked()
    given = [0, 1, 2, 5]
    assert (task.method.text, task.warm_start) == ("highs:ilp", given)
    other = replace(task, method=read_method("improve"))
    sent: list[tuple[Task, Event]] = [
        (other, ScheduleFound(starts=[0, 1, 0, 3])),
        (task, ScheduleFound(starts=given)),
        (task, ScheduleFound(starts=[0, 3, 0, 3], found_by=RELAXATION_ORDER)),
        (other, BoundProved(value=11, source="search")),
        (task, BoundProved(value=9, source="HiGHS")),
        (task, ScheduleFound(starts=[0, 3, 0, 3])),
    ]
    for sender, event in sent:
        team._listen(sender, event)
    assert (state.engine_formulation, state.engine_tel, state.engine_bound) == ("ilp", 14, 9)
    assert (state.standing(), state.upper_bound, state.lower_bound) == ("feasible", 12, 11)


@pytest.mark.parametrize("starts", [[0, 0, 0, 0], [0, 1, 0], [0, 1, 0, -4], [0, 1, 0, 2**70]])
@pytest.mark.parametrize("asked", [True, False])
def test_a_wrong_schedule_of_a_member_refuses_the_run(starts: list[int], asked: bool) -> None:
    """No arithmetic of the team makes an optimum of it, whatever bounds follow."""
    state, team, task = _asked()
    sender = task if asked else replace(task, method=read_method("improve"))
    team._listen(sender, ScheduleFound(starts=starts))
    for bound in (4, 8, 12):
        team._listen(task, BoundProved(value=bound, source="HiGHS"))
    state.close()
    late = starts[-1] == 2**70 and not asked
    assert state.standing() == ("no_solution" if late else "refused")
    assert state.schedule is None
    assert state.engine_tel is None
