"""Certificates made to prove too much: whatever they hold, no value is above the optimum."""

import random
from collections import Counter
from collections.abc import Callable
from copy import deepcopy
from dataclasses import replace
from typing import Any

import pytest

from formulations.certificates import price_evaluation as certificate_prices
from formulations.certificates import reader_budget as limits
from formulations.certificates.certificate_evaluation import evaluate_certificate
from formulations.certificates.certificate_file import read_certificate
from formulations.certificates.reader_budget import CertificateError, ReaderBudget, TooLongError
from formulations.lagrangian.exact_integers import SAFE
from formulations.lagrangian.priced_starts import start_costs
from formulations.valid.window_groups import WindowGroup, WindowMember
from instances import Instance, Request
from tests.oracles.brute_force import brute_force_optimum
from tests.oracles.draws import instance_of

#: Two that never run together: (0, 90, 10) twice with M = 100.  OPT = 10 + 20.
PAIR = instance_of(100, (0, 90, 10), (0, 90, 10))

Document = dict[str, Any]


@pytest.mark.parametrize("most", [1, 2])
def test_windows_that_begin_after_the_start_hide_no_start(most: int) -> None:
    """Windows [p + 9, p + 10) and a price of 10⁶ on time 10: both may start at 10, and pay nothing.

    A start at p ≤ 9 holds 90 + 10 − p ≥ 91 tokens at time 10.  At 10 the latency is 20, so the sum
    of the least costs is 40 and the bound 40 − 100·10⁶.  Were starts looked at up to 11 − 9 = 2
    only, two starts would pay 98·10⁶ each: 12 + 12 + 196·10⁶ − 100·10⁶ = 96,000,024.
    """
    prices = [0] * 10 + [10**6]
    members = [WindowMember(0, -9, 10), WindowMember(1, -9, 10)]
    for groups in ([[members[0]], [members[1]]], [members]):
        told = [[[m.request, m.before, m.after] for m in group] for group in groups]
        priced = [{"most": most, "members": each, "prices": []} for each in told]
        document = {"kind": "prices", "value": 0, "memory": prices, "groups": priced}
        assert evaluate_certificate(PAIR, read_certificate(document)) == 40 - 100 * 10**6
        windows = [WindowGroup(most, tuple(group)) for group in groups]
        assert start_costs(PAIR, prices, windows, [[]] * len(groups)).bound == 40 - 100 * 10**6


def _instance(rng: random.Random) -> Instance:
    memory = rng.randint(2, 9)
    requests = []
    for identity in range(rng.randint(1, 3)):
        output = rng.randint(1, min(memory, 6))
        prompt = rng.choice([rng.randint(0, memory - output), memory - output])
        requests.append(Request(identity, rng.choice([0, 0, rng.randint(0, 4)]), prompt, output))
    return Instance("forged", memory, tuple(requests))


def _prices(rng: random.Random, size: int) -> list[int]:
    if size and rng.random() < 0.3:
        return [0] * (size - 1) + [1000]
    return [rng.choice([0, 0, 1, rng.randint(0, 20), 1000]) for _ in range(size)]


def _priced(rng: random.Random, instance: Instance) -> Document:
    """Return prices with windows of any sign, nearly all as long as may be."""
    places = range(len(instance))
    alone = [[i] for i in places]
    drawn = [rng.sample(places, rng.randint(0, len(instance))) for _ in range(rng.randint(0, 3))]
    groups = []
    for chosen in rng.choice([alone, drawn]):
        members = []
        for i in chosen:
            output = instance.requests[i].output
            before = rng.choice([1 - output, rng.randint(-output, 3)])
            members.append([i, before, rng.choice([output, 1 - before, rng.randint(-1, 6)])])
        prices = _prices(rng, rng.choice([0, rng.randint(0, 9)]))
        groups.append({"most": rng.randint(1, 9), "members": members, "prices": prices})
    memory = _prices(rng, rng.randint(0, 12))
    return {"memory": memory, "groups": groups, "denominator": rng.choice([1, 7])}


def _ahead(rng: random.Random, instance: Instance) -> Document:
    """Return look-ahead rows of any core, one of whose requests may be none, and any times."""
    rows = []
    for _ in range(rng.randint(1, 3)):
        times = sorted(rng.sample(range(12), rng.randint(1, 4)))
        core = rng.sample(range(len(instance)), rng.randint(0, len(instance)))
        damage = rng.random()
        rows.append(
            {
                "share": rng.choice([0, 1, 2, rng.randint(0, 9)]),
                "rounds": rng.randint(0, 7),
                "core": [*core, len(instance)] if damage < 0.03 else core,
                "times": times[::-1] if damage > 0.97 else times,
                "prices": _prices(rng, len(times)),
            }
        )
    memory = _prices(rng, rng.randint(0, 12))
    return {"memory": memory, "lookahead": rows, "denominator": rng.choice([1, 7, 60])}


def _climbed(rng: random.Random, document: Document) -> Document:
    """Return the same with one price changed."""
    changed = deepcopy(document)
    priced = changed.get("groups", []) + changed.get("lookahead", [])
    rows = [changed.get("memory"), *(each["prices"] for each in priced)]
    rows = [row for row in rows if row]
    if rows:
        row = rng.choice(rows)
        k = rng.randrange(len(row))
        row[k] = rng.choice([0, row[k] + 1, max(row[k] - 1, 0), 2 * row[k] + 1, 10**6])
    return changed


@pytest.mark.parametrize(
    ("forge", "draws"),
    [(_priced, 600), (_ahead, 60), pytest.param(_ahead, 600, marks=pytest.mark.slow("repeats"))],
)
def test_no_forged_certificate_exceeds_the_optimum(
    forge: Callable[[random.Random, Instance], Document], draws: int
) -> None:
    """Forged groups, windows, rows, knots at climbed prices obey OPT; an eighth is not refused."""
    rng = random.Random(16)
    taken = 0
    for _ in range(draws):
        instance = _instance(rng)
        optimum = brute_force_optimum(instance)
        best = {"kind": "prices", "value": 0} | forge(rng, instance)
        if rng.random() < 0.5:
            best["upper_bound"] = optimum
        try:
            value = evaluate_certificate(instance, read_certificate(best))
        except CertificateError:
            continue
        taken += 1
        for _ in range(25):
            assert value <= optimum, (instance, best)
            trial = _climbed(rng, best)
            found = evaluate_certificate(instance, read_certificate(trial))
            if found >= value:
                best, value = trial, found
        assert value <= optimum, (instance, best)
    assert taken >= draws // 8


def test_no_forged_sweep_exceeds_the_optimum() -> None:
    """Multipliers up to 2⁶², of which a knapsack of 4,095 tokens would add up 4,095: all refused.

    The first is just beyond: 4,093 · v is 2⁶³ or more, of two requests with OPT 2 + 1.
    """
    two, large = instance_of(4095, (0, 0, 2), (1, 0, 1)), -(-(2**63) // 4093)
    told: Document = {"memory": [0, 2] + [0] * 10, "multipliers": [1, -large], "strict": []}
    tried = [(two, told | {"denominator": 10_000, "value": 4})]
    rng = random.Random(3)
    for _ in range(300):
        instance = replace(_instance(rng), memory=rng.choice([9, 4095, 10**5]))
        kinds = Counter((r.arrival, r.prompt, r.output) for r in instance.requests)
        sizes = [0, 1, -1, *(sign * 2 ** rng.randint(30, 62) for sign in (1, -1))]
        document: Document = {
            "memory": _prices(rng, rng.randint(0, 9)),
            "multipliers": [rng.choice(sizes) + rng.randint(-2, 2) for _ in kinds],
            "denominator": rng.choice([1, 7, 10_000]),
        }
        if rng.random() < 0.7:
            single = [k for k, kind in enumerate(sorted(kinds)) if kinds[kind] == 1]
            document["strict"] = sorted(rng.sample(single, rng.randint(0, len(single))))
        value = brute_force_optimum(instance) + rng.randint(1, 2)
        tried.append((instance, document | {"value": value}))
    for instance, document in tried:
        with pytest.raises(CertificateError):
            evaluate_certificate(instance, read_certificate({"kind": "sweep"} | document))


#: 200 equal requests one after the other: TEL Σ 20·k = 20·200·201/2 = 402,000.
ROW = instance_of(40, *[(0, 20, 20)] * 200)
#: 10⁹ tokens, so that a window may begin that many rounds before its start.
WIDE = instance_of(10**9, (0, 10**9 - 2, 2), (0, 0, 10**9 - 1))
EARLY = [[0, 10**9 - 2, 1], [1, 0, 1]]
#: Requests of one token: 10⁵ fit at a time.
MANY = instance_of(10**5, (0, 0, 1), (0, 0, 2))


def _states(last: int, tokens: int, price: int) -> Document:
    return {"knots": [1, last], "tokens": [0, tokens], "left": [0, 99], "table": [price] * 8}


def _row(last: int) -> Document:
    return {"share": 1, "rounds": 1, "core": [], "times": [0, last], "prices": [1, 1]}


@pytest.mark.parametrize(
    ("instance", "document"),
    [
        # 20 states at 10⁷ times and more.
        (ROW, {"kind": "sweep", "states": _states(10**7, 40, 1)}),
        (ROW, {"kind": "sweep", "states": _states(10**12, 40, 1)}),
        # 10⁵ requests and 10⁵ tokens: 10¹⁰ entries for each knot.
        (MANY, {"kind": "sweep", "states": _states(9, 10**5, 1)}),
        # Thousands of levels, of which a certificate of 40 characters pays for none.
        (ROW, {"kind": "sweep", "value": 402_000}),
        (
            instance_of(8, *[(0, 2, 2)] * 3),
            {
                "kind": "sweep",
                "value": 12,
                "memory": [0] * 11 + [100_000],
                "multipliers": [100_000],
            },
        ),
        # Four windows that begin 10⁹ rounds early: a price at time 0 concerns 10⁹ starts.
        (
            WIDE,
            {"kind": "prices", "groups": [{"most": 1, "members": EARLY, "prices": [10**10]}] * 4},
        ),
        # Rows with two knots are short, and hold as many times as they like.
        (ROW, {"kind": "prices", "lookahead": [_row(10**12)]}),
        (ROW, {"kind": "prices", "lookahead": [_row(10**7)] * 500}),
        # Tables up to a late arrival, of a long output, and calls for each row and request.
        (instance_of(9, (0, 1, 1), (2 * 10**9, 1, 1)), {"kind": "sweep", "memory": [0] * 14_000}),
        (instance_of(10**9, (0, 1, 2 * 10**8)), {"kind": "prices", "lookahead": [_row(1)]}),
        (
            instance_of(10**6, *[(0, i, 1) for i in range(1100)]),
            {"kind": "prices", "lookahead": [_row(1)] * 900},
        ),
    ],
)
def test_an_evaluation_without_end_is_refused(instance: Instance, document: Document) -> None:
    """What takes too many steps or too much memory is one line, before any is taken."""
    refused = r"(takes more than the \d+ steps|holds more than the \d+ numbers)"
    with pytest.raises(CertificateError, match=refused) as caught:
        evaluate_certificate(instance, read_certificate({"value": 0} | document))
    assert "\n" not in str(caught.value)


#: Four equal requests; of two alone the optimum is 4 + 7.
TWINS = instance_of(9, *[(0, 2, 4)] * 4)
SWEEP: Document = {"kind": "sweep", "value": 9, "memory": [0, 1, 1], "denominator": 9}


@pytest.mark.parametrize(
    "own",
    [
        {"kind": "prices", "memory": [0, 9, 9]},
        SWEEP,
        SWEEP | {"strict": []},
        {"kind": "sweep", "value": 9, "states": _states(9, 9, 1)},
        SWEEP | {"value": 11, "multipliers": [0]},
    ],
)
def test_the_parts_of_a_certificate_share_what_it_may_take(
    own: Document, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With a limit that one part reaches, two of them are refused, in one line."""
    own = {"value": 0} | own
    half = [{"requests": pair, "certificate": own} for pair in ([0, 1], [2, 3])]
    alone, both = ({"kind": "parts", "value": 0, "parts": each} for each in (half[:1], half))
    budget = ReaderBudget(len(TWINS), alone)
    value = evaluate_certificate(TWINS, read_certificate(alone), budget)
    taken = budget.allowed - budget.steps
    assert taken > 0
    assert evaluate_certificate(TWINS, read_certificate(both)) == 2 * value
    # Looking ahead takes a share of what is left, so a little less is not enough.
    monkeypatch.setattr(limits, "MOST_STEPS", taken + taken // 2)
    assert evaluate_certificate(TWINS, read_certificate(alone)) == value
    with pytest.raises(TooLongError, match=r"part 1: .*takes more"):
        evaluate_certificate(TWINS, read_certificate(both))


def test_a_table_of_patterns_counts_with_its_entries() -> None:
    """A request that fills memory alone has one pattern, in a table of M tokens and M requests."""
    long = instance_of(3000, (0, 0, 3000))
    states = {"knots": [1, 1000], "tokens": [0, 3000], "left": [0, 3000], "table": [1] * 8}
    document = {"kind": "sweep", "value": 1, "states": states}
    with pytest.raises(CertificateError, match="holds more"):
        evaluate_certificate(long, read_certificate(document))


@pytest.mark.parametrize("forge", [_priced, _ahead])
def test_parts_and_large_numbers_change_no_value(
    forge: Callable[[random.Random, Instance], Document], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Starts taken few at a time, and Python's own integers, prove the same."""
    rng = random.Random(5)
    drawn: list[tuple[Instance, Document, int]] = []
    while len(drawn) < 60:
        instance = _instance(rng)
        certificate = {"kind": "prices", "value": 0} | forge(rng, instance)
        try:
            value = evaluate_certificate(instance, read_certificate(certificate))
        except CertificateError:
            continue
        drawn.append((instance, certificate, value))
    monkeypatch.setattr(certificate_prices, "STARTS", 3)
    for safe in (SAFE, 0):
        monkeypatch.setattr(certificate_prices, "SAFE", safe)
        for instance, certificate, value in drawn:
            assert evaluate_certificate(instance, read_certificate(certificate)) == value
