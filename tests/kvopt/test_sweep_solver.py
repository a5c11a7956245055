"""``search:sweep`` as a method: certificates with its bounds, limits, and whose witness it is."""

import json
import random
from typing import Any

import numpy as np
import pytest

from formulations.bounds.fluid_limit import fluid_prices, likely_horizon
from formulations.bounds.pricing import request_classes
from formulations.certificates.certificate_evaluation import evaluate_certificate
from formulations.certificates.certificate_file import read_certificate
from formulations.dp import backward
from formulations.dp.priced_network import network, rules
from formulations.valid.windows import start_windows
from heuristics.policy_registry import policies
from heuristics.simulator import run_policy
from instances import Instance, Request, read_instance
from instances.families import am1, uniform
from kvopt.engines import search
from kvopt.engines.parts import sweep_search as proving
from kvopt.methods.witness import certificate_witness, engine_witness
from kvopt.runs.events import Event, EventReport, MethodDone, Note, ScheduleFound
from schedules import check_schedule, make_schedule
from schedules.evidence import independent_pair
from tests.engine_batch import one_at_a_time, solve_batch
from tests.kvopt.sweep_tools import ROOT, Patch
from tests.kvopt.test_search_solver import bounds_of, search_job
from tests.oracles.brute_force import brute_force_optimum
from tests.oracles.draws import instance_of

FIVE = am1.generate(seed=3, n=5, memory=14)


def _events(
    monkeypatch: Patch,
    instance: Instance,
    seconds: float = 60.0,
    *,
    patterns: bool = False,
    price: float = 0.025,
    times: int = 30,
    options: backward.SweepOptions | None = None,
    **limits: Any,
) -> list[Event]:
    """Run the search in this process, by default with a third of a round for 14 tokens."""
    monkeypatch.setattr(proving, "lp_prices", lambda *_: (np.full(times, price), None))
    known = one_at_a_time(instance)
    events: list[Event] = []
    if not patterns:
        monkeypatch.setattr(proving, "searchable_states", lambda *_: None)
    options = options or backward.SweepOptions()
    job = search_job(backward, options, instance, seconds, list(known.starts), known.tel, **limits)
    search.solve(job, EventReport(events.append))
    return events


def test_every_closed_window_comes_with_its_certificate(monkeypatch: Patch) -> None:
    """Bounds grow up to the optimum, each proved by its file; the schedule is the optimum's."""
    optimum = brute_force_optimum(FIVE)
    events = _events(monkeypatch, FIVE)
    sent = list(bounds_of(events))
    assert [each.value for each in sent] == sorted({each.value for each in sent})
    assert sent[-1].value == optimum
    for each in sent:
        assert evaluate_certificate(FIVE, read_certificate(each.certificate)) == each.value
    found = [event for event in events if isinstance(event, ScheduleFound)]
    schedule = make_schedule(FIVE, found[-1].starts, "sweep")
    assert check_schedule(FIVE, schedule).valid
    assert schedule.tel == optimum
    assert isinstance(events[-1], MethodDone)
    assert events[-1].outcome == "optimal"


@pytest.mark.parametrize("multipliers", [False, True])
def test_no_certificate_is_sent_that_its_reader_refuses(
    monkeypatch: Patch, multipliers: bool
) -> None:
    """Such bounds come without: the reader would hold a table of best patterns by tokens."""
    instance = instance_of(10_000, (0, 6_000, 3), (0, 6_000, 4), (0, 6_000, 5), (0, 9, 2))
    options = backward.SweepOptions(multipliers=multipliers)
    events = _events(monkeypatch, instance, 20.0, price=1e-4, times=12, options=options)
    sent = list(bounds_of(events))
    assert sent[-1].value == 24
    assert any(each.certificate is None for each in sent)
    _check_certificates(instance, sent)


@pytest.mark.parametrize("seed", range(6))
def test_certificates_of_large_memory_are_read(monkeypatch: Patch, seed: int) -> None:
    """A few requests of all sizes, in a memory of a hundred to a hundred thousand tokens."""
    rng = random.Random(seed)
    memory = int(10 ** rng.uniform(2, 5))
    sizes = [(int(memory * rng.random() ** 3), rng.randint(1, 9)) for _ in range(3)]
    own = [(rng.choice((0, 0, 3)), *rng.choice(sizes)) for _ in range(rng.randint(2, 6))]
    instance = instance_of(memory, *((a, min(s, memory - o), o) for a, s, o in own))
    options = backward.SweepOptions(multipliers=bool(seed % 2))
    events = _events(monkeypatch, instance, 1.0, patterns=True, options=options)
    _check_certificates(instance, list(bounds_of(events)))


def _check_certificates(instance: Instance, sent: list[Any]) -> None:
    """Certificates are accepted, as they are read from a file, at the value of their bound."""
    for each in sent:
        if each.certificate is not None:
            certificate = read_certificate(json.loads(json.dumps(each.certificate)))
            assert evaluate_certificate(instance, certificate) == each.value


def test_no_time_and_no_memory_leave_what_prices_prove(monkeypatch: Patch) -> None:
    """A limit that comes first ends the run with the bounds so far, none above the optimum."""
    optimum = brute_force_optimum(FIVE)
    for seconds, memory in ((-1.0, None), (60.0, 1e-6)):
        monkeypatch.setattr(search, "fits", lambda *_: True)
        events = _events(monkeypatch, FIVE, seconds, memory_limit=memory)
        assert all(each.value <= optimum for each in bounds_of(events))
        assert isinstance(events[-1], MethodDone)
        assert events[-1].outcome == "limit"


def test_too_many_requests_rounds_or_patterns_are_told(monkeypatch: Patch) -> None:
    """More than 10,000 requests, or an arrival at 10¹²: one line, and no bound."""
    many, late = instance_of(9, *[(0, 1, 1)] * 10_001), instance_of(9, (10**12, 1, 1))
    monkeypatch.setattr(search, "fits", lambda *_: True)
    for instance, text in ((many, "up to 10000 requests"), (late, "backward dynamic programming")):
        events = _events(monkeypatch, instance)
        assert not list(bounds_of(events))
        assert any(isinstance(each, Note) and text in each.text for each in events)
    # Patterns of one time are few enough, but not those of all: one line, and nothing else.
    monkeypatch.undo()
    note, done = _events(monkeypatch, uniform.generate(n=400), patterns=True)
    assert isinstance(note, Note)
    assert "too many configurations" in note.text
    assert isinstance(done, MethodDone)


@pytest.mark.parametrize("name", ["am1/am1_00", "uniform_100", "am2/am2_00"])
def test_tables_take_no_more_memory_than_is_said(name: str) -> None:
    """All tables of a network, with what is kept to look ahead, in a window up to a schedule."""
    instance = read_instance(ROOT / "instances" / f"{name}.json")
    windows = start_windows(instance)
    horizon = likely_horizon(instance)
    fluid = fluid_prices(instance, request_classes(instance), horizon)
    under = network(instance, (np.rint(1_000 * fluid).astype(np.int64), 1_000))
    known = run_policy(policies()["mc-sf"], instance)
    tables = [*vars(under).values(), *rules(under, under.window(known.tel))]
    taken = sum(each.nbytes for each in tables if isinstance(each, np.ndarray))
    assert taken <= backward.ENTRY_BYTES * backward.model_size(instance, windows)


def test_its_certificate_is_a_second_witness() -> None:
    """What evaluates it shares no code with any model; with the search itself it shares more."""
    certificate = certificate_witness("sweep", 12)
    for method in ("search", "search:counts", "cpsat:cpsat", "highs:ilp"):
        word = engine_witness(method, 12)
        assert independent_pair([word, certificate]) == (word, certificate), method
    own = engine_witness("search:sweep", 12)
    assert own.shares_no_code(certificate)
    assert independent_pair([own, certificate]) is None
    # Two searches of one solver are one witness.
    words = [engine_witness("search", 12), engine_witness("search:sweep", 12)]
    assert independent_pair(words) is None


def test_prices_that_meet_the_known_schedule_leave_nothing_to_ascend() -> None:
    """Two requests that arrive apart and wait for nothing: their outputs are a bound already."""
    instance = instance_of(1000, (7, 499, 1), (2, 999, 1))
    (answer,) = solve_batch([(instance, "sweep(multipliers=yes)")])
    assert (answer.tel, answer.bound) == (2, 2)


@pytest.mark.parametrize(
    ("memory", "requests"),
    [
        (7, [(1, 2, 5), (3, 1, 3)]),
        (10, [(3, 4, 6), (2, 0, 6), (2, 1, 2), (1, 0, 4)]),
        (11, [(0, 0, 6), (2, 0, 1), (2, 4, 6), (3, 0, 2)]),
    ],
)
def test_every_certificate_proves_its_bound(
    memory: int, requests: list[tuple[int, int, int]]
) -> None:
    """Prices are limited by no start windows, which a sweep could not name."""
    instance = Instance("few", memory, tuple(Request(i, *each) for i, each in enumerate(requests)))
    known = run_policy(policies()["svf"], instance)
    options, starts = backward.SweepOptions(), list(known.starts)
    job = search_job(backward, options, instance, 30.0, starts, known.tel)
    events: list[Event] = []
    search.solve(job, EventReport(events.append))
    optimum = brute_force_optimum(instance)
    proved = [each for each in bounds_of(events) if each.certificate is not None]
    assert proved[-1].value == optimum
    assert all(each.value <= optimum for each in proved)
    for each in proved:
        assert evaluate_certificate(instance, read_certificate(each.certificate)) == each.value
