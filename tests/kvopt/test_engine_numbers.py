"""What an engine states beyond the range of a field hides nothing of what else it said."""

import math

import pytest

from instances import Instance, Request
from kvopt.runs.events import Event, EventReport, MethodDone, RelaxationSolved, read_event
from kvopt.runs.state import RunState
from tests.kvopt.sweep_tools import in_fork

TWO = Instance("two", 5, (Request(0, 0, 3, 1), Request(1, 0, 3, 1)))
#: Solves two requests with a formulation's engine, and prints its events.
_SOLVE = """
import importlib
import time

from formulations.formulation_registry import formulations
from kvopt.engines.job import EngineJob
from kvopt.runs.events import EventReport, event_line
from tests.kvopt.test_engine_numbers import TWO


def solve(engine, formulation):
    declared = formulations()[formulation].declared
    job = EngineJob(TWO, engine, declared, False, time.monotonic() + 20, 1, 0, [0, 1], 3)
    solver = importlib.import_module(f"kvopt.engines.{engine}")
    solver.solve(job, EventReport(lambda event: print(event_line(event), end="")))
"""
#: HiGHS as it is, but for its answers after an error.
_REFUSING = """
from types import SimpleNamespace

import highspy


class Refusing(highspy.Highs):
    def run(self):
        return highspy.HighsStatus.kError

    def getInfo(self):
        return SimpleNamespace(mip_node_count=-1, mip_dual_bound=1e6, primal_solution_status=0)

    def getRunTime(self):
        return float("nan")


highspy.Highs = Refusing
solve("highs", "ilp")
"""


def _state(method: str, solving: str) -> tuple[RunState, list[str]]:
    """Return what a run comes to, and the lines of its process that are no events."""
    state, others = RunState(TWO, method), []
    for line in in_fork(_SOLVE + solving).splitlines():
        if event := read_event(line.encode()):
            state.take(event)
        else:
            others.append(line)
    return state, others


def test_the_failure_of_highs_stays_in_its_row() -> None:
    """After kError HiGHS counts −1 nodes and a bound of no search: the failure stays."""
    state, others = _state("highs:ilp", _REFUSING)
    assert (state.failure, others) == ("HiGHS refuses to solve the model", [])
    assert state.solver.startswith("HiGHS ")
    assert (state.nodes, state.solver_seconds, state.lower_bound) == (None, None, None)


@pytest.mark.parametrize("number", [math.nan, math.inf, -math.inf])
def test_numbers_out_of_range_are_left_out_alone(number: float) -> None:
    """Nodes below 0 and numbers that are none leave the rest of an event as it is."""
    events: list[Event] = []
    report = EventReport(events.append)
    report.done("engine", -1, outcome="error", solver_seconds=number)
    report.relaxation(number, [0.0, number])
    report.relaxation(3.5, [0.0, number])
    report.relaxation(number, [0.0, 1.0])
    done, *relaxed = events
    assert isinstance(done, MethodDone)
    assert (done.solver, done.nodes, done.outcome) == ("engine", None, "error")
    assert done.solver_seconds is None
    found = [(e.value, e.expected_starts) for e in relaxed if isinstance(e, RelaxationSolved)]
    assert found == [(None, []), (3.5, []), (None, [0.0, 1.0])]


def test_the_first_failure_is_the_one_that_is_told() -> None:
    """What fails after it, as a number that cannot be sent, is a note beside it."""
    events: list[Event] = []
    report = EventReport(events.append)
    report.failure("the engine refuses the model")
    report.failure("ValidationError: nodes", "no_solution")
    state = RunState(Instance("one", 5, (Request(0, 0, 3, 1),)), "highs:ilp")
    for event in events:
        state.take(event)
    assert (state.failure, state.failure_status) == ("the engine refuses the model", "error")
    assert state.notes == ["ValidationError: nodes"]


#: CP-SAT as it is, which prints its own limit.
_LISTENING = """
from ortools.sat.python import cp_model


class Listening(cp_model.CpSolver):
    def solve(self, *arguments):
        print("limit", self.parameters.presolve_inclusion_work_limit)
        return super().solve(*arguments)


cp_model.CpSolver = Listening
solve("cpsat", "cpsat")
"""


def test_cpsat_solves_without_the_presolve_that_cuts_off_optima() -> None:
    """OR-tools issue 5293: the limit is 0 when CP-SAT solves, and the row's solver names it."""
    state, told = _state("cpsat:cpsat", _LISTENING)
    assert "limit 0" in told
    assert state.solver.endswith(" presolve_inclusion_work_limit=0")
    assert state.lower_bound == 3


def test_no_bound_of_cpsat_counts_beyond_exact_floats() -> None:
    """Above ``EXACT_UP_TO``, here 0, sums of start rounds as floats may lose an integer."""
    inexact = "from kvopt.engines import cpsat\ncpsat.EXACT_UP_TO = 0\nsolve('cpsat', 'cpsat')\n"
    state, _ = _state("cpsat:cpsat", inexact)
    assert state.schedule is not None
    assert (state.schedule.tel, state.lower_bound) == (3, None)
    assert any("too large to be exact" in note for note in state.notes)
