"""Completion bounds against every schedule of small instances, and the bidirectional search."""

import json
import random
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from formulations.dp import forward
from formulations.dp.bidirectional import completion_bounds
from formulations.dp.priced_network import Ints, PricedNetwork, network
from formulations.dp.state_bounds import CompletionBounds
from formulations.dp.state_kernels import completion_bound
from formulations.dp.state_relaxation import StateRelaxation
from formulations.valid.windows import start_windows
from heuristics.policy_registry import policies
from heuristics.simulator import run_policy
from instances import Instance
from tests.formulations.forward_pass import pass_of
from tests.formulations.relaxed import UNLIMITED, random_instance, random_multipliers, random_prices
from tests.kernel_parts import from_python
from tests.kvopt.sweep_tools import in_fork
from tests.oracles.brute_force import brute_force_optimum, schedules_up_to
from tests.tiers import a_few


def _drawn(seed: int, size: int) -> tuple[Instance, int, PricedNetwork, Ints, random.Random]:
    """Return an instance, a TEL above its optimum, and random prices and multipliers."""
    rng = random.Random(seed)
    instance = random_instance(rng)
    instance = Instance("drawn", instance.memory, instance.requests[:size])
    below = brute_force_optimum(instance) + rng.randint(1, 3)
    under = network(instance, random_prices(rng, instance))
    return instance, below, under, random_multipliers(rng, len(under.kinds.counts)), rng


def _told(
    instance: Instance, starts: Sequence[int], u: int, bounds: CompletionBounds, most: int
) -> int:
    """Return what the bounds say of the requests of a schedule that have started before u."""
    mask = np.uint64(sum(1 << i for i, start in enumerate(starts) if start < u))
    data = (instance.arrivals, instance.prompts, instance.outputs)
    held = np.zeros((1, bounds.profiles.shape[1]), dtype=np.uint64)
    stack = np.zeros(64, dtype=np.int64)
    work = (held, stack)
    compute = from_python(completion_bound)
    return int(compute(u, mask, np.array(starts), data, tuple(bounds), most, work))


@pytest.mark.parametrize("part", range(4))
def test_no_schedule_is_below_its_completion_bounds(part: int) -> None:
    """Arrivals, equal requests, random prices and multipliers: each schedule at each time."""
    seen = met = 0
    for seed in range(30 * part, 30 * part + 30):
        instance, below, under, multipliers, _ = _drawn(seed, 4)
        relaxed = StateRelaxation(under, below)
        bounds = completion_bounds(relaxed, multipliers, below - 1, 500, UNLIMITED)
        assert bounds is not None, seed
        whole = relaxed.evaluate(multipliers, below - 1, UNLIMITED).bound
        for starts in schedules_up_to(instance, below - 1):
            tel = sum(starts) + int((instance.outputs - instance.arrivals).sum())
            last = max(starts) + int(instance.outputs.max()) + 2
            told = [_told(instance, starts, u, bounds, below - 1) for u in range(last)]
            assert max(told) <= tel, (seed, starts)
            assert told[0] == whole
            seen += 1
            met += max(told) == tel
    assert seen > 100
    assert met > seen // 10


@pytest.mark.parametrize("part", a_few(range(3), 1))
def test_a_pass_with_completion_bounds_keeps_the_optimum(
    part: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Narrow passes bound, wide ones find the optimum, with no more states than without."""
    # Else when states are compared depends on how many they are.
    monkeypatch.setattr(forward, "GROWN", 0.0)
    for seed in range(1000 + 40 * part, 1040 + 40 * part):
        instance, _, under, multipliers, rng = _drawn(seed, 6)
        optimum = brute_force_optimum(instance)
        known = run_policy(policies()["fcfs"], instance)
        if under.bound >= known.tel:
            assert known.tel == optimum, seed
            continue
        relaxed = StateRelaxation(under, known.tel)
        last = max(start_windows(instance, known.tel).latest)
        bounds = completion_bounds(relaxed, multipliers, known.tel - 1, last, UNLIMITED)
        whole = relaxed.evaluate(multipliers, known.tel - 1, UNLIMITED)
        assert (bounds is None) == (whole.least is None)
        if bounds is None:
            assert known.tel == optimum, seed
            continue
        states = []
        for width, completion in ((rng.randint(1, 5), bounds), (50_000, bounds), (50_000, None)):
            found = pass_of(instance, width, completion=completion)
            assert found.bound <= optimum <= found.tel, seed
            states.append(found.states)
            if width > 5:
                assert (found.tel, found.bound) == (optimum, optimum), seed
        assert states[1] <= states[2], seed


def test_a_pass_ends_once_it_can_prove_no_more() -> None:
    """Whatever is proved already: its bound holds, and is the same where that is more."""
    ended = 0
    for seed in range(60):
        instance, *_ = _drawn(seed, 6)
        optimum = brute_force_optimum(instance)
        found = [pass_of(instance, 2, proved=proved) for proved in range(optimum + 1)]
        for proved, each in enumerate(found):
            assert each.bound <= optimum <= each.tel, seed
            assert each.complete == (each.bound == each.tel), seed
            assert each.states <= found[0].states, seed
            if each.bound > proved:
                assert each == found[0], seed
            ended += each.states < found[0].states
    assert ended > 100


#: The engine with multipliers from the first pass on: a line an instance, of the least TEL, the
#: best bound that it tells, the most that was proved before a pass, and the widths of its passes.
#: Told are the first width, and the part of the time that one pass in between may take; or 0, and
#: all is drawn that decides when multipliers, a better schedule and passes have their turn.
_MEET = """
import json, random, sys, time
from heuristics.policy_registry import policies
from heuristics.simulator import run_policy
from formulations.dp import bidirectional
from kvopt.engines import search as engine
from kvopt.engines.job import EngineJob
from kvopt.runs.events import BoundProved, EventReport, ScheduleFound
from tests.formulations.relaxed import random_instance

engine.LOOK_SECONDS, engine.EVALUATIONS = 0.0, 0
# Turns too short for multipliers to prove it, and as long for passes as they want.
turn, engine.TURN_SHARES = 1e-6, (1e7, 0.0)
first, share, engine.WIDE = int(sys.argv[1]), float(sys.argv[2]), 2
passes, widths, proved = engine._Passes.search, [], [0]

def search(self, width, completion=None, end=1e300, best=0):
    if completion is not None:
        widths.append(width)
        proved.append(best)
    return passes(self, width, completion, end, best)

engine._Passes.search = search
for seed in range(2000, 2000 + int(sys.argv[3])):
    instance = random_instance(random.Random(seed))
    known = run_policy(policies()["fcfs"], instance)
    if sys.argv[1] == "0":
        rng = random.Random(seed)
        first, share = rng.randint(1, 6), rng.choice((0.0, 0.1))
        turn = rng.choice((1e-6, 1e-5, 1e-4))
        engine.TURN_SHARES = rng.choice((1.5, 500.0)), 0.0
        engine.LOOK_SECONDS = rng.choice((0.0, 1e-4))
    tuned = bidirectional.BidirectionalOptions(
        passes_up_to=-1.0, turn_seconds=turn, first_width=first, next_share=share
    )
    events = []
    job = EngineJob(
        instance, "search", bidirectional.FORMULATION, False, time.monotonic() + 60, 1, 0,
        list(known.starts), known.tel, options={"options": tuned},
    )
    widths.clear()
    del proved[1:]
    engine.solve(job, EventReport(events.append))
    after = int((instance.outputs - instance.arrivals).sum())
    tels = [sum(each.starts) + after for each in events if isinstance(each, ScheduleFound)]
    bounds = [each.value for each in events if isinstance(each, BoundProved)]
    print(json.dumps([seed, min([known.tel, *tels]), max(bounds), max(proved), widths]))
"""


def _met(first: int, share: float, draws: int) -> list[list[Any]]:
    """Return what the engine tells of each draw."""
    lines = [json.loads(line) for line in in_fork(_MEET, first, share, draws).splitlines()]
    assert len(lines) == draws
    return lines


#: Wider than any pass of a test.
_WIDEST = 1 << 30


@pytest.mark.parametrize("draws", a_few((14, 28), 1))
@pytest.mark.parametrize(
    ("first", "share", "second"),
    [(5_000, 0.1, None), (1, 0.1, range(2, _WIDEST)), (1, 0.0, [2])],
    ids=["first pass proves it", "one in between", "wide, then as memory allows"],
)
def test_both_directions_find_the_optimum(
    first: int, share: float, second: Sequence[int] | None, draws: int
) -> None:
    """Bound and TEL are each draw's optimum; a pass that lost states is followed by a wider."""
    lines = _met(first, share, draws)
    for seed, tel, bound, _, widths in lines:
        optimum = brute_force_optimum(random_instance(random.Random(seed)))
        assert (tel, bound) == (optimum, optimum), seed
        assert widths == sorted(set(widths))
        assert widths[:1] in ([], [first])
        assert second is None or all(width in second for width in widths[1:2])
        assert second is not None or not widths[1:]
        assert share > 0 or widths[2:] in ([], [_WIDEST])
    assert sum(len(each[-1]) > (second is not None) for each in lines) > draws // 4


def test_whatever_has_its_turn_the_optimum_is_found() -> None:
    """Nothing is proved above it, and no pass is told that more is."""
    draws = 60
    lines = _met(0, 0.0, draws)
    for seed, tel, bound, proved, _ in lines:
        optimum = brute_force_optimum(random_instance(random.Random(seed)))
        assert (tel, bound) == (optimum, optimum), seed
        assert proved <= optimum, seed
    assert sum(bool(widths) for *_, widths in lines) > draws // 10


#: A sweep of which each base leaves far more bases than it has members, with a window far too wide:
#: prints what ends it and by how many bytes the process has grown.
_FULL = """
import random, re, sys
from pathlib import Path
import numpy as np
from formulations.dp.backward_sweep import SearchLimits
from formulations.dp.priced_network import network
from formulations.dp.state_relaxation import StateRelaxation
from tests.formulations.relaxed import random_prices
from tests.oracles.draws import instance_of

def swept(memory):
    instance = instance_of(memory, *((0, 0, o) for o in (5, 2, 2, 3)))
    under = network(instance, random_prices(random.Random(1), instance))
    multipliers = np.full(len(under.kinds.counts), -20 * under.unit)
    limits = SearchLimits(int(sys.argv[1]), 1e8, lambda: False)
    return StateRelaxation(under, 13).sweep(multipliers, 12, limits, lambda t, level: 0).reason

def peak():
    told = Path("/proc/self/status").read_text().expandtabs(1)
    return 1024 * int(re.search("VmHWM: *([0-9]+)", told)[1])

assert not swept(8)
before = peak()
print(swept(200), peak() - before)
"""


@pytest.mark.parametrize("threads", [1, 2])
def test_a_level_takes_no_more_than_the_memory_allowed(threads: int) -> None:
    """On one instance, in which the kinds that bases let complete take more than the bases."""
    reason, grown = in_fork(_FULL, threads).split()
    assert reason == "memory"
    assert int(grown) < 1e8


def test_a_state_beyond_the_window_has_no_completion() -> None:
    """What holds more than any schedule of the window, or costs more, is told by ``most`` + 1."""
    dropped = 0
    for seed in range(40):
        instance, below, under, multipliers, _ = _drawn(seed, 4)
        relaxed = StateRelaxation(under, below)
        optimum_only = completion_bounds(relaxed, multipliers, below - 1, 500, UNLIMITED)
        assert optimum_only is not None
        for starts in schedules_up_to(instance, below + 3):
            tel = sum(starts) + int((instance.outputs - instance.arrivals).sum())
            last = max(starts) + int(instance.outputs.max())
            if tel >= below and _told(instance, starts, last, optimum_only, below - 1) == below:
                dropped += 1
    assert dropped > 100
