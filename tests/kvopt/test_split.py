"""Every engine solves the parts between idle gaps, and what it proves of them adds up."""

from dataclasses import replace

import pytest

from formulations.certificates.certificate_evaluation import evaluate_certificate
from formulations.certificates.certificate_file import Certificate, read_certificate
from formulations.formulation_choice import default_formulation
from formulations.valid.idle_gaps import parts_of
from formulations.valid.volume_bounds import volume_bound
from instances import Instance
from kvopt.engines import improve
from kvopt.engines.split import VOLUMES_OF_PARTS, run_parts
from kvopt.engines.start import run_engine
from kvopt.runs.events import Event, EventReport, ScheduleFound
from kvopt.runs.execute import execute
from kvopt.runs.state import RunState
from kvopt.runs.task import FinishedRun, Task
from schedules.evidence import VOLUMES
from tests.engine_batch import solve_batch
from tests.kvopt.sweep_tools import task_of
from tests.oracles.brute_force import brute_force_optimum
from tests.oracles.draws import gapped, instance_of
from tests.tiers import a_few

ENGINES = ("auto", "highs:ilp", "cpsat", "search", "bound", "improve", "appsi_highs:ilp-sparse")


def _solved(instance: Instance, method: str, seconds: float = 20.0) -> FinishedRun:
    return execute(task_of(instance, method, time_limit=seconds, memory_limit=4.0))


@pytest.mark.parametrize("method", a_few(ENGINES, 5))
def test_every_engine_solves_the_parts(method: str) -> None:
    """Pairs 10⁶ rounds apart: each for itself, on no grid of a million rounds."""
    far = 10**6
    instance = instance_of(10, (0, 3, 5), (0, 4, 3), (far, 3, 4), (far, 5, 2))
    optimum = brute_force_optimum(instance_of(10, (0, 3, 5), (0, 4, 3)))
    optimum += brute_force_optimum(instance_of(10, (0, 3, 4), (0, 5, 2)))
    certificate = _proved(instance, method, optimum, VOLUMES_OF_PARTS)
    assert certificate is not None
    assert certificate.kind == "parts"
    assert volume_bound(instance) <= evaluate_certificate(instance, certificate)


@pytest.mark.parametrize("method", a_few(ENGINES, 5))
def test_every_engine_begins_with_the_first_arrival(method: str) -> None:
    """One part that begins after 10⁹ rounds is solved as if it began at once."""
    rows, far = ((0, 3, 5), (0, 4, 3), (2, 5, 2)), 10**9
    instance = instance_of(10, *((arrival + far, s, o) for arrival, s, o in rows))
    _proved(instance, method, brute_force_optimum(instance_of(10, *rows)), VOLUMES)


def _proved(instance: Instance, method: str, optimum: int, volumes: str) -> Certificate | None:
    """Have an engine find the optimum, and prove it if it is one that does; return how."""
    finished = _solved(instance, method, 4.0 if method == "improve" else 20.0)
    record = finished.record
    assert record.tel == optimum, record.detail
    assert record.lower_bound is not None
    if method in ("bound", "improve"):
        assert record.lower_bound <= optimum
    else:
        assert (record.status, record.lower_bound) == ("optimal", optimum)
    if method == "improve":
        assert record.bound_source == volumes
    if finished.certificate is None:
        return None
    certificate = read_certificate(finished.certificate)
    assert evaluate_certificate(instance, certificate) <= optimum
    return certificate


@pytest.mark.parametrize("arrivals", [(7, 7), (0, 90)])
def test_a_schedule_to_begin_with_is_not_told_again(arrivals: tuple[int, int]) -> None:
    """An engine that is asked for better ones has found none by having one."""
    rows = ((arrivals[0], 3, 5), (arrivals[0], 4, 3), (arrivals[1], 3, 4), (arrivals[1], 5, 2))
    instance = instance_of(10, *rows)
    best = _solved(instance, "search").schedule
    assert best is not None
    events: list[Event] = []
    task = task_of(instance, "improve", time_limit=1.0, warm_start=list(best.starts))
    run_engine(improve, task.method, task, EventReport(events.append))
    assert not [event for event in events if isinstance(event, ScheduleFound)]


def test_engines_equal_brute_force_on_gaps() -> None:
    """On 40 draws with gaps, at their edge and beside it, each engine proves the optimum."""
    # Whenever they begin: no latency depends on that.
    names, moved = ("ilp-sparse", "layers", "cpsat"), []
    for seed in range(40):
        instance, later = gapped(seed), seed % 3 * 7
        requests = [replace(each, arrival=each.arrival + later) for each in instance.requests]
        moved.append(replace(instance, requests=tuple(requests)))
    pairs = [(instance, name) for instance in moved for name in names]
    for (instance, name), answer in zip(pairs, solve_batch(pairs, poor_start=True), strict=True):
        optimum = brute_force_optimum(instance)
        assert (answer.tel, answer.bound) == (optimum, optimum), (name, instance)


def test_the_parts_decide_the_formulation() -> None:
    """Four bursts, 10⁶ rounds apart: each fits the dense program, and the whole would not."""
    rows = [(10**6 * i, 3 + i % 2, 5) for i in range(4) for _ in range(2)]
    assert _solved(instance_of(10, *rows), "highs").formulation == "ilp(groups=yes)"
    assert default_formulation("mip", [instance_of(10, *rows)]) == "ilp-sparse"


def test_a_wrong_schedule_of_a_part_refuses_the_run() -> None:
    """Two of 4 + 5 and 4 + 3 tokens begin at once in a memory of 10; TEL alone finds no fault."""
    # By volumes both parts are then below their bounds.
    instance = instance_of(10, (0, 3, 5), (0, 4, 3), (10**6, 3, 4), (10**6, 5, 2))
    task = task_of(instance, "improve", time_limit=1.0)
    state = RunState(instance, "improve")
    report = EventReport(lambda event: (state.take(event), None)[1])

    def run(part: Task, told: EventReport) -> None:
        assert part.instance is not None
        told.schedule([0] * len(part.instance), "liar")
        told.bound(12, "search")

    begin = [0, 5, 10**6, 10**6 + 4]
    parts = parts_of(instance)
    run_parts(parts, task, report, lambda _, own: own.schedule(begin, "svf"), run, prove=True)
    state.close()
    assert state.schedule is not None
    assert (state.schedule.starts, state.standing()) == (tuple(begin), "refused")
    (reason,) = state.refused
    assert reason.startswith("liar: ")
