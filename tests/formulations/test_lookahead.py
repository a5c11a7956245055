"""Look-ahead rows: valid in every schedule, no bound above the optimum, evaluations, search."""

import math
import random
from fractions import Fraction

import numpy as np
import pytest

from formulations.certificates import price_evaluation as certificate_prices
from formulations.certificates import reader_budget as limits
from formulations.certificates.certificate_evaluation import (
    evaluate_certificate,
    refusal_of_length,
    shrink_certificate,
)
from formulations.certificates.certificate_file import (
    Certificate,
    PricedLookAhead,
    price_certificate,
    read_certificate,
)
from formulations.certificates.reader_budget import CertificateError, ReaderBudget, TooLongError
from formulations.lagrangian.exact_integers import SAFE
from formulations.lagrangian.price_bound import certify_prices, evaluate_prices
from formulations.lagrangian.priced_rows import PricedRow
from formulations.valid.lookahead_row import LookAheadRow
from instances import Instance
from tests.engine_batch import solve_batch
from tests.formulations.relaxed import random_instance
from tests.oracles.brute_force import brute_force_optimum, fits, hold
from tests.oracles.draws import instance_of
from tests.oracles.lookahead import Row, bound, kappa, pay
from tests.tiers import a_few

#: Two that run one after the other, and a row that is one of theirs.
PAIR = instance_of(9, (0, 2, 4), (0, 2, 4))
ROW = {"share": 1, "rounds": 2, "core": [0], "times": [1, 3], "prices": [1, 1]}


def _row(rng: random.Random, instance: Instance) -> Row:
    times = tuple(sorted(rng.sample(range(14), rng.randint(1, 4))))
    core = tuple(rng.sample(range(len(instance)), rng.randint(0, len(instance))))
    share, rounds = rng.choice([0, 1, 2, rng.randint(0, 9)]), rng.randint(0, 8)
    prices = tuple(rng.choice([0, 1, 2, rng.randint(0, 20)]) for _ in times)
    return Row(share, rounds, core, times, prices)


def _certificate(memory: list[int], rows: list[Row], denominator: int) -> Certificate:
    ahead = tuple(PricedLookAhead(*row) for row in rows)
    return Certificate("prices", 0, None, denominator, tuple(memory), lookahead=ahead)


def _schedule(rng: random.Random, instance: Instance) -> list[int]:
    """Return random starts that fit, one request after the other, some later than they might."""
    held: dict[int, int] = {}
    starts = [0] * len(instance)
    for i in rng.sample(range(len(instance)), len(instance)):
        request = instance.requests[i]
        starts[i] = int(request.arrival) + rng.choice([0, 0, 0, rng.randint(0, 3)])
        while not fits(held, starts[i], request.prompt, request.output, instance.memory):
            starts[i] += 1
        hold(held, starts[i], request.prompt, request.output, +1)
    return starts


@pytest.mark.parametrize("draws", a_few((200, 5_000), 1))
def test_what_runs_in_a_schedule_pays_no_more_than_memory(draws: int) -> None:
    """At every time of random schedules, for random rows; often exactly M, with growth priced."""
    rng = random.Random(3)
    tight = 0
    for _ in range(draws):
        instance = random_instance(rng, (1, 8), (2, 10))
        starts = _schedule(rng, instance)
        rows = [_row(rng, instance) for _ in range(3)]
        for row in rows:
            weight = kappa(instance, row)
            ours = LookAheadRow(row.share, row.rounds, row.core).weight(instance)
            assert ours == instance.memory * weight
            for now in range(max(starts) + 8):
                total = Fraction(0)
                grows = False
                for i, (request, start) in enumerate(zip(instance.requests, starts, strict=True)):
                    if start < now <= start + request.output:
                        held, left = request.prompt + now - start, request.output - now + start
                        paid = pay(instance, row, i, held, left, weight)
                        total += paid
                        grows |= paid > held
                assert total <= instance.memory
                tight += grows and total == instance.memory
    assert tight > draws // 20


@pytest.mark.parametrize("draws", a_few((24, 1_000), 1))
def test_no_priced_rows_exceed_the_optimum(draws: int) -> None:
    """Climbed prices stay below OPT; the oracle, the evaluation and the reader agree on each."""
    rng = random.Random(8)
    for _ in range(draws):
        instance = random_instance(rng, (1, 3), (2, 10))
        optimum = brute_force_optimum(instance)
        rows = [_row(rng, instance) for _ in range(rng.randint(1, 2))]
        memory = [rng.choice([0, 0, rng.randint(0, 30)]) for _ in range(rng.randint(0, 12))]
        denominator = rng.choice([1, 7, 60])
        value = bound(instance, memory, rows, denominator)
        for _ in range(12):
            assert value <= optimum, (instance, memory, rows)
            trial = [*memory], [*rows]
            k = rng.randrange(len(rows))
            prices = [*rows[k].prices]
            at = rng.randrange(len(prices))
            prices[at] = rng.choice([0, prices[at] + 1, 2 * prices[at] + 1, prices[at] // 2])
            trial[1][k] = rows[k]._replace(prices=tuple(prices))
            found = bound(instance, *trial, denominator)
            if found >= value:
                value, (memory, rows) = found, trial
        priced = [PricedRow(LookAheadRow(*row[:3]), row.times, row.prices) for row in rows]
        ours = evaluate_prices(instance, np.array(memory, np.int64), denominator, priced=priced)
        read = evaluate_certificate(instance, _certificate(memory, rows, denominator))
        assert ours == read == value


def test_start_windows_and_large_numbers_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """With late starts forbidden too both evaluations agree, in 64 bits and in large integers."""
    rng = random.Random(9)
    for safe in (SAFE, 0):
        monkeypatch.setattr(certificate_prices, "SAFE", safe)
        for _ in range(60):
            instance = random_instance(rng, (1, 3), (2, 10))
            optimum = brute_force_optimum(instance)
            rows = [_row(rng, instance) for _ in range(2)]
            priced = [
                PricedRow(LookAheadRow(*row[:3]), row.times, [each / 40 for each in row.prices])
                for row in rows
            ]
            latest = [int(request.arrival) + optimum for request in instance.requests]
            found = certify_prices(instance, [0.0, 0.2, 0.1], latest, priced)
            document = price_certificate(
                found.value, found.denominator, found.numerators, lookahead=found.lookahead
            )
            read = read_certificate(document)
            assert evaluate_certificate(instance, read) == found.value <= optimum
            short = shrink_certificate(instance, read)
            assert evaluate_certificate(instance, short) >= found.value
            if found.lookahead:
                assert short.denominator < found.denominator


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ({"core": [0, 0]}, "different requests"),
        ({"core": [2]}, "different requests"),
        ({"times": [3, 1]}, "rising times"),
        ({"times": [1, 1]}, "rising times"),
        ({"times": [1]}, "rising times"),
        ({"times": [0, 10**12]}, "holds more"),
        ({"times": [0, 10**8]}, "holds more"),
        # Late prices, though few, and few prices of many bits.
        ({"times": [10**8, 10**8 + 1]}, "holds more"),
        ({"times": [0, 2 * 10**6], "prices": [2**62, 2**62]}, "holds more"),
        ({"times": [10**12, 10**12 + 1]}, "holds more"),
        ({"share": -1}, "share"),
        ({"prices": [1, -1]}, "prices"),
    ],
)
def test_what_is_no_row_is_refused(change: dict[str, object], complaint: str) -> None:
    """A core with one request twice or none, times that do not rise, and numbers below 0."""
    document = {"kind": "prices", "value": 0, "lookahead": [ROW]}
    evaluate_certificate(PAIR, read_certificate(document))
    with pytest.raises(CertificateError, match=complaint):
        evaluate_certificate(PAIR, read_certificate(document | {"lookahead": [ROW | change]}))


def test_a_small_search_finds_a_row() -> None:
    """Six requests (0, 6), M = 9: with rows the bound is higher, and no higher than OPT = 98.

    Three hold 18 tokens at their completion, two 12, one 6: they run alone, or begin 3 rounds
    after one another: then 6 + 3.  So starts at 0, 3, ..., 15 and TEL 45 + 36 = 81 are the best.
    """
    instance = instance_of(9, *[(0, 0, 6)] * 6)
    names = ("bound-dual(lookahead=no)", "bound-dual")
    without, ahead = solve_batch([(instance, name) for name in names], seconds=2)
    assert without.bound < ahead.bound <= brute_force_optimum(instance)


def test_rows_that_take_too_long_are_told_before(monkeypatch: pytest.MonkeyPatch) -> None:
    """What the reader would refuse for its rows alone is known from the same count."""
    document = {"kind": "prices", "value": 0, "memory": [0, 1], "lookahead": [ROW]}
    budget = ReaderBudget(2, document)
    evaluate_certificate(PAIR, read_certificate(document), budget)
    taken = budget.allowed - budget.steps
    monkeypatch.setattr(limits, "MOST_STEPS", taken)
    assert refusal_of_length(PAIR, document) is None
    document["lookahead"] = [ROW] * 9
    refused = f"takes more than the {taken} steps"
    assert refused in (refusal_of_length(PAIR, document) or "")
    with pytest.raises(TooLongError, match=refused):
        evaluate_certificate(PAIR, read_certificate(document))


@pytest.mark.parametrize("price", [2**59, 2**62, 2**63 - 1])
@pytest.mark.parametrize("denominator", [1, 2**53, 2**62])
def test_huge_prices_are_added_up_exactly(price: int, denominator: int) -> None:
    """Beyond 64 bits the reader agrees with the oracle: a forged certificate proves no more."""
    instance = instance_of(4, (0, 0, 4))
    row = Row(1, 3, (0,), (4,), (price,))
    read = evaluate_certificate(instance, _certificate([], [row], denominator))
    assert read == bound(instance, [], [row], denominator) <= 4


@pytest.mark.parametrize(("price", "time"), [(2**55, 1000), (2**50, 1000), (2**55, 30), (1, 10**5)])
def test_late_prices_are_added_up_exactly(price: int, time: int) -> None:
    """A run pays less than 2⁶¹, a price times its time and memory may not: one that pays nothing.

    The only request, (1, 2), begins at 0 and pays nothing; what the row is worth is M² its price.
    """
    instance = instance_of(8, (0, 1, 2))
    read = evaluate_certificate(instance, _certificate([], [Row(0, 0, (), (time,), (price,))], 1))
    assert read == 2 - 64 * price


@pytest.mark.parametrize("price", [8.4e6, 1e10, 1e300, math.inf, math.nan])
def test_prices_that_no_denominator_holds_prove_nothing_wrong(price: float) -> None:
    """What is not finite has no bound, and what is large a smaller denominator or none."""
    instance = instance_of(4, (0, 0, 2), (0, 0, 2))
    priced = [PricedRow(LookAheadRow(0, 1, (0, 1)), (2,), (price,))]
    for rows in (priced, [*priced, *_low(1)], [*_low(1), *priced]):
        found = certify_prices(instance, np.zeros(3), None, rows)
        assert found.value == 4
        assert not found.lookahead or math.isfinite(price)


def _low(time: int) -> list[PricedRow]:
    return [PricedRow(LookAheadRow(0, 0, ()), (time,), (0.1,))]


def test_rows_hold_no_more_than_is_allowed_together(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each is short enough by itself: 8 numbers for each of its 10 times, 12 for each of all 10."""
    document = {"kind": "prices", "value": 0, "lookahead": [ROW | {"times": [0, 9]}]}
    monkeypatch.setattr(limits, "MOST_NUMBERS", 200)
    assert evaluate_certificate(PAIR, read_certificate(document)) <= brute_force_optimum(PAIR)
    document["lookahead"] = [ROW | {"times": [0, 9]}] * 2
    with pytest.raises(CertificateError, match="holds more than the 200 numbers"):
        evaluate_certificate(PAIR, read_certificate(document))
