"""Refuted statements of C, derived a second time by small programs of their own."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from itertools import permutations, product

import numpy as np
import pytest

from claims.ledger import chen
from claims.ledger.model import errata
from claims.lemma_2 import geometric, stated_ratio


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


def mean(outputs: Sequence[int], memory: int, upper: int | None = None) -> Fraction:
    """Return the mean TEL over all orders, with the outputs known or taken to be the upper end."""
    orders = list(permutations(outputs))
    tels = [in_order(each, memory, 0, [upper] * len(each) if upper else each) for each in orders]
    return Fraction(sum(tels), len(orders))


def ratio(outputs: Sequence[int], memory: int, upper: int | None = None) -> Fraction:
    """Return that over the TEL of the shortest first."""
    shortest = sorted(outputs)
    return mean(outputs, memory, upper) / in_order(shortest, memory, 0, shortest)


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
    assert 4 * Fraction(19, 3) + 4 == chen.RESTARTS
    outputs = chen.halved(16, 2000)
    shortest = in_order(sorted(outputs), 400, 0, sorted(outputs))
    assert chen.restarts(chen.within(400, 1, 16, outputs)).tel <= 29.4 * shortest


def limit_by_recursion(upper: int) -> float:
    """Return what E16's recursion gives: each of the u − 1 rounds before holds half its starts."""
    starts: list[float] = []
    held = 0.0
    for t in range(400 * upper):
        starts.append(1 - held / 2)
        held += starts[t] - (starts[t - upper + 1] if t >= upper - 1 else 0)
    assert min(starts) >= 0  # so none is ever cancelled
    late = starts[200 * upper :]
    squares = 1 + sum((2 * k - 1) / (2 * k) ** 2 for k in range(2, upper + 1))
    return len(late) / sum(late) / squares


def test_a_min_is_above_the_constant() -> None:
    """The recursion has the same limits: 32.58 at u = 215, above 29.33 from the u of E20 on."""
    assert float(chen.halved_limit(215)) == pytest.approx(limit_by_recursion(215), rel=2e-3)
    assert float(chen.halved_limit(215)) == pytest.approx(32.58, abs=0.005)
    first = next(u for u in range(2, 400) if chen.halved_limit(u) > chen.RESTARTS)
    assert limit_by_recursion(first - 10) < 88 / 3 < limit_by_recursion(first + 10)
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


def test_the_worst_outputs_lie_inside() -> None:
    """A_random 7/6 against 1, A_max 18/11 against 8/5, over all orders."""
    assert ratio((2, 3), 3) == Fraction(7, 6)
    assert max(ratio(ends, 3) for ends in product((1, 3), repeat=2)) == 1
    assert ratio((2, 3, 4), 4, upper=4) == Fraction(18, 11)
    assert max(ratio(ends, 4, upper=4) for ends in product((2, 4), repeat=3)) == Fraction(8, 5)


def test_a_max_costs_more_than_a_random() -> None:
    """Three outputs of 2 in [2, 4]: 2 + 2 + 4 with 10 tokens as believed, 2 + 2 + 3 with 5."""
    assert mean((2, 2, 2), 10, upper=4) == 8
    assert mean((2, 2, 2), 5) == 7


def test_the_mode_of_lg() -> None:
    """The shares of the family's law: the first peak is at 9 where log(1/q) is 0.1."""
    shares = geometric(0.1, 400, weighted=True)
    assert int(shares.argmax()) + 1 in (9, 10)
    assert shares[8] == pytest.approx(shares[9])
    assert math.log(1 / 0.9) < 0.11
    assert 1 / math.log(1 / 0.9) == pytest.approx(9.5, abs=0.05)


@pytest.mark.parametrize("q", [0.1, 0.5, 0.8, 0.9])
def test_the_form_of_theorem_8(q: float) -> None:
    """It is Lemma 2's value on LG(p), and tends to 14/9."""
    form: Callable[[float], float] = lambda q: (  # noqa: E731
        (1 + q) ** 2
        * (1 + 3 * q + 6 * q**2 + 3 * q**3 + q**4)
        / (1 + 2 * q + 11 * q**2 + 8 * q**3 + 11 * q**4 + 2 * q**5 + q**6)
    )
    assert stated_ratio(geometric(1 - q, 600, weighted=True)) == pytest.approx(form(q), rel=1e-6)
    assert form(1.0) == pytest.approx(14 / 9)
