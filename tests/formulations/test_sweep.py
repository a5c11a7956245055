"""Reverse sweeps against brute force: bounds never too high, optima, merging, limits, proofs."""

import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from formulations.bounds.fluid_limit import fluid_prices
from formulations.bounds.pricing import request_classes
from formulations.certificates import reader_budget as budget_limits
from formulations.certificates import sweep_evaluation as backward_levels
from formulations.certificates import sweep_tables as backward_tables
from formulations.certificates.certificate_evaluation import evaluate_certificate
from formulations.certificates.certificate_file import (
    Certificate,
    read_certificate,
    sweep_certificate,
)
from formulations.certificates.reader_budget import CertificateError, ReaderBudget
from formulations.dp import backward as sweep_module
from formulations.dp import backward_sweep as level_module
from formulations.dp import counts
from formulations.dp import priced_network as network_module
from formulations.dp.backward import TelWindowResult, search
from formulations.dp.backward_sweep import SearchLimits, _Shares, sweep
from formulations.dp.priced_network import PricedNetwork, network, rules
from formulations.dp.sweep_paths import priced, split
from formulations.lagrangian.state_prices import StatePrices
from instances import Instance
from schedules import check_schedule, make_schedule
from tests.engine_batch import one_at_a_time
from tests.formulations.relaxed import UNLIMITED
from tests.oracles.brute_force import brute_force_optimum
from tests.oracles.draws import alike, instance_of, instances
from tests.tiers import a_few

SMALL = instances(max_requests=5, max_memory=12, max_arrival=6, max_output=6)
CROWDED = instances(max_requests=5, max_memory=9, max_arrival=0, max_output=6)
Prices = StatePrices | tuple[Any, int]


@st.composite
def large(draw: st.DrawFn) -> Instance:
    """Draw an instance of up to 10⁹ tokens: long prompts, few rounds, and M at a peak or above."""
    sizes = st.tuples(st.integers(0, 4), st.integers(0, 10**9 - 6), st.integers(1, 5))
    rows = draw(st.lists(sizes, min_size=1, max_size=5))
    peak = max(s + o for _, s, o in rows)
    memory = min(draw(st.sampled_from((peak, peak + 1, 3 * peak // 2))), 10**9)
    return instance_of(memory, *rows)


@st.composite
def _prices(draw: st.DrawFn, instance: Instance) -> Prices:
    """Draw prices on memory that follow the queue, or any small ones on states."""
    factor = draw(st.sampled_from((0.0, 0.7, 1.0, 1.2)))
    bits = 20 if instance.memory > 10**4 else draw(st.integers(2, 12))
    horizon = int(instance.arrivals.max() + instance.outputs.sum()) + 1
    fluid = factor * fluid_prices(instance, request_classes(instance), max(horizon, 2))
    numerators = np.rint(fluid * (1 << bits)).astype(np.int64)
    if instance.memory > 30 or draw(st.booleans()):
        return numerators, 1 << bits
    knots = np.array([1, 2 + horizon // 3, 3 + horizon])
    tokens = np.array([0, draw(st.integers(1, 4)), 30])
    left = np.array([0, draw(st.integers(1, 3)), 30])
    noise = draw(st.lists(st.sampled_from((0.8, 1.0, 1.3)), min_size=9, max_size=9))
    table = np.array(
        [
            [[int(numerators[min(t, horizon)] * w * noise[3 * (x % 3) + y]) for y in range(3)]
             for x, w in enumerate(tokens)]
            for t in knots
        ],
        dtype=np.int64,
    )  # fmt: skip
    return StatePrices(knots, tokens, left, table, 1 << bits)


def _never() -> bool:
    return False


def _limits(memory: float = 1e9, threads: int = 1, seconds: float = 0.3) -> SearchLimits:
    end = time.monotonic() + seconds
    return SearchLimits(threads, memory, lambda: time.monotonic() > end)


def _check(instance: Instance, prices: Prices, limits: SearchLimits) -> None:
    """Search; no bound may exceed the optimum, and what ends has proved it."""
    optimum = brute_force_optimum(instance)
    found = network(instance, prices)
    assert found.bound <= optimum
    steps: list[TelWindowResult] = []
    ended = search(found, bound=found.bound, below=optimum + 3, limits=limits, on_step=steps.append)
    assert all(step.bound <= optimum for step in steps)
    if ended:
        last = steps[-1]
        assert last.starts is not None
        schedule = make_schedule(instance, last.starts, "sweep")
        assert check_schedule(instance, schedule).valid
        assert schedule.tel == last.bound == optimum
    if steps and (best := max(step.bound for step in steps)) > 0:
        own = steps[-1].multipliers
        multipliers = () if own is None else own.tolist()
        _certify(instance, optimum, best, prices, multipliers)


def _certify(
    instance: Instance, optimum: int, best: int, prices: Prices, multipliers: list[int] | tuple[()]
) -> None:
    """Evaluate the certificate, and one for more than the optimum, which is refused."""
    document = sweep_certificate(best, prices, multipliers)
    refused = ""
    try:
        proved = evaluate_certificate(instance, read_certificate(document))
    except CertificateError as error:
        refused, proved = str(error), best
    assert proved == best
    assert not refused or "takes more" in refused or "holds more" in refused
    wrong = sweep_certificate(optimum + 1, prices, multipliers)
    with pytest.raises(CertificateError):
        evaluate_certificate(instance, read_certificate(wrong))


@pytest.fixture(autouse=True)
def _short_evaluations(monkeypatch: pytest.MonkeyPatch) -> None:
    """Certificates that take long are refused soon: bad prices leave wide windows."""
    monkeypatch.setattr(budget_limits, "STEPS_OF_A_CHARACTER", 0)


@given(data=st.data())
@settings(max_examples=25, deadline=None)
def test_sweeps_find_the_optimum_and_certify_it(data: st.DataObject) -> None:
    """Arrivals, equal requests, any prices: bounds hold, and the optimum is that of brute force."""
    instance = data.draw(st.one_of(SMALL, CROWDED, alike()))
    _check(instance, data.draw(_prices(instance)), _limits())


@pytest.mark.parametrize("word", a_few([1, 59], 1))
@given(data=st.data())
@settings(max_examples=12, deadline=None)
def test_what_is_counted_is_proved_up_to_the_optimum(word: int, data: st.DataObject) -> None:
    """With any multipliers each value up to the optimum of brute force is proved, and none above.

    Whether rows are compared place by place, or many places as one number; however far is looked
    ahead.
    """
    instance = data.draw(st.one_of(SMALL, CROWDED, alike(), large()))
    optimum, prices = brute_force_optimum(instance), data.draw(_prices(instance))
    different = len({(r.arrival, r.prompt, r.output) for r in instance.requests})
    own = data.draw(st.lists(st.integers(-9, 9), min_size=different, max_size=different))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(backward_levels, "WORD", word)
        patch.setattr(backward_tables, "DEPTH", data.draw(st.sampled_from((0, 1, 99))))
        for value in (optimum - 1, optimum, optimum + 1, optimum + 2):
            certificate = read_certificate(sweep_certificate(value, prices, own))
            refused = ""
            try:
                assert evaluate_certificate(instance, certificate) == value
            except CertificateError as error:
                refused = str(error)
            if value > optimum:
                assert refused
            else:
                assert not refused or "takes more" in refused or "holds more" in refused


@pytest.mark.parametrize("threads", [1, 2])
@given(data=st.data())
@settings(max_examples=8, deadline=None)
def test_equal_keys_do_not_merge_different_bases(threads: int, data: st.DataObject) -> None:
    """With one key for all bases, and a few bases a call, the levels are the same sets."""
    instance = data.draw(st.one_of(SMALL, alike()))
    found = network(instance, data.draw(_prices(instance)))
    window = found.window(brute_force_optimum(instance))
    known = rules(found, window)
    blind = known._replace(keys=np.zeros_like(known.keys))
    width = len(instance)

    def swept_by(each: network_module.WindowRules, threads: int) -> tuple[int, int]:
        result = sweep(each, width, SearchLimits(threads, 1e9, _never), keep=True)
        assert result.paths is not None
        length = priced(result.paths, np.zeros(len(found.least), dtype=np.int64), found.least).value
        assert length is not None
        return len(result.paths), length

    expected = swept_by(known, 1)
    chunk = level_module.CHUNK
    level_module.CHUNK = 1
    try:
        assert swept_by(blind, threads) == expected
    finally:
        level_module.CHUNK = chunk


#: Two that never run together: (0, 3, 4) and (0, 3, 5) with M = 8: OPT = 4 + 9 = 13.
PAIR = instance_of(8, (0, 3, 4), (0, 3, 5))
#: Prices of 0.
FREE = (np.zeros(2, dtype=np.int64), 1)


def _free(instance: Instance) -> PricedNetwork:
    """Return an instance under prices of 0, whose value is Σ o."""
    return network(instance, FREE)


def test_what_is_forgotten_needs_multipliers() -> None:
    """Without prices a window up to 12 is left: the short request twice takes 4 + 8 = 12."""
    found, steps = _free(PAIR), list[TelWindowResult]()
    assert found.bound == 9
    left = sweep(rules(found, found.window(12)), 2, _limits(), keep=False)
    assert not left.closed
    assert search(found, bound=9, below=13, limits=_limits(), on_step=steps.append)
    assert steps[-1].bound == 13


def test_counting_one_kind_after_the_other_is_counting_all() -> None:
    """Split by one kind, then by the rest, leaves paths of the same least length."""
    requests = [(0, 2, 3), (0, 2, 3), (1, 1, 4), (0, 4, 2)]
    instance = instance_of(9, *requests)
    optimum = brute_force_optimum(instance)
    found = _free(instance)
    window = found.window(optimum + 1)
    paths = sweep(rules(found, window), 4, UNLIMITED, keep=True).paths
    assert paths is not None
    counts = found.kinds.counts
    none = np.zeros_like(counts)
    whole = split(paths, none, counts, range(len(counts)), window, 10**6, _never)
    step = split(paths, none, counts, [1], window, 10**6, _never)
    assert whole is not None
    assert step is not None
    rest = split(step, none, counts, [0, 2], window, 10**6, _never)
    assert rest is not None
    expected = optimum * found.unit - found.total
    assert priced(whole, none, counts).value == priced(rest, none, counts).value == expected
    assert split(paths, none, counts, range(len(counts)), window, 5, _never) is None


def test_limits_end_a_sweep_without_a_claim() -> None:
    """Time and memory too short: nothing is reported that is not proved."""
    instance = instance_of(20, *((0, 1 + i % 3, 4 + i) for i in range(6)))
    optimum = brute_force_optimum(instance)
    short = [_limits(seconds=-1.0), *(_limits(memory) for memory in np.geomspace(500, 50_000, 9))]
    for limits in short:
        steps: list[TelWindowResult] = []
        found = _free(instance)
        ended = search(found, bound=0, below=10**6, limits=limits, on_step=steps.append)
        assert ended == any(step.starts for step in steps)
        assert all(step.bound <= optimum for step in steps)
        assert not ended or limits.memory_bytes > 2_000


@given(
    free=st.floats(-5.0, 1e6),
    threads=st.integers(1, 5),
    moves=st.lists(st.floats(0.0, 1.0), max_size=60),
)
@settings(max_examples=60, deadline=None)
def test_threads_never_share_more_than_there_is(
    free: float, threads: int, moves: list[float]
) -> None:
    """Whoever begins and ends when: what is taken and what still may be is at most all."""
    shares, under_way, taken = _Shares(free, threads), list[int](), 0
    for move in moves:
        if len(under_way) == threads or (under_way and move < 0.4):
            share = under_way.pop(int(move * 7) % len(under_way))
            used = int(move * share)
            shares.settle(share, used)
            taken += used
        else:
            under_way.append(shares.reserve())
        assert taken + sum(under_way) <= max(free, 0)
    assert _Shares(100.0, 4).reserve() == 25


@pytest.mark.parametrize(
    ("damage", "text"),
    [
        (lambda d: d | {"value": 14}, "schedule has a TEL below"),
        (lambda d: d | {"multipliers": [0]}, "a multiplier for each"),
        (lambda d: {k: v for k, v in d.items() if k != "multipliers"}, "leaves paths"),
        (lambda d: d | {"upper_bound": 13}, "nothing else"),
        (lambda d: d | {"multipliers": [1 << 62, 0]}, "too large"),
        (lambda d: d | {"multipliers": [0, -(1 << 58)]}, "too large"),
        (lambda d: d | {"memory": [1 << 62]}, "too large"),
        (lambda d: d | {"denominator": 1 << 62}, "too large"),
        (lambda d: d | {"kind": "prices"}, "kind sweep only"),
    ],
)
def test_damaged_certificates_are_refused(
    damage: Callable[[dict[str, Any]], dict[str, Any]], text: str
) -> None:
    """That of the pair proves 13; changed, it proves nothing, and says why."""
    document = sweep_certificate(13, FREE, [0, 0])
    assert evaluate_certificate(PAIR, read_certificate(document)) == 13
    with pytest.raises(CertificateError, match=text):
        evaluate_certificate(PAIR, read_certificate(damage(document)))


@pytest.mark.parametrize(
    ("instance", "value", "text"),
    [
        # A number a state would be some gigabytes, whatever is proved.
        (instance_of(10**9, (0, 0, 3 * 10**8)), 1, "takes more"),
        # Thousands of levels with a base each, and a table with as many rounds.
        (instance_of(1, (0, 0, 1)), 10_000, "takes more"),
        (instance_of(1, (0, 0, 1)), 30_000_000, "holds more"),
        # What fits into a large memory, by tokens; many rows with many places.
        (instance_of(10**6, *((0, i, 60) for i in range(300))), 18_001, "takes more"),
        (instance_of(900, *((0, 0, i % 30 + 1) for i in range(60))), 1_020, "more than"),
        (instance_of(1, *((i, 0, 1) for i in range(20_000))), 20_001, "holds more"),
    ],
    ids=["states", "levels", "rounds", "memory", "places", "requests"],
)
def test_a_line_does_not_take_hours(instance: Instance, value: int, text: str) -> None:
    """What an evaluation would take or hold is limited before it is taken or held."""
    different = len({(r.prompt, r.output) for r in instance.requests})
    multipliers = [0] * different if value == 1_020 else []
    certificate = Certificate("sweep", value, multipliers=tuple(multipliers))
    with pytest.raises(CertificateError, match=text):
        evaluate_certificate(instance, certificate)


def test_many_states_count_as_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tables of all states are made at every level: nine of them at thirteen levels."""
    taken = []
    document = sweep_certificate(13, FREE, [0, 0])
    for steps in (0, 1_000):
        monkeypatch.setattr(backward_levels, "STATE", steps)
        budget = ReaderBudget(2, document)
        assert evaluate_certificate(PAIR, read_certificate(document), budget) == 13
        taken.append(budget.allowed - budget.steps)
    assert (taken[1] - taken[0]) % (1_000 * 9) == 0 < taken[1] - taken[0]


def test_large_tokens_are_looked_ahead_in_blocks() -> None:
    """By blocks as by single tokens: the most that any number of each kind pays in m tokens."""
    held, paid, memory = (3, 5, 7), (4, 7, 11), 40
    expected = [0] * (memory + 1)
    for m in range(1, memory + 1):
        options = [expected[m - 1]]
        options += [expected[m - h] + p for h, p in zip(held, paid, strict=True) if h <= m]
        expected[m] = max(options)
    instance = instance_of(memory, *((0, h - 1, 1) for h in held))
    network = backward_tables.ReaderNetwork(
        memory,
        backward_tables.kinds_of(instance, ReaderBudget(3, {})),
        pay=np.array([[0, 0, 0], paid]),
        worth=np.zeros(2, dtype=np.int64),
        dear=np.zeros((2, 3), dtype=np.int64),
        window=0,
        ahead=np.zeros((0, 0, 0), dtype=np.int64),
        extra=np.zeros(3, dtype=np.int64),
    )
    budget = ReaderBudget(3, {})
    assert backward_tables.looking_ahead(network, budget).ahead[1, :, 1].tolist() == expected
    gain, power = backward_tables.gain_of(network, -np.array(paid), np.arange(3), budget)
    assert (gain.tolist(), power) == (expected, 0)


def test_what_completes_is_bounded_in_coarse_units_of_many_tokens() -> None:
    """In units of 2^8 tokens no less is gained than in tokens; what is below one, all at once."""
    instance = instance_of(10**6, (0, 0, 1), (0, 0, 1), (0, 99_999, 1), (0, 300_000, 1))
    kinds = backward_tables.kinds_of(instance, ReaderBudget(4, {}))
    none = np.zeros(3, dtype=np.int64)
    network = backward_tables.ReaderNetwork(
        10**6, kinds, none[None], none, none[None], 0, none[:0].reshape(0, 0, 0), none
    )
    gain, power = backward_tables.gain_of(
        network, np.array([-5, -10, 7]), np.arange(3), ReaderBudget(4, {})
    )
    assert power == 8
    # Both small ones, and ten of 10⁵ tokens in a million of them.
    assert [int(gain[m >> power]) for m in (0, 99_000, 100_000, 10**6)] == [10, 10, 20, 110]


def test_counts_beyond_eight_bits() -> None:
    """300 equal requests, two at a time: 2 · (1 + ... + 150), and not one more.

    Under the best prices, (150 − t) / 2 a token, nothing would be left to be counted.
    """
    instance = instance_of(4, *[(0, 1, 1)] * 300)
    prices = (np.maximum(148 - np.arange(150), 0), 2)
    optimum = 150 * 151
    right, wrong = (sweep_certificate(each, prices, [0]) for each in (optimum, optimum + 1))
    assert evaluate_certificate(instance, read_certificate(right)) == optimum
    with pytest.raises(CertificateError, match="a schedule has a TEL below"):
        evaluate_certificate(instance, read_certificate(wrong))


@pytest.mark.parametrize("field", ["knots", "tokens", "left", "table"])
def test_damaged_prices_on_states_are_refused(field: str) -> None:
    """Grids that are not increasing or do not hold all states, a table too short."""
    grid = np.array([0, 4, 8])
    table = StatePrices(np.array([1, 9]), grid, grid, np.zeros((2, 3, 3), dtype=np.int64), 4)
    document = sweep_certificate(13, table, [0, 0])
    assert evaluate_certificate(PAIR, read_certificate(document)) == 13
    states = dict(document["states"])
    for changed in (list(states[field])[:1], list(states[field])[:-1] if field != "knots" else []):
        damaged = document | {"states": states | {field: changed}}
        with pytest.raises(CertificateError, match="states"):
            evaluate_certificate(PAIR, read_certificate(damaged))


@pytest.mark.parametrize("takes", [29.0, 31.0])
def test_a_window_that_takes_far_longer_than_is_left_is_given_up(
    monkeypatch: pytest.MonkeyPatch, takes: float
) -> None:
    """Three times what was left when it began; a wider one is not tried then."""
    now, seen = [0.0], []

    def window(_: object, target: int, limits: SearchLimits) -> TelWindowResult | None:
        now[0] += takes
        seen.append(limits.out_of_time())
        return None if seen[-1] else TelWindowResult(target, target + 1, None, 1, None)

    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    monkeypatch.setattr(sweep_module, "_window", window)
    assert not search(
        _free(PAIR), bound=9, below=13, limits=UNLIMITED, on_step=lambda _: None,
        seconds=lambda: 10.0 - now[0],
    )  # fmt: skip
    assert seen == [takes > 30.0]


MANY = instance_of(7, *[(0, 1, 2)] * 40, *[(0, 2, 1)] * 25)


def test_many_equal_requests_are_counted_to_the_optimum() -> None:
    """More than 60 requests, and the optimum is that of the forward search over counts."""
    counted = counts.search(MANY, one_at_a_time(MANY).tel)
    assert counted is not None
    optimum = counted.tel
    prices = np.array([0, *range(4 * 50, 0, -4)])
    found: list[TelWindowResult] = []
    limits = _limits(seconds=60.0)
    under = network(MANY, (prices, 16))
    assert search(under, bound=0, below=optimum + 1, limits=limits, on_step=found.append)
    assert all(step.bound <= optimum for step in found)
    assert found[-1].bound == optimum
    starts = found[-1].starts
    assert starts is not None
    schedule = make_schedule(MANY, starts, "sweep")
    assert check_schedule(MANY, schedule).valid
    assert sum(schedule.starts) + 2 * 40 + 25 == optimum


@pytest.mark.parametrize("most", [3, 9, 100])
def test_kinds_are_counted_in_as_many_groups_as_words_need(
    monkeypatch: pytest.MonkeyPatch, most: int
) -> None:
    """Counted one after the other or together, the optimum is the same."""
    monkeypatch.setattr(sweep_module, "COMBINATIONS", most)
    assert sweep_module._countable(np.array([2, 2, 2])) == {3: 1, 9: 2, 100: 3}[most]
    instance = instance_of(7, *((0, 1, 1 + i % 3) for i in range(6)))
    optimum, found = brute_force_optimum(instance), list[TelWindowResult]()
    free = _free(instance)
    limits = _limits(seconds=60.0)
    assert search(free, bound=0, below=optimum + 1, limits=limits, on_step=found.append)
    assert found[-1].bound == optimum


@pytest.mark.parametrize("seed", range(12))
def test_narrower_windows_come_first_where_splitting_makes_many_arcs(
    monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    """Whatever may be split at once: one window far above the optimum proves the same."""
    rng = np.random.default_rng(seed)
    rows = [[int(rng.integers(*each)) for each in ((0, 3), (0, 3), (1, 5))] for _ in range(6)]
    instance = instance_of(9, *rows)
    optimum = brute_force_optimum(instance)
    free = _free(instance)
    asked: list[int] = []
    inside = sweep_module._inside

    def counted(under: PricedNetwork, target: int, *rest: Any) -> Any:
        asked.append(target)
        return inside(under, target, *rest)

    monkeypatch.setattr(sweep_module, "_inside", counted)
    for at_once in (10**6, 0):
        monkeypatch.setattr(sweep_module, "AT_ONCE", at_once)
        monkeypatch.setattr(sweep_module, "AT_ONCE_TIMES", 0)
        asked.clear()
        found = sweep_module._window(free, optimum + 20, _limits(seconds=30.0))
        assert found is not None
        assert (found.bound, found.target) == (optimum, optimum + 20)
        assert found.starts is not None
        assert check_schedule(instance, make_schedule(instance, found.starts, "x")).valid
        assert all(target < optimum for target in asked[1:-1])
        below = sweep_module._window(free, optimum - 1, _limits(seconds=30.0))
        assert below is not None
        assert (below.bound, below.starts) == (optimum, None)
