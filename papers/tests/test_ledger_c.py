"""Refuted statements of C, derived a second time by small independent programs."""

import math
from collections.abc import Sequence
from fractions import Fraction
from itertools import combinations, permutations, product

import numpy as np
import pytest

from papers.ledger import chen
from papers.ledger.chen import geometric
from papers.ledger.statements import errata


def in_order(outputs: Sequence[int], memory: int, prompt: int, believed: Sequence[int]) -> int:
    """Return the TEL of admission in a given order, as long as the next fits as believed."""
    starts: list[int] = []
    now = 0
    while len(starts) < len(outputs):
        running = [(p, believed[i]) for i, p in enumerate(starts) if p + outputs[i] > now]
        running.append((now, believed[len(starts)]))
        ends = [p + b for p, b in running]
        if all(
            sum(prompt + t - p for p, b in running if t <= p + b) <= memory
            for t in range(now + 1, max(ends) + 1)
        ):
            starts.append(now)
        else:
            now += 1
    return sum(p + o for p, o in zip(starts, outputs, strict=True))


def mean(
    outputs: Sequence[int], memory: int, upper: int | None = None, prompt: int = 0
) -> Fraction:
    """Return the mean TEL over all orders, with the outputs known or taken to be the upper end."""
    orders = list(permutations(outputs))
    tels = [
        in_order(each, memory, prompt, [upper] * len(each) if upper else each) for each in orders
    ]
    return Fraction(sum(tels), len(orders))


def ratio(
    outputs: Sequence[int], memory: int, upper: int | None = None, prompt: int = 0
) -> Fraction:
    """Return that over the TEL of the shortest first."""
    shortest = sorted(outputs)
    return mean(outputs, memory, upper, prompt) / in_order(shortest, memory, prompt, shortest)


def test_the_quotient_of_theorem_2() -> None:
    """The proof's sums at ℓ = 1, u = 4, a/b = 1/2 tend to 3, not to 4·(1 + 2)/2 = 6."""
    lower, upper, a, b = 1, 4, 10**6, 2 * 10**6
    ours = Fraction((a * upper + b * lower) * (a + b) * lower * upper, 2 * lower)
    theirs = (
        upper * lower * a * (a + 1) // 2 + b * lower * a * lower + upper * lower * b * (b + 1) // 2
    )
    assert float(ours / theirs) == pytest.approx(3, abs=1e-4)
    assert chen.quotient(Fraction(1, 4), Fraction(1, 2)) == 3


@pytest.mark.parametrize("inverse", [4, 20, 100, 1000])
def test_a_max_keeps_the_proved_bound(inverse: int) -> None:
    """No law of outputs has 2uō/E[min²] above the bound, and min(1, λ/t) comes within 1 %."""
    alpha, draws = Fraction(1, inverse), np.random.default_rng(inverse)
    t = np.linspace(0, inverse, 200_001)[1:]  # ℓ = 1, u = 1/α

    def value(tail: np.ndarray) -> float:
        return float(2 * inverse * tail.mean() / (2 * t * tail**2).mean())

    laws = [np.where(t <= 1, 1.0, scale / t**power) for scale in (0.1, 0.5, 1) for power in (1, 2)]
    for _ in range(20):
        steps = np.sort(draws.random(6) ** draws.integers(1, 5))[::-1]
        ends = np.sort(1 + (inverse - 1) * draws.random(5) ** 2)
        laws.append(np.where(t <= 1, 1.0, steps[np.searchsorted(ends, t)]))
    best = max(
        value(np.minimum(1, np.where(t <= 1, 1, scale / t))) for scale in np.logspace(-3, 0, 400)
    )
    bound = chen.proved(alpha) - 1
    assert max(map(value, laws)) <= bound * (1 + 1e-6)
    assert 0.99 * bound <= best <= bound * (1 + 1e-6)


@pytest.mark.parametrize("prompt", [0, 3])
def test_a_max_itself_keeps_it(prompt: int) -> None:
    """On small instances, over random orders: at most 4f + 1 times the volume bound."""
    draws = np.random.default_rng(prompt)
    for memory in (10, 25):
        outputs = [1] * 30 + [5] * 10
        runs = [
            in_order(list(draws.permutation(outputs)), memory, prompt, [5] * 40) for _ in range(20)
        ]
        volumes = sorted(prompt * o + o * (o + 1) // 2 for o in outputs)
        least = sum(math.ceil(v / memory) for v in np.cumsum(volumes))
        assert np.mean(runs) <= (2 * chen.proved(Fraction(1, 5)) - 1) * least


def test_restarts_have_a_constant_ratio() -> None:
    """Both inequalities of the proof on random laws, and the schedule on small instances."""
    draws = np.random.default_rng(0)
    for _ in range(200):
        upper = int(draws.integers(2, 400))
        steps = np.cumsum(draws.random(upper) ** draws.integers(1, 40))
        tail = np.append(np.sort(np.append(steps[:-1] / steps[-1], 1.0))[::-1], 0)
        k = np.arange(1, upper + 1)
        squares = ((2 * k - 1) * tail[:-1] ** 2).sum()
        caps, before = [], []
        cap, last = 1, 0
        while last < upper:
            caps.append(cap)
            before.append(last)
            last, cap = cap, min(2 * cap, upper)
        left = tail[before]  # the share of outputs above the cap before
        assert (left**2 * np.square(caps)).sum() <= 19 / 3 * squares * (1 + 1e-9)
        assert (left * caps).sum() <= 4 * tail.sum() * (1 + 1e-9)
    assert 4 * Fraction(19, 3) + 4 == chen.restarts_keep(0)
    assert f"{8 * 19 / 3 + 4:.2f}" == f"{float(chen.restarts_keep(1)):.2f}" == "54.67"
    outputs = chen.halved(16, 2000)
    shortest = in_order(sorted(outputs), 400, 0, sorted(outputs))
    assert chen.restarts(chen.within(400, 1, 16, outputs)).tel <= 29.4 * shortest


def limit_by_recursion(upper: int, prompt: int = 0) -> float:
    """Return what E16's recursion gives: each of the u − 1 rounds before holds half its starts.

    With prompts a request holds s + a + 1 tokens a rounds after its first, and as many times the
    share that is left is (s + 1)/2, half of what a start takes.
    """
    starts: list[float] = []
    held = 0.0
    for t in range(400 * upper):
        starts.append(1 / (prompt + 1) - held / 2)
        held += starts[t] - (starts[t - upper + 1] if t >= upper - 1 else 0)
    assert min(starts) >= 0  # so none is ever cancelled
    late = starts[200 * upper :]
    tail = [1.0, *((prompt + 1) / (2 * (prompt + k)) for k in range(2, upper + 1)), 0.0]
    # Shortest first, in lockstep: a request of o tokens takes o(s + o) of the memory-rounds.
    shortest = sum(
        o * (prompt + o) * (tail[o - 1] ** 2 - tail[o] ** 2) for o in range(1, upper + 1)
    )
    return len(late) / sum(late) / shortest


def test_a_min_is_above_the_constant() -> None:
    """The recursion has the same limits: 32.58 at u = 215, above 29.33 from the u of E20 on."""
    assert float(chen.halved_limit(215)) == pytest.approx(limit_by_recursion(215), rel=2e-3)
    assert float(chen.halved_limit(215)) == pytest.approx(32.58, abs=0.005)
    for prompt in (0, 1):
        bound = chen.restarts_keep(prompt)
        first = next(u for u in range(2, 700) if chen.halved_limit(u, prompt) > bound)
        around = [limit_by_recursion(first + step, prompt) for step in (-10, 10)]
        assert around[0] < bound < around[1]
        assert f"from u = {first} on" in errata()["E20"].text


def test_less_memory_costs_more() -> None:
    """Two requests (1, 1): 1 + 1 with 4 tokens, 1 + 2 with 3, and 3 > 2·4/3.

    (1, 3) and (1, 4): 3 + 4 with 8 tokens in any order; with 6 tokens 9 and 11 in the two orders,
    mean 10 > 7·4/3.
    """
    for memory, found in ((8, 14), (6, 20)):
        assert sum(in_order(each, memory, 1, each) for each in ((3, 4), (4, 3))) == found
    large, small = (in_order((1, 1), memory, 1, (1, 1)) for memory in (4, 3))
    assert (large, small) == (2, 3)
    assert small > Fraction(4, 3) * large


def test_ec_7_fails_as_memory_grows() -> None:
    """12 outputs 1 and 4 of 4: 12 + 16 with 16 tokens; with 4 tokens 54356/455 > 4·28 on average.

    Ideal batches with M/u tokens start at 0, u, .., (u - 1)u: 7.75 M for u = 4 against 4·1.75 M;
    with s = 1, u = 6 and 2/7 of the outputs 6, 15 + 17/7 against 6·17/7 a request.
    """
    orders = [[4 if i in four else 1 for i in range(16)] for four in combinations(range(16), 4)]
    assert {in_order(each, 16, 0, each) for each in orders[::70]} == {28}
    assert Fraction(sum(in_order(each, 4, 0, each) for each in orders), 1820) == Fraction(
        54356, 455
    )
    assert chen.lockstep_quotient(0, 4) == Fraction(31, 28) == Fraction(775, 4 * 175)
    assert (
        chen.lockstep_quotient(1, 6)
        == Fraction(61, 51)
        == (15 + Fraction(17, 7)) / (6 * Fraction(17, 7))
    )
    assert chen.lockstep_quotient(0, 400) > 99
    # Well mixed orders have nearly these batches.
    for memory, prompt, upper, pattern in (
        (96, 0, 4, (4, 1, 1, 1)),
        (84, 1, 6, (6, 1, 1, 1, 6, 1, 1)),
    ):
        mixed = list(pattern) * (memory // (prompt + 1) // len(pattern))
        large = in_order(mixed, memory, prompt, mixed)
        assert large == sum(mixed)
        small = in_order(mixed, memory // upper, prompt, mixed)
        assert Fraction(small, upper * large) == chen.lockstep_quotient(prompt, upper)


def passing_over(outputs: Sequence[int], memory: int) -> int:
    """Return the TEL where each round takes, in order, whatever fits; s = 0."""
    held = np.zeros(60 * len(outputs), dtype=int)
    waiting, now, tel = list(outputs), 0, 0
    while waiting:
        left = []
        for output in waiting:
            grown = held[now + 1 : now + output + 1] + np.arange(1, output + 1)
            if fits := grown.max() <= memory:
                held[now + 1 : now + output + 1] = grown
            tel += fits * (now + output)
            left += [] if fits else [output]
        waiting, now = left, now + 1
    return int(tel)


def test_the_other_reading_of_algorithm_4() -> None:
    """What is passed over: below (EC.7) where the quarter is 4, above on 5 % of 8 and n = 3M."""
    draws = np.random.default_rng(0)
    for memory, upper, ones, long, above in ((96, 4, 72, 24, False), (160, 8, 456, 24, True)):
        orders = [list(draws.permutation([1] * ones + [upper] * long)) for _ in range(3)]
        small, large = (
            sum(passing_over(each, tokens) for each in orders)
            for tokens in (memory // upper, memory)
        )
        assert (small > 1.2 * upper * large) == above
        assert (small < 0.85 * upper * large) != above


@pytest.mark.parametrize("y", [1, 2, 7])
def test_less_memory_costs_more_as_it_grows(y: int) -> None:
    """32y with 18y tokens and 37y > 36y with 16y; before the last start each next round is full."""
    outputs = [1] * 6 * y + [3] * 2 * y + [1] * 2 * y + [3] * 2 * y + [1] * 4 * y
    for memory, counts, tel in ((18 * y, (9, 6, 1), 32 * y), (16 * y, (8, 5, 1, 2), 37 * y)):
        starts = [time for time, count in enumerate(counts) for _ in range(count * y)]
        pairs = list(zip(starts, outputs, strict=True))
        held = [
            sum(1 + t - p for p, o in pairs if p < t <= p + o) for t in range(1, len(counts) + 3)
        ]
        assert max(held) == memory
        assert held[: len(counts) - 1] == [memory] * (len(counts) - 1)
        assert sum(p + o for p, o in pairs) == tel == in_order(outputs, memory, 1, outputs)


def test_the_worst_outputs_lie_inside() -> None:
    """A_random 7/6 against 1, A_max 18/11 against 8/5, over all orders."""
    assert ratio((2, 3), 3) == Fraction(7, 6)
    assert max(ratio(ends, 3) for ends in product((1, 3), repeat=2)) == 1
    assert ratio((2, 3, 4), 4, upper=4) == Fraction(18, 11)
    assert max(ratio(ends, 4, upper=4) for ends in product((2, 4), repeat=3)) == Fraction(8, 5)
    assert ratio((2, 3), 4, prompt=1) == Fraction(15, 14)
    assert max(ratio(ends, 4, prompt=1) for ends in product((1, 3), repeat=2)) == 1
    assert ratio((1, 2, 3), 5, upper=3, prompt=1) == Fraction(12, 7)
    ends = product((1, 3), repeat=3)
    assert max(ratio(each, 5, upper=3, prompt=1) for each in ends) == Fraction(5, 3)


def test_a_max_costs_more_than_a_random() -> None:
    """Three outputs of 2 in [2, 4]: 2 + 2 + 4 with 10 tokens as believed, 2 + 2 + 3 with 5."""
    assert mean((2, 2, 2), 10, upper=4) == 8
    assert mean((2, 2, 2), 5) == 7
    assert mean((6, 6, 6), 24, upper=9, prompt=1) == 24
    assert mean((6, 6, 6), 16, prompt=1) == 23


def test_the_proof_of_lemma_3() -> None:
    """Its identities, in fractions: both forms of A's entries, B's factors, the trace's terms."""

    def entry(i: int, j: int) -> Fraction:
        if not i or not j:
            return Fraction(0)
        r = Fraction(min(i, j), max(i, j))
        return i * j * (1 + 2 * r - r * r) / 2

    for i, j in product(range(1, 9), repeat=2):
        least = Fraction(min(i, j) ** 2)
        assert entry(i, j) == least / (i * j) * (Fraction((i + j) ** 2, 2) - least)
        assert sum(2 * k - 1 for k in range(1, min(i, j) + 1)) == least
    for k in range(1, 20):
        term = entry(k, k) - 2 * entry(k, k - 1) + entry(k - 1, k - 1)
        assert term / (2 * k - 1) == Fraction(1, k)
    for w in (0.0, 0.3, 1.0, 5.0):
        x = np.linspace(-60, 60, 240_001)
        kernel = 2 * np.exp(-abs(x)) - np.exp(-2 * abs(x))
        transform = np.trapezoid(kernel * np.cos(w * x), x)
        assert transform == pytest.approx(12 / ((1 + w * w) * (4 + w * w)), abs=1e-6)


def test_the_mode_of_lg() -> None:
    """The shares of the family's law: the first peak is at 9 where log(1/q) is 0.1."""
    shares = geometric(0.1, 400, weighted=True)
    assert int(shares.argmax()) + 1 in (9, 10)
    assert shares[8] == pytest.approx(shares[9])
    assert math.log(1 / 0.9) < 0.11
    assert 1 / math.log(1 / 0.9) == pytest.approx(9.5, abs=0.05)
