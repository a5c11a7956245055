"""What MIP solvers say is believed while their tolerances stay below a token, and no further."""

import math
import time
from dataclasses import replace
from typing import Any

import pyomo.environ as pyo
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyomo.opt import SolverResults, TerminationCondition
from pyomo.repn.plugins.standard_form import LinearStandardFormCompiler

from formulations.valid.windows import Windows
from heuristics.simulator import run_policy
from instances import Instance
from kvopt.engines import pyomo_solver
from kvopt.engines.job import EngineJob
from kvopt.engines.parts import tolerances
from kvopt.engines.parts.mip_model import covered, prepare
from kvopt.engines.parts.pyomo_options import KNOWN, SolverSettings
from kvopt.engines.parts.tolerances import COVERED, CoveredReport, largest_activity
from kvopt.engines.start import warm_start_policies
from kvopt.methods.option_values import read_formulation
from kvopt.runs.events import (
    BoundProved,
    Event,
    EventReport,
    MethodFailed,
    Note,
    RelaxationSolved,
    ScheduleFound,
)
from kvopt.runs.execute import execute
from kvopt.runs.state import _EXCLUDES_KNOWN, RunState
from schedules import check_schedule, make_schedule
from support.project_root import ROOT
from tests.engine_batch import solve_batch
from tests.kvopt.sweep_tools import task_of
from tests.oracles.brute_force import brute_force_optimum
from tests.oracles.draws import instance_of, instances
from tests.programs import program_of

MIPS = ("ilp", "ilp-sparse", "ilp(groups=yes)", "ilp-sparse(groups=yes)", "ilp-xy")


#: HiGHS with these formulations proved 15 (truth 11), 14 (13) and 12 (11), or sent schedules that
#: overflow.
LARGE = {
    "ilp-sparse(groups=yes)": instance_of(10**7, (0, 9999995, 5), (1, 9999999, 1), (1, 3333333, 1)),
    "ilp-sparse": instance_of(
        10**8, (3, 49999998, 2), (0, 3297274, 3), (0, 33333329, 2),
        (0, 50000001, 1), (3, 24999998, 1), (0, 99999998, 1),
    ),
    "ilp-xy": instance_of(
        10**7, (2, 9999997, 1), (0, 9999999, 1), (0, 4999998, 1), (0, 4999999, 1), (0, 3333330, 3)
    ),
}  # fmt: skip


#: With rows that look ahead HiGHS proved 28 (truth 27), 26 (25), 22 (21) and 22 (21).
NEAR = (
    instance_of(18286, (0, 0, 5), (0, 9140, 4), (0, 9142, 3), (1, 9143, 6)),
    instance_of(47910, (0, 0, 4), (0, 23953, 6), (0, 23949, 5), (0, 23948, 5)),
    instance_of(25127, (0, 0, 5), (0, 12558, 4), (1, 12557, 3), (0, 12563, 5)),
    instance_of(11268, (0, 0, 5), (1, 5631, 3), (0, 5632, 5), (0, 5626, 4)),
)
BAD = instance_of(10**9, (3, 138593550, 1), (3, 249999998, 1), (1, 499999995, 5), (1, 333333334, 2))


def test_no_bound_above_the_optimum_after_a_restart() -> None:
    """With restarts each of these seeds makes HiGHS prove 25; the optimum is 24."""
    instance = instance_of(8, (0, 5, 1), (0, 3, 5), (0, 0, 5), (0, 6, 2))
    assert brute_force_optimum(instance) == 24
    for seed in (7, 9, 12, 14, 15, 918):
        (answer,) = solve_batch([(instance, "ilp-xy")], seed=seed, poor_start=True)
        assert (answer.tel, answer.bound) == (24, 24), seed


def test_no_bound_above_the_optimum_with_many_tokens() -> None:
    """Whatever the formulation, the bound stays at or below brute force, and schedules hold."""
    # M = 10^9: HiGHS' prices prove −2 of the last one, which no certificate may state.
    names = [*MIPS, *(f"{name}(relaxed=yes)".replace(")(", ",") for name in MIPS)]
    pairs = [(instance, name) for instance in (*LARGE.values(), *NEAR, BAD) for name in names]
    for (instance, name), answer in zip(pairs, solve_batch(pairs, poor_start=True), strict=True):
        optimum = brute_force_optimum(instance)
        assert 0 <= answer.bound <= optimum <= answer.tel, (name, instance)


def test_no_objective_of_a_relaxation_where_a_tolerance_is_a_token() -> None:
    """M = 10^9: HiGHS states 36.6 for an LP below 21; at a millionth of it 20.5 or less."""
    rows = ((0, 106721546, 3), (0, 609869466, 3), (0, 609869466, 3), (0, 609869466, 3))
    large = instance_of(10**9, *rows)
    small = instance_of(1000, *((arrival, s // 10**6, o) for arrival, s, o in rows))
    name = "ilp-sparse(relaxed=yes)"
    unsure, sure = solve_batch([(large, name), (small, name)], poor_start=True)
    assert unsure.relaxation is None
    assert unsure.bound <= brute_force_optimum(large) == 21
    assert sure.relaxation is not None
    assert sure.bound - 1 < sure.relaxation <= brute_force_optimum(small) == 21


def test_rows_by_hand() -> None:
    """Prompts 3 and 4, outputs 2 and 1, M = 9: R is 5 + 5 for ``ilp``."""
    # At time 2 the first holds 5 if it started at 0 and 4 if at 1: only the larger one counts, with
    # the 5 of the second.  In ``ilp-sparse`` the balance of tokens at time 3 has the starts' 4 or
    # −6 and 5 or −6, so 6 + 6, the two token counts of up to M + 1 and 2 running: 12 + 20 + 2 = 34.
    instance = instance_of(9, (0, 3, 2), (0, 4, 1))
    windows = Windows((0, 0), (2, 2), 4)
    expected = {"ilp": 10, "ilp-sparse": 34}
    for name, activity in expected.items():
        model = program_of(name)[0].build(instance, windows)
        form = LinearStandardFormCompiler().write(model, mixed_form=True)
        assert largest_activity(form) == activity, name


@given(instance=instances(max_requests=4, max_memory=9, max_arrival=3), data=st.data())
@settings(max_examples=60, deadline=None)
def test_no_schedule_has_a_larger_activity(instance: Instance, data: st.DataObject) -> None:
    """In every MIP the terms of a row add up to at most R, in absolute value, at any schedule."""
    starts = [data.draw(st.integers(int(r.arrival), 8)) for r in instance.requests]
    if not check_schedule(instance, make_schedule(instance, starts, "drawn")).valid:
        return
    arrivals = tuple(int(request.arrival) for request in instance.requests)
    latest = tuple(max(starts) for _ in starts)
    horizon = max(starts) + max(request.output for request in instance.requests)
    for name in MIPS:
        program, options = program_of(name)
        model = program.build(instance, Windows(arrivals, latest, horizon), **options)
        program.set_starts(model, instance, starts)
        form = LinearStandardFormCompiler().write(model, mixed_form=True)
        values = [variable.value for variable in form.columns]
        activity = largest_activity(form)
        assert math.isfinite(activity), name
        assert max(abs(form.A) @ values) <= activity, name


def _sent(instance: Instance, activity: float, tolerance: float, starts: list[int]) -> list[Event]:
    """Return the events after a bound of 7, a schedule and an infeasible model."""
    events: list[Event] = []
    given = _job(instance, "ilp"), EventReport(events.append), "engine", activity, tolerance
    words = CoveredReport(*given)
    words.bound(6.99999)
    words.schedule(starts)
    words.infeasible()
    return events


def _job(instance: Instance, formulation: str, solver: str = "pyomo") -> EngineJob:
    """Return a job whose warm start is the best policy's schedule."""
    found = (run_policy(policy, instance) for policy in warm_start_policies())
    best = min(found, key=lambda schedule: schedule.tel)
    known, options = read_formulation(formulation)
    declared, deadline = known.built(options).declared, time.monotonic() + 20.0
    given = instance, solver, declared, known.relaxation, deadline, 1, 0, list(best.starts)
    return EngineJob(*given, best.tel, options=known.arguments(options))


@pytest.mark.parametrize("name", MIPS)
def test_a_model_is_built_as_long_as_there_is_time(name: str) -> None:
    """A model, and that on sets of requests; where the time is over each is given up."""
    instance = instance_of(10**9, *((0, 3 * 10**8, 3 + i) for i in range(4)))
    job, told = _job(instance, name), list[Event]()
    late, report = replace(job, deadline=time.monotonic() - 1), EventReport(told.append)
    assert prepare(late, report) is None
    (note,) = told
    assert "too short to build" in str(note)
    model = prepare(job, report)
    assert model is not None
    assert covered(late, report, model, 1e-6) is model
    assert covered(job, report, model, 1e-6).activity <= 10_000 < model.activity
    assert ["row for each set of requests" in str(each) for each in told] == [False, False, True]


def test_cp_models_are_given_up_in_time() -> None:
    """An interval for each token, half a million: more than half of half a second takes."""
    instance = instance_of(10**9, *((0, 3 * 10**8, 30_000 + i) for i in range(16)))
    finished = execute(task_of(instance, "cpsat:cpsat", time_limit=0.5))
    assert finished.schedule is not None
    assert any("too short to build" in note for note in finished.notes)


def test_words_of_a_covered_solver_are_passed_on() -> None:
    """R·δ = 1/4: the bound 7 counts; who excludes a checked schedule is wrong, whoever meets it."""
    instance = instance_of(5, (0, 3, 1), (0, 3, 1))
    told = _sent(instance, COVERED / 1e-6, 1e-6, [0, 0])
    assert [type(event) for event in told] == [BoundProved, ScheduleFound, MethodFailed]
    assert isinstance(told[0], BoundProved)
    assert told[0].value == 7
    state = RunState(instance, "engine")
    for event in _sent(instance, 1.0, 1e-6, [0, 1])[1:]:
        state.take(event)
    assert state.raise_bound(3, "search")
    state.close()
    assert (state.standing(), state.lower_bound) == ("error", None)
    for name in ("cpsat", "parts/node_counting", "parts/tolerances"):
        said = (ROOT / f"kvopt/engines/{name}.py").read_text(encoding="utf-8")
        assert any(f'{end}")' in said for end in _EXCLUDES_KNOWN)


@pytest.mark.parametrize(("value", "standing"), [(2.0, "feasible"), (3.1, "error")])
def test_no_relaxation_exceeds_its_schedule(value: float, standing: str) -> None:
    """One after the other they take 1 + 2 rounds."""
    state = RunState(instance_of(5, (0, 3, 1), (0, 3, 1)), "engine")
    state.take(ScheduleFound(starts=[0, 1], found_by="m"))
    state.take(RelaxationSolved(value=value))
    state.close()
    assert state.standing() == standing


@pytest.mark.parametrize(
    ("activity", "tolerance"), [(1e6, 1e-6), (math.inf, 1e-6), (1.0, math.inf)]
)
def test_words_of_others_are_notes(activity: float, tolerance: float) -> None:
    """Beyond, a bound is not sent, and in a schedule that overflows each waits until it fits."""
    # 4 tokens at time 1 and 4 at time 2 are a schedule that holds, which is passed on.
    instance = instance_of(5, (0, 3, 1), (0, 3, 1))
    for starts, sent in (([0, 0], [0, 1]), ([1, 0], [1, 0])):
        told = _sent(instance, activity, tolerance, starts)
        assert [type(event) for event in told] == [ScheduleFound, Note]
        assert isinstance(told[0], ScheduleFound)
        assert told[0].starts == sent


class _Engine:
    """Stands in for a solver of Pyomo's: says optimal, with a bound below its schedule."""

    def __init__(self, bound: float) -> None:
        self.asked: dict[str, Any] = {}
        self.bound = bound

    def available(self, exception_flag: bool) -> bool:
        return not exception_flag

    def solve(self, _: Any, **settings: Any) -> SolverResults:
        self.asked = settings
        results = SolverResults()
        results.problem.lower_bound = self.bound
        results.problem.upper_bound = 4.0
        results.solver.termination_condition = TerminationCondition.optimal
        return results


@pytest.mark.parametrize(
    ("name", "stated", "believed"),
    [
        ("appsi_highs", 3.0, [3]),
        # This interface states no bound: at an optimum it is the value.
        ("appsi_cbc", -math.inf, [4]),
        ("ipopt", 3.0, []),
        ("ipopt", -math.inf, []),
    ],
)
def test_only_the_bound_of_a_known_solver_counts(
    name: str, stated: float, believed: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The gaps of a known solver are set to 0 and its own bound is taken; others prove nothing."""
    engine = _Engine(stated)

    class Factory(dict):  # type: ignore[type-arg]
        def __call__(self, _: str) -> _Engine:
            return engine

    monkeypatch.setattr(pyo, "SolverFactory", Factory({name: None}))
    # Prices, which an engine would find, are sent where the solver's own bound is no proof.
    monkeypatch.setattr(tolerances, "lp_prices", lambda *_: None)
    events: list[Event] = []
    job = _job(instance_of(5, (0, 3, 1), (0, 3, 1)), "ilp", name)
    pyomo_solver.solve(job, EventReport(events.append))
    told = [event for event in events if isinstance(event, BoundProved)]
    bounds = [event.value for event in told if event.source == name]
    assert bounds == believed
    assert engine.asked["options"] == KNOWN.get(name, SolverSettings()).options


def test_a_solver_that_takes_no_integer_program_is_refused() -> None:
    """Pyomo lists its own heuristics, which call other solvers, among them."""
    told = pyomo_solver.unavailable("multistart")
    assert told == "solver 'multistart' is not one of integer programs"


def test_every_known_solver_has_a_gap_of_zero() -> None:
    """No entry of the table leaves a solver's own gap in force."""
    for name, known in KNOWN.items():
        assert any("gap" in key.lower() or "relstop" in key for key in known.options), name
        assert 0.0 in known.options.values(), name
