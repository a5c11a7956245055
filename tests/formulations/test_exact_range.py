"""64-bit arithmetic at the limits of the format, against Python's integers."""

import contextlib

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from formulations.bounds.fluid_limit import fluid_prices, likely_horizon
from formulations.bounds.pricing import ClassPricing, request_classes
from formulations.certificates.certificate_evaluation import evaluate_certificate
from formulations.certificates.certificate_file import price_certificate, read_certificate
from formulations.dp import state_kernels
from formulations.dp.state_bounds import price_tables, scaled_prices
from formulations.lagrangian import price_bound as prices_module
from formulations.lagrangian.exact_integers import SAFE, exact_sum, largest_denominator
from formulations.lagrangian.price_bound import certify_prices, evaluate_prices
from formulations.lagrangian.priced_starts import certified_costs, start_costs
from formulations.valid.running_states import running_states, searchable_states
from formulations.valid.volume_bounds import volume_bound
from formulations.valid.window_groups import WindowGroup, window_groups
from instances import Instance, Request
from instances.instance import MAX_ARRIVAL, MAX_TOKENS
from tests.kernel_parts import from_python
from tests.oracles.draws import instance_of, instances

INT64 = st.integers(-(1 << 63), (1 << 63) - 1)


@st.composite
def huge(draw: st.DrawFn, most: int = 63, late: bool = True) -> Instance:
    """Draw up to 63 requests with tokens near M, M/2 and M/3, M up to 10⁹, some at the end."""
    memory = draw(st.one_of(st.sampled_from([10**6, MAX_TOKENS]), st.integers(1, MAX_TOKENS)))
    requests = []
    for i in range(draw(st.integers(1, most))):
        output = draw(st.one_of(st.integers(1, min(6, memory)), st.integers(1, memory)))
        near = memory // draw(st.sampled_from((1, 2, 3))) - output
        prompt = draw(st.one_of(st.just(0), st.just(max(near, 0)), st.integers(0, memory - output)))
        arrival = draw(st.integers(0, 9))
        if late and draw(st.booleans()):
            arrival = MAX_ARRIVAL - arrival
        requests.append(Request(i, arrival, prompt, output))
    return Instance("huge", memory, tuple(requests))


#: Prices from what an LP of such instances has to what no LP has.
PRICES = st.lists(
    st.one_of(st.just(0.0), st.floats(0, 1e-6), st.floats(0, 3), st.floats(0, 1e12)),
    min_size=1,
    max_size=12,
)


def _cost(
    request: Request,
    start: int,
    denominator: int,
    memory: list[int],
    windows: list[tuple[list[int], int, int]],
    decided: int = 0,
) -> int:
    """Return the priced cost of a start, price by price; tokens of times ≤ ``decided`` are paid.

    ``windows`` holds the prices of each group of the request, and the rounds of its window before
    and after the start.
    """
    total = denominator * (start + request.output - int(request.arrival))
    for time, price in enumerate(memory):
        if max(start, decided) < time <= start + request.output:
            total += price * (request.prompt + time - start)
    for prices, before, after in windows:
        total += sum(
            price for time, price in enumerate(prices) if start - before <= time < start + after
        )
    return total


@given(values=st.lists(INT64, max_size=40))
@settings(max_examples=40, deadline=None)
def test_exact_sum_is_the_sum(values: list[int]) -> None:
    """Sums of any 64-bit integers are those of Python's."""
    assert exact_sum(np.array(values, dtype=np.int64)) == sum(values)


def test_denominators_are_the_largest_that_fit() -> None:
    """A power of two up to the first, or None where not even 1 fits."""
    assert largest_denominator(lambda d: d < 1000) == 512
    assert largest_denominator(lambda _: True) == 1 << 40
    assert largest_denominator(lambda _: False) is None


#: Few requests in each other's way, whose prices matter.
SMALL = instances(max_requests=5, max_memory=16, max_arrival=9)


@given(
    instance=st.one_of(huge(most=6), SMALL),
    numerators=st.lists(st.integers(0, 60), min_size=1, max_size=30),
    denominator=st.integers(1, 50),
)
@settings(max_examples=150, deadline=None)
def test_memory_prices_are_evaluated_exactly(
    instance: Instance, numerators: list[int], denominator: int
) -> None:
    """Compiled or not, windows or not, the bound is that of priced tokens added one by one."""
    latest = [int(request.arrival) + 3 for request in instance.requests]
    for limit in (None, latest):
        total = -instance.memory * sum(numerators)
        for i, request in enumerate(instance.requests):
            arrival = int(request.arrival)
            last = limit[i] if limit else max(arrival, len(numerators))
            total += min(
                _cost(request, start, denominator, numerators, [])
                for start in range(arrival, last + 1)
            )
        for threshold in (prices_module.COMPILE_FROM, 0):
            with pytest.MonkeyPatch.context() as patch:
                patch.setattr(prices_module, "COMPILE_FROM", threshold)
                found = evaluate_prices(instance, np.array(numerators), denominator, limit)
            assert found == -(-total // denominator)


@given(instance=st.one_of(huge(), SMALL), prices=PRICES, group_prices=PRICES)
@settings(max_examples=80, deadline=None)
def test_priced_starts_are_exact(
    instance: Instance, prices: list[float], group_prices: list[float]
) -> None:
    """Every cost and the bound, with window groups, are those of Python's integers."""
    groups = window_groups(instance)
    latest = [int(request.arrival) + 5 for request in instance.requests]
    given_prices = (np.array(prices), np.tile(group_prices, (len(groups), 1)))
    costs = certified_costs(instance, groups, given_prices, latest)
    free = sum(request.output for request in instance.requests)
    assert min(costs.bound, certify_prices(instance, prices).value) >= free
    certificate = price_certificate(
        costs.bound, costs.denominator, costs.memory, groups=groups, group_prices=costs.groups
    )
    # Over all starts, not only those up to ``latest``, it may prove less.
    assert evaluate_certificate(instance, read_certificate(certificate)) <= costs.bound
    with contextlib.suppress(OverflowError):
        # Exact as well where they prove less than prices of 0 do.
        costs = start_costs(instance, given_prices[0], groups, given_prices[1], latest)
    memory = costs.memory.tolist()
    windows = _windows(groups, costs.groups.tolist(), len(instance))
    for i, request in enumerate(instance.requests):
        arrival = int(request.arrival)
        expected = [
            _cost(request, arrival + k, costs.denominator, memory, windows[i])
            for k in range(len(costs.costs[i]))
        ]
        assert costs.costs[i].tolist() == expected
    worth = instance.memory * sum(memory) + sum(
        group.most * sum(row) for group, row in zip(groups, costs.groups.tolist(), strict=True)
    )
    assert costs.constant == worth


def _windows(
    groups: list[WindowGroup], prices: list[list[int]], n: int
) -> list[list[tuple[list[int], int, int]]]:
    """Return of each request the prices of its groups with its window."""
    found: list[list[tuple[list[int], int, int]]] = [[] for _ in range(n)]
    for group, row in zip(groups, prices, strict=True):
        for member in group.members:
            found[member.request].append((row, member.before, member.after))
    return found


@given(
    instance=huge(late=False),
    prices=PRICES,
    tel=st.one_of(st.integers(1, 1 << 24), st.integers(1, 7 * 10**13)),
    data=st.data(),
)
@settings(max_examples=40, deadline=None)
def test_bounds_of_states_are_exact(
    instance: Instance, prices: list[float], tel: int, data: st.DataObject
) -> None:
    """The compiled bound of a state is that of Python's integers, up to n = 63 and M = 10⁹."""
    latest = [int(request.arrival) + data.draw(st.integers(0, 6)) for request in instance.requests]
    try:
        costs = start_costs(instance, prices, [], [], latest)
    except OverflowError:
        costs = start_costs(instance, [], [], [], latest)
    scaled = scaled_prices(instance, costs, max(latest), tel)
    columns = (instance.arrivals, instance.prompts, instance.outputs)
    tables = price_tables(instance, scaled, latest, tel)
    memory = scaled.memory.tolist()
    now = data.draw(st.integers(0, max(latest) + 1))
    mask, starts = 0, [0] * len(instance)
    expected = -instance.memory * sum(memory[now + 1 :])
    hopeless = False
    for i, request in enumerate(instance.requests):
        arrival = int(request.arrival)
        if arrival < now and data.draw(st.booleans()):
            mask |= 1 << i
            starts[i] = data.draw(st.integers(arrival, min(now - 1, latest[i])))
            expected += _cost(request, starts[i], scaled.denominator, memory, [], now)
            continue
        options = range(max(now, arrival), latest[i] + 1)
        hopeless |= not options
        expected += min(
            (_cost(request, t, scaled.denominator, memory, [], now) for t in options), default=0
        )
    bound = from_python(state_kernels._bound)
    found = bound(now, np.uint64(mask), np.array(starts, dtype=np.int64), columns, tables)
    if hopeless or found != expected:
        # More than any schedule better than ``tel`` can cost: also where ``tel`` is less than some
        # start costs (drawn below Σ o), which is then looked at no further.
        assert found >= tel * scaled.denominator
        assert hopeless or found < expected


def test_scales_end_with_no_prices() -> None:
    """Prices that no scale keeps within 64 bits become 0, at the limits of the format."""
    instance = instance_of(MAX_TOKENS, *[(MAX_ARRIVAL, 0, MAX_TOKENS)] * 63)
    last, tel = MAX_ARRIVAL + 63 * MAX_TOKENS, 63 * (63 * MAX_TOKENS)
    costs = start_costs(instance, [], [], [], [last] * 63)
    scaled = scaled_prices(instance, costs, last, tel)
    # Σ o = 63·10⁹ at every scale; 64 bits hold 63 times the last completion at D = 2¹⁶ at most.
    assert costs.bound == 63 * MAX_TOKENS
    assert 63 * scaled.denominator * (last + MAX_TOKENS) < 1 << 62
    assert scaled.denominator >= 1 << 14
    with pytest.raises(OverflowError, match="rounds are too large"):
        scaled_prices(instance, costs, last, 1 << 60)


def test_volumes_beyond_64_bits() -> None:
    """Forty requests of 10⁹ tokens hold more than 2⁶³ token-rounds; no sum of them wraps.

    Each holds s·o + o(o + 1)/2 with s = 1, o = 10⁹ − 1: about 5·10¹⁷ token-rounds, or 5·10⁸ rounds
    of the whole memory.  The j-th completion comes no earlier than ⌈j·V / M⌉ or o.
    """
    instance = instance_of(MAX_TOKENS, *[(0, 1, MAX_TOKENS - 1)] * 40)
    volume = (MAX_TOKENS - 1) + (MAX_TOKENS - 1) * MAX_TOKENS // 2
    assert 40 * volume > 1 << 63
    expected = sum(max(-(-j * volume // MAX_TOKENS), MAX_TOKENS - 1) for j in range(1, 41))
    assert volume_bound(instance) == expected
    classes = request_classes(instance)
    assert likely_horizon(instance) == 40 * volume * 13 // (10 * MAX_TOKENS) + MAX_TOKENS - 1 + 10
    # In the fluid limit they are through one after the other, so all wait at first.
    prices = fluid_prices(instance, classes, 10)
    assert prices[1] == pytest.approx(40 / MAX_TOKENS, rel=1e-6)
    assert ClassPricing(instance, classes, 10, 1).constant == 40 * (MAX_TOKENS - 1)


def test_useless_prices_cost_nothing() -> None:
    """Prices that certify less than Σ o, or that 64 bits do not hold, are replaced by none."""
    instance = instance_of(10, (0, 1, 3))
    for prices in ([0.0] + [5.0] * 40, [1e300] * 3, [float(SAFE)]):
        found = certify_prices(instance, prices)
        assert found.value == 3
        assert evaluate_prices(instance, found.numerators, found.denominator) == 3
        pair = (np.array(prices), np.zeros((0, 1)))
        assert certified_costs(instance, [], pair, [9]).bound == 3
    # Without prices there is none either.
    assert certified_costs(instance, [], None, [9]).bound == 3
    assert read_certificate(price_certificate(-7, 1, np.array([4]))).value == 0


def test_patterns_are_counted_before_they_are_listed() -> None:
    """Requests of 10⁹ rounds have too many states; the work of few is summed by a formula.

    One state (M/2 + 1, 0) leaves room for nothing more, but the table has 2·(M + 1) entries.
    """
    long = instance_of(MAX_TOKENS, (0, 0, MAX_TOKENS))
    assert searchable_states(long, 1 << 60) is None
    wide = instance_of(MAX_TOKENS, (0, MAX_TOKENS // 2, 1))
    assert running_states(wide).work == 2 * (MAX_TOKENS + 1)
    short = instance_of(12, (0, 2, 4), (0, 5, 1))
    states = running_states(short)
    expected = 0
    for w, r in zip(states.tokens.tolist(), states.left.tolist(), strict=True):
        room = 12 - w - r
        expected += sum(range(room + 1, 0, -r)) if r else room * states.most
    assert states.work == expected
    assert searchable_states(short, expected) is not None
    assert searchable_states(short, expected - 1) is None


def test_windows_of_a_million_rounds_are_evaluated_at_once() -> None:
    """A certificate need not try every start from which a long window meets a price.

    (s, o) = (4·10⁸, 6·10⁸) and (0, 10⁹), M = 10⁹: windows [p − 4·10⁸, p + 6·10⁸) and
    [p, p + 6·10⁸), of which one at most holds a round.  With μ = 1 at rounds 0..2 both start at 0,
    pay 3, and the worth is 3: 6·10⁸ + 3 + 10⁹ + 3 − 3.
    """
    instance = instance_of(MAX_TOKENS, (0, 4 * 10**8, 6 * 10**8), (0, 0, 10**9))
    (pair,) = window_groups(instance, (2,))
    assert {(each.before, each.after) for each in pair.members} == {
        (4 * 10**8, 6 * 10**8),
        (0, 6 * 10**8),
    }
    document = price_certificate(
        1, 1, np.array([0]), groups=[pair], group_prices=np.array([[1, 1, 1]])
    )
    assert evaluate_certificate(instance, read_certificate(document)) == 16 * 10**8 + 3
