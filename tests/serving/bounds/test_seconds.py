"""The bound in seconds: never above brute force, exact in integers, and refused where forged."""

import random
import time
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from formulations.certificates import reader_budget as limits
from instances import Instance, Request
from instances.batch_time import BatchTime, parse_batch_time
from serving.bounds import seconds as bounds
from serving.bounds import seconds_certificate as evaluation
from serving.bounds.loads import RoundRoom, alone, alone_bound, floor_sum, not_covered, work_bound
from serving.bounds.price_ascent import best_rates
from serving.bounds.rough_schedule import guide
from serving.bounds.seconds import SecondsBound, bound_in_seconds
from serving.bounds.seconds_certificate import (
    PartCertificate,
    RateCertificateError,
    SecondsCertificate,
    evaluate_seconds_certificate,
    rate_certificate_document,
    read_seconds_certificate,
)
from tests.oracles.draws import instance_of
from tests.oracles.real_time_brute_force import Coefficients, Moves, least_total_latency
from tests.oracles.real_time_whole import STAGGERED, least_latency_whole, staggered
from tests.tiers import a_few

SECOND = 10**9
Triples = list[tuple[int, int, int]]


def _instance(requests: Triples, memory: int) -> Instance:
    instance = instance_of(
        memory,
        *((a // SECOND if a % SECOND == 0 else a / SECOND, s, o) for a, s, o in requests),
        time_unit="second",
    )
    assert instance.arrival_times.tolist() == [arrival for arrival, _, _ in requests]
    return instance


def _model(coefficients: Coefficients) -> BatchTime:
    text = ",".join(f"{value // SECOND}.{value % SECOND:09d}" for value in coefficients)
    model = parse_batch_time(f"linear({text})")
    assert model.coefficients == coefficients
    return model


def _bound(instance: Instance, model: BatchTime, seconds: float, running: int = 0) -> SecondsBound:
    found = bound_in_seconds(instance, model, time.monotonic() + seconds, running=running)
    certificate = read_seconds_certificate(found.certificate)
    assert certificate.running == running
    proved = evaluate_seconds_certificate(instance, certificate)
    assert proved == found.value == max(found.sources.values())
    return found


def _draw(rng: random.Random) -> tuple[Triples, int, Coefficients]:
    """Draw few requests and coefficients of any relation: zeros, huge squares, tight memory."""
    unit = rng.choice([1, 10**3, 10**6])
    prompt, output = rng.choice([0, 1, 2]), rng.choice([1, 2, 3])
    requests = [
        (
            rng.choice([0, 0, 1, 2, 3, rng.randint(0, 9)]) * unit + rng.choice([0, 0, 1, 3]),
            rng.randint(0, prompt),
            rng.randint(1, output),
        )
        for _ in range(rng.choice([1, 2, 2, 3]))
    ]
    peak = max(s + o for _, s, o in requests)
    ps = unit * 1000

    def load(size: int) -> int:
        return rng.choice([0, rng.randint(1, 9), rng.randint(1, 20) * size])

    coefficients = (
        rng.choice([0, 1, 999, 1000, ps, ps, rng.randint(1, 5) * ps]),
        load(max(ps // rng.choice([1, 10, 100]), 1)),
        rng.choice([0, 0, load(max(ps // 10, 1))]),
        load(max(ps // rng.choice([1, 10, 100]), 1)),
        rng.choice([0, load(max(ps // 100, 1))]),
    )
    return requests, rng.choice([peak, peak + 1, peak + rng.randint(0, 6), 100]), coefficients


@pytest.mark.parametrize("number", a_few((130, 520), 1))
def test_no_schedule_is_better_than_the_bound(number: int) -> None:
    """On small instances each source of the bound is at most the least latency found."""
    rng = random.Random(13)
    met = rates = 0
    for _ in range(number):
        requests, memory, coefficients = _draw(rng)
        running = rng.choice([0, 1, 2])
        instance, model = _instance(requests, memory), _model(coefficients)
        found = _bound(instance, model, 0.01, running)
        keeps = not not_covered(instance, model)
        moves = Moves(keeps=keeps, evictions=1, engine=True, running=running)
        least = least_total_latency(requests, memory, coefficients, moves)
        for source, value in found.sources.items():
            assert value <= least, (source, requests, memory, coefficients, running)
        met += found.value == least
        rates += found.sources.get("rates", 0) > 0
    # Neither is the bound trivial, nor is it never tried.
    assert 5 * met > number
    assert 5 * rates > number


def test_whole_prefills_by_two_programs() -> None:
    """Dynamic programming and brute force agree where nothing is cut or evicted."""
    rng = random.Random(5)
    for _ in range(150):
        requests, memory, coefficients = _draw(rng)
        engine = rng.random() < 0.5
        least = least_latency_whole(requests, memory, coefficients, engine=engine)
        moves = Moves(chunks=False, cancels=False, keeps=False, engine=engine)
        assert least == least_total_latency(requests, memory, coefficients, moves)


@pytest.mark.parametrize("number", a_few((6, 60), 1))
def test_no_schedule_of_five_requests_is_better(number: int) -> None:
    """Long and short prompts, memory for half of them or for all, at once or one by one."""
    rng, lost = random.Random(23), 0.0
    for _ in range(number):
        requests, memory = staggered(rng, 5)
        instance, model = _instance(requests, memory), _model(STAGGERED)
        bound = _bound(instance, model, 0.1)
        least = least_latency_whole(requests, memory, STAGGERED, engine=True)
        assert bound.value <= least, (requests, memory)
        lost += 1 - bound.value / least
    assert lost > 0


@pytest.mark.parametrize("window", [1, 2])
def test_sums_over_windows_are_bounds(window: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """However few requests a window has, each is in one, and no sum is above the least latency."""
    monkeypatch.setattr(bounds, "WINDOWS", (window, window + 1))
    rng = random.Random(17 + window)
    sums = 0
    for _ in range(60):
        requests, memory, coefficients = _draw(rng)
        instance, model = _instance(requests, memory), _model(coefficients)
        found = _bound(instance, model, 0.02)
        moves = Moves(keeps=not not_covered(instance, model), evictions=1)
        least = least_total_latency(requests, memory, coefficients, moves)
        assert found.value <= least, (requests, memory, coefficients)
        if len(requests) > window:
            sums += 1
            parts = bounds._windows([range(len(requests))], window)
            assert [len(part) <= window for part in parts] == [True] * len(parts)
            assert sorted(i for part in parts for i in part) == list(range(len(requests)))
            assert found.sources["parts"] >= found.sources["alone"]
    assert sums > 20


def test_many_requests_are_priced_in_windows(monkeypatch: pytest.MonkeyPatch) -> None:
    """Four at once in a memory for two, thrice: the sum is above what each takes alone."""
    monkeypatch.setattr(bounds, "WINDOWS", (4, 4))
    requests, coefficients = [(k, 3, 4) for k in range(12)], (10**10, 10**9, 0, 10**9, 0)
    instance, model = _instance(requests, 14), _model(coefficients)
    found = _bound(instance, model, 2.0)
    assert found.sources["parts"] > found.sources["alone"]
    alone_ = SecondsCertificate("alone", 0, model.name)
    own = rate_certificate_document(alone_)
    parts = [PartCertificate(tuple(range(k, k + 4)), own) for k in (0, 4, 8)]
    added = replace(alone_, kind="parts", parts=tuple(parts))
    assert evaluate_seconds_certificate(instance, added) == found.sources["alone"]
    few = replace(added, parts=(parts[0], PartCertificate((4,), {**own, "running": 2})))
    with pytest.raises(RateCertificateError, match="part 1: expected one part"):
        evaluate_seconds_certificate(instance, few)
    twice = replace(added, parts=(*parts[:2], PartCertificate((0, 8), own)))
    with pytest.raises(RateCertificateError, match="parts: expected different requests"):
        evaluate_seconds_certificate(instance, twice)


def test_prices_of_windows_are_where_the_search_begins(monkeypatch: pytest.MonkeyPatch) -> None:
    """Their sum has about the sum of their bounds; the whole is better than that and than alone."""
    monkeypatch.setattr(bounds, "WINDOWS", (12, 48))
    rng = random.Random(2)
    requests = [(k * SECOND // 4, rng.randint(10, 90), rng.randint(10, 60)) for k in range(48)]
    instance, model = _instance(requests, 300), parse_batch_time("llama2-70b-2xa100")
    room = RoundRoom(300)
    windows = bounds._windows([range(48)], 12)
    parts: list[PartCertificate] = []

    def sums() -> Iterator[SecondsCertificate]:
        end = time.monotonic() + 1.0
        parts.extend((yield from bounds._sums(instance, model, room, windows, end)))

    *_, last = sums()
    priced = sum(read_seconds_certificate(each.certificate).value for each in parts)
    assert 0 < priced <= last.value
    first = next(best_rates(instance, model, room, time.monotonic() + 0.5, parts))
    assert first.value > 0.95 * priced
    found = _bound(instance, model, 1.5)
    assert found.sources["rates"] > found.sources["parts"] >= found.sources["alone"]


@pytest.mark.slow("waits")
def test_the_search_goes_on_while_there_is_time() -> None:
    """Beyond its two levels it goes on with more knots, and ends where these gain nothing."""
    instance, model = _instance([(0, 3, 4)] * 3, 14), _model((10**10, 10**9, 0, 10**9, 0))
    began = time.monotonic()
    found = list(best_rates(instance, model, RoundRoom(14), began + 100))
    assert len(found) > 3
    assert len({len(each.knots) for each in found}) > 2
    assert max(each.value for each in found) > max(each.value for each in found[:2])
    assert time.monotonic() - began < 90


def test_the_time_alone_is_exact() -> None:
    """One request without a choice: the bound is what the search over schedules finds."""
    rng = random.Random(2)
    for _ in range(60):
        requests, _, coefficients = _draw(rng)
        request, model = requests[0], _model(coefficients)
        instance = _instance([request], 100)
        least = least_total_latency([request], 100, coefficients, Moves(False, False, False, False))
        assert alone(instance.requests[0], model) == alone_bound(instance, model) == least


def test_floor_sums() -> None:
    """Against adding up one by one, zeros included."""
    rng = random.Random(3)
    for _ in range(2000):
        count, modulus = rng.randint(0, 40), rng.randint(1, 50)
        slope, start = rng.choice([0, rng.randint(0, 120)]), rng.randint(0, 120)
        expected = sum((slope * k + start) // modulus for k in range(count))
        assert floor_sum(count, slope, start, modulus) == expected


def test_work_by_hand() -> None:
    """Base 10 ms, M = 10, no loads: 10/10 ms of work a token and round, the shorter one first.

    (0, 2): 0 and 1 tokens, work 1 ms.  (4, 3): 4, 5 and 6, work 15 ms.  The first arrives at 5 ms:
    until then 5 of 15 are done, it takes 5..6, and the other ends at 16.  1 + 16 = 17 ms.

    One at a time, with a seat of 90 tokens: of 100 tokens these take 91 + 90 and 94 + 95 + 96, so
    18.1 and 28.5 ms.  From 5 to 23.1 the shorter one, then what is left of the other, 23.5 ms.
    """
    instance = _instance([(0, 4, 3), (5 * 10**6, 0, 2)], 10)
    model = _model((10**10, 0, 0, 0, 0))
    assert work_bound(instance, model) == 17 * 10**6
    assert work_bound(instance, model, RoundRoom(10, 1, 90)) == (18_100 + 46_600) * 10**3


#: One request (0, 2) and rounds of one second: TEL = 2 s.
ONE = _instance([(0, 0, 2)], 5)


def _by_hand() -> SecondsCertificate:
    """Return a certificate of 1.5 s for ONE, weight ½ on each token, no memory price.

    Value 0.75·10¹² ps for each token, knots 0, 1, 2 s.  At 0 a token lacks 0.75, at 1 s
    0.75 − 0.5 = 0.25, at 2 s nothing; so y = 0.75 and 0.25, and ∫ y = 0.5 + 0.125 = 0.625 s.
    The bound is 2·0.75 + ½·1/2 + (1 + ½)/2·1 − 0.625 = 1.875 s.
    """
    value = 750 * 10**9
    return SecondsCertificate(
        "rates", 1_875_000_000, "unit", denominator=4, knots=(0, SECOND, 2 * SECOND),
        machine=(3, 1, 0), memory=(0, 0, 0), sharing=(0, 0, 0), places=(0, 8),
        weights=(1 << 15,), splits=(0,), values=((value, value, value),),
    )  # fmt: skip


@pytest.mark.parametrize("machine", [(0, 0), (1, 0)])
def test_loads_beyond_64_bits_are_loads(machine: tuple[int, int]) -> None:
    """Also where their price is 0: one base of 1 s is proved, less what the price takes."""
    instance = _instance([(0, 10**9 - 3, 2)], 10**9)
    certificate = SecondsCertificate(
        "rates", 0, "linear(base=1000,prefill=0,square=1000000000,decode=0,read=0)",
        denominator=1, knots=(0, 10), machine=machine, memory=(0, 0), sharing=(0, 0),
        places=(0, 8), weights=(1 << 15,), splits=(1 << 16,), values=((0, 0, 0),),
    )  # fmt: skip
    assert evaluate_seconds_certificate(instance, certificate) == SECOND - 10 * sum(machine) // 2


def test_a_certificate_by_hand() -> None:
    """1.875 s of 2 s, through JSON as well."""
    certificate = _by_hand()
    assert evaluate_seconds_certificate(ONE, certificate) == certificate.value
    document = rate_certificate_document(certificate)
    assert read_seconds_certificate(document) == certificate


def test_a_first_token_pays_for_sharing_by_hand() -> None:
    """A base of 1 s, prefills of 1 s a token and decode steps of 1 s; one request (4, 2).

    ℓ_11 = 4 s and ℓ = 1 s, so with π = ½ and β = 1 σ_11² = ½·4/2 = 1.  e = 0.1 s costs
    ε = 0.01 s, which y = 0.01 pays.  At 0 the first token costs 4·0.01 + 2·0.1 = 0.24 s, after 10 s
    more.  The bound is 0.24 + ½·1/2 + (1 + ½)/2·1 − ∫ y = 1.24 − 0.05 s, and with β = 0 it would be
    0.04 + ½·(1 + 4)/2 + 0.75 − 0.05 s.
    """
    instance = _instance([(0, 4, 2)], 9)
    value = 240 * 10**9
    shared = SecondsCertificate(
        "rates", 0, "linear(base=1000,prefill=1000,square=0,decode=1000,read=0)",
        denominator=100, knots=(0, 10 * SECOND), machine=(1, 0), memory=(0, 0),
        sharing=(10**11, 0), places=(0, 8), weights=(1 << 15,), splits=(1 << 16,),
        values=((value, 0, 0),),
    )  # fmt: skip
    assert evaluate_seconds_certificate(instance, shared) == 1_190_000_000
    unshared = replace(shared, splits=(0,), values=((40 * 10**9, 0, 0),))
    assert evaluate_seconds_certificate(instance, unshared) == 1_990_000_000
    for change in ({"values": ((value + 1, 0, 0),)}, {"splits": ((1 << 16) - 200,)}):
        with pytest.raises(RateCertificateError, match=r"machine\.0"):
            evaluate_seconds_certificate(instance, replace(shared, **change))


@pytest.mark.parametrize(("seed", "cases"), a_few([(7, 6), (8, 25)], 1))
def test_no_schedule_is_better_than_shared_prefills(seed: int, cases: int) -> None:
    """Three requests with dear prefills: some 80 % of the least latency, of none more."""
    rng = random.Random(seed)
    shares = []
    for _ in range(cases):
        requests = [
            (rng.choice([0, 0, rng.randint(0, 2) * 10**6]), rng.randint(1, 2), rng.randint(2, 3))
            for _ in range(3)
        ]
        coefficients = (10**9, rng.randint(1, 20) * 10**8, 0, rng.randint(1, 10) * 10**8, 0)
        memory = max(s + o for _, s, o in requests) + rng.randint(0, 6)
        instance, model = _instance(requests, memory), _model(coefficients)
        found = list(best_rates(instance, model, RoundRoom(memory), time.monotonic() + 0.2))
        moves = Moves(evictions=1, keeps=not not_covered(instance, model))
        least = least_total_latency(requests, memory, coefficients, moves)
        for certificate in found:
            assert certificate.value <= least, (requests, memory, coefficients)
            assert any(certificate.splits)
        shares.append(max((each.value / least for each in found), default=0))
    assert sum(shares) > 0.5 * len(shares)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"machine": (2, 1, 0)}, "machine.0"),
        ({"machine": (3, 0, 0)}, "machine.1"),
        ({"machine": (3, 1, 1)}, "machine: expected"),
        ({"machine": (3, 1)}, "machine: expected"),
        ({"memory": (1, 0, 0)}, "machine.0"),
        ({"memory": (0, 0, 1)}, "memory: expected"),
        ({"sharing": (1, 0, 0)}, "sharing: expected 0"),
        ({"knots": (0, SECOND, SECOND)}, "knots: expected two"),
        ({"knots": (1, SECOND, 2 * SECOND)}, "knots: expected to hold"),
        ({"knots": (0, SECOND, 10 * SECOND // 9)}, "machine.2"),
        ({"places": (0, 4)}, "places"),
        ({"places": (8,)}, "places"),
        ({"weights": (65_537,)}, "weights"),
        ({"weights": ()}, "weights, splits, values"),
        ({"weights": (1 << 14,)}, "machine.1"),
        ({"splits": (65_537,)}, "splits"),
        ({"splits": ()}, "weights, splits, values"),
        ({"values": ((750 * 10**9,),)}, "values.0"),
        ({"values": ((750 * 10**9, 750 * 10**9, 751 * 10**9),)}, "machine.0"),
        ({"batch_time": "unit(2)"}, "unit"),
        ({"batch_time": "fitted(x.csv)"}, "file"),
        ({"denominator": 5}, "machine.0"),
        ({"seat": 1}, "seat: expected 0"),
    ],
)
def test_forged_certificates_are_refused(change: dict[str, Any], words: str) -> None:
    """The refusal names each changed field."""
    with pytest.raises(RateCertificateError, match=words.replace(".", r"\.")) as refusal:
        evaluate_seconds_certificate(ONE, replace(_by_hand(), **change))
    assert "\n" not in str(refusal.value)


@pytest.mark.parametrize("huge", [2**62, 2**70, 10**60])
@pytest.mark.parametrize("name", ["machine", "memory", "sharing"])
def test_huge_prices_of_what_takes_nothing(name: str, huge: int) -> None:
    """One request (0, 1): no price multiplies anything but 0, and 64 bits do not hold the price."""
    instance = _instance([(0, 0, 1)], 9)
    prices: dict[str, Any] = dict.fromkeys(("machine", "memory", "sharing"), (0, 0))
    prices[name] = (huge, 0)
    certificate = SecondsCertificate(
        "rates", 0, "linear(base=1)", knots=(0, 10**6), places=(0, 8), weights=(0,), splits=(0,),
        values=((0,),), **prices,
    )  # fmt: skip
    if name == "machine":
        assert evaluate_seconds_certificate(instance, certificate) == 0
    else:
        with pytest.raises(RateCertificateError, match=r"machine\.0|sharing"):
            evaluate_seconds_certificate(instance, certificate)


@pytest.mark.parametrize("huge", [2**62, 2**63 - 1, 2**63, 2**64, 10**60])
def test_huge_denominators(huge: int) -> None:
    """Prices of next to nothing prove the base of 1 s that the second of two rounds takes."""
    none = ((0, 0, 0),)
    change: dict[str, Any] = {"machine": (1, 1, 0), "values": none, "weights": (0,)}
    change["denominator"] = huge
    assert evaluate_seconds_certificate(ONE, replace(_by_hand(), **change)) == SECOND // 2
    for forged in ({"values": _by_hand().values}, {"memory": (1, 0, 0)}):
        with pytest.raises(RateCertificateError, match=r"machine\.0"):
            evaluate_seconds_certificate(ONE, replace(_by_hand(), **change | forged))


#: What a certificate has one number of for each knot or request.
ROWS = ["machine", "memory", "sharing", "weights", "splits"]


@pytest.mark.parametrize("running", [0, 2])
def test_mutated_certificates_prove_no_more(running: int) -> None:
    """Whatever number of a good certificate is changed: refused, or still no more than OPT."""
    rng = random.Random(5)
    requests, coefficients = [(0, 2, 3), (0, 1, 2), (10**7, 2, 2)], (10**10, 10**9, 0, 10**9, 0)
    instance, model = _instance(requests, 8), _model(coefficients)
    moves = Moves(evictions=1, engine=True, running=running)
    least = least_total_latency(requests, 8, coefficients, moves)
    good = read_seconds_certificate(_bound(instance, model, 1.5, running).certificate)
    assert good.kind == "rates"
    refused = 0
    for _ in range(400):
        document = rate_certificate_document(good)
        name = rng.choice(["denominator", "knots", *ROWS] + ["seat"] * bool(good.seat))
        row = document[name]
        if rng.random() < 0.4:
            name, row = "values", rng.choice(document["values"])
        factor = rng.choice([0, 0.5, 0.9, 1.1, 2, 10])
        if isinstance(row, int):
            document[name] = max(1, int(row * factor))
        else:
            at = rng.randrange(len(row))
            row[at] = int(row[at] * factor) + rng.choice([0, 0, 1])
        try:
            forged = read_seconds_certificate(document)
            assert evaluate_seconds_certificate(instance, forged) <= least
        except RateCertificateError:
            refused += 1
    assert 100 < refused < 400


def test_numbers_beyond_64_bits(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tokens, times and coefficients at their limits: the same value in Python's integers."""
    cases = [
        ([(0, 10**9 - 7, 7), (10**18, 0, 10**9)], 10**9, (10**18, 10**18, 10**18, 10**18, 10**18)),
        ([(0, 0, 10**9), (3, 10**9 - 1, 1)], 10**9, (10**12, 1, 0, 1, 0)),
        ([(0, 3, 2), (0, 1, 4), (2 * 10**6, 4, 3)], 9, (10**9, 10**7, 10**3, 10**8, 10**5)),
    ]
    for requests, memory, coefficients in cases:
        instance, model = _instance(requests, memory), _model(coefficients)
        found = _bound(instance, model, 0.3)
        assert found.value >= found.sources["alone"] == alone_bound(instance, model) > 0
        # One after the other is a schedule.
        now = last = 0
        for request, (arrival, _, _) in zip(instance.requests, requests, strict=True):
            now = max(now, arrival) + alone(request, model)
            last += now - arrival
        assert found.value <= last
        certificate = read_seconds_certificate(found.certificate)
        with monkeypatch.context() as patch:
            patch.setattr(evaluation, "SAFE", 0)
            patch.setattr(limits, "MOST_STEPS", 10**13)
            patch.setattr(limits, "FREE_STEPS", 10**12)
            assert evaluate_seconds_certificate(instance, certificate) == found.value


def test_kept_tokens_are_told_where_they_are_not_covered() -> None:
    """A free prefill and a dear decode step: schedules that keep tokens pass below the bound.

    (1, 3) alone: 1 + 2·(1 + 9) = 21 ms if it decodes.  Evicted after each token and prefilled again
    for nothing it needs 3 rounds of 1 ms and no more.
    """
    requests, coefficients = [(0, 1, 3)], (10**9, 0, 0, 9 * 10**9, 0)
    instance, model = _instance(requests, 9), _model(coefficients)
    assert "keep tokens" in not_covered(instance, model)
    assert alone_bound(instance, model) == 21 * 10**6
    assert least_total_latency(requests, 9, coefficients, Moves(keeps=False)) == 21 * 10**6
    assert least_total_latency(requests, 9, coefficients) < 21 * 10**6
    many = _instance(requests, 16_492)
    assert not_covered(many, parse_batch_time("llama2-70b-2xa100")) == ""


@pytest.mark.parametrize("square", [0, 1, 3, 50])
def test_the_condition_on_kept_tokens_looks_at_every_number(square: int) -> None:
    """Against trying every number of tokens that a request may prefill again."""
    rng = random.Random(square)
    for _ in range(300):
        coefficients = (rng.randint(0, 30), rng.randint(0, 9), square, *(rng.randint(0, 60),) * 2)
        requests = [(0, rng.randint(0, 4), rng.randint(1, 6)) for _ in range(2)]
        memory = 10
        _, first, _, decode, read = coefficients
        held = {s + j for _, s, o in requests for j in range(1, o)}
        every = range(min(held), max(held) + 1) if held else ()
        fails = any(first * h + square * h * h < decode + read * h for h in every)
        instance = _instance(requests, memory)
        assert bool(not_covered(instance, _model(coefficients))) == fails


def test_rounds_are_refused() -> None:
    """One line, and no bound, for arrivals in rounds, or after all nanoseconds of 64 bits."""
    instance = Instance("rounds", 9, (Request(0, 0, 1, 2),))
    model = parse_batch_time("unit")
    with pytest.raises(ValueError, match="expected arrivals in seconds"):
        bound_in_seconds(instance, model, time.monotonic() + 1)
    with pytest.raises(RateCertificateError, match="expected an instance with arrivals in seconds"):
        evaluate_seconds_certificate(instance, SecondsCertificate("alone", 0, "unit"))
    late = Instance("late", 9, (Request(0, 10**12, 1, 2),), time_unit="second")
    with pytest.raises(RateCertificateError, match="arrives at 1000000000000 seconds"):
        evaluate_seconds_certificate(late, SecondsCertificate("work", 0, "unit"))


def test_improvements_are_reported_and_the_deadline_holds() -> None:
    """Values only rise, the last is the bound, and 300 requests end within a second or so."""
    rng = random.Random(1)
    requests = [
        (rng.randint(0, 10 * SECOND), rng.randint(1, 80), rng.randint(1, 120)) for _ in range(300)
    ]
    instance, model = _instance(requests, 2000), parse_batch_time("llama2-70b-2xa100")
    told: list[tuple[int, str]] = []

    class Told:
        def bound(self, value: int, source: str) -> None:
            told.append((value, source))

        def built(self, columns: int, rows: int, entries: int) -> None:
            raise AssertionError((columns, rows, entries))

    began = time.monotonic()
    found = bound_in_seconds(instance, model, began + 1.0, Told())
    assert time.monotonic() - began < 3
    values = [value for value, _ in told]
    assert values == sorted(set(values))
    assert told[-1][0] == found.value
    assert found.sources["rates"] > max(found.sources["alone"], found.sources["work"])
    hint = guide(instance, model, RoundRoom(2000))
    assert bool((hint.begins >= instance.arrival_times * 1000.0).all())
    assert bool((hint.ends > hint.begins).all())
