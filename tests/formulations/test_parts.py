"""Idle gaps split an instance: optima and bounds add up, and a certificate of a sum proves it."""

import random
from copy import deepcopy
from dataclasses import replace
from functools import partial
from typing import Any

import pytest

from formulations.certificates import reader_budget as limits
from formulations.certificates.certificate_evaluation import evaluate_certificate
from formulations.certificates.certificate_file import parts_certificate, read_certificate
from formulations.certificates.reader_budget import CertificateError, ReaderBudget, TooLongError
from formulations.valid.idle_gaps import closed_up, part_of, parts_of
from formulations.valid.volume_bounds import volume_bound
from instances import Instance, Request
from instances.batch_time import parse_batch_time
from schedules import check_schedule, make_schedule
from schedules.evidence import VOLUMES
from serving.bounds.seconds import bound_in_seconds
from serving.bounds.seconds_certificate import (
    RateCertificateError,
    evaluate_seconds_certificate,
    read_seconds_certificate,
)
from tests.oracles.brute_force import brute_force_optimum
from tests.oracles.draws import gapped, instance_of


@pytest.mark.parametrize(
    ("arrival", "parts"), [(6, [[0, 1, 2]]), (7, [[0, 1], [2]]), (8, [[0, 1], [2]])]
)
def test_the_gap_is_that_of_all_outputs(arrival: int, parts: list[list[int]]) -> None:
    """Arrivals 0 and 2, outputs 3 and 2: one after the other they are complete by 2 + 5 = 7."""
    instance = instance_of(9, (0, 1, 3), (2, 1, 2), (arrival, 1, 1))
    found = parts_of(instance)
    assert [list(part.positions) for part in found] == parts
    assert [int(part.instance.requests[0].arrival) for part in found] == [0] * len(parts)


def test_a_part_that_begins_late_begins_at_round_0() -> None:
    """Its optimum is that of the instance; one that begins at round 0 is its part itself."""
    for seed in range(60):
        instance = gapped(seed)
        first = min(int(request.arrival) for request in instance.requests)
        moved = (replace(each, arrival=each.arrival + 9) for each in instance.requests)
        late = replace(instance, requests=tuple(moved))
        found, moved_found = parts_of(instance), parts_of(late)
        assert [each.offset + 9 for each in found] == [each.offset for each in moved_found]
        assert [each.positions for each in found] == [each.positions for each in moved_found]
        optima = sum(brute_force_optimum(part.instance) for part in moved_found)
        assert optima == brute_force_optimum(late)
        assert (found[0].instance is instance) == (len(found) == 1 and not first)


def test_optima_add_up() -> None:
    """On 150 draws the brute-force optima of the parts sum to that of the whole."""
    several = 0
    for seed in range(150):
        instance = gapped(seed)
        found = parts_of(instance)
        several += len(found) > 1
        assert sorted(i for part in found for i in part.positions) == list(range(len(instance)))
        assert all(len(parts_of(part.instance)) == 1 for part in found)
        optima = sum(brute_force_optimum(part.instance) for part in found)
        assert optima == brute_force_optimum(instance), instance
    assert several > 60


def test_settled_schedules_fit_together() -> None:
    """Of feasible schedules of the parts, with idle time, one of the whole that is no later."""
    for seed in range(200):
        instance, draws = gapped(seed), random.Random(seed)
        found = parts_of(instance)
        starts = [0] * len(instance)
        for part in found:
            own, free = [0] * len(part.positions), 0
            for i in draws.sample(range(len(own)), len(own)):
                request = part.instance.requests[i]
                own[i] = max(free, int(request.arrival)) + draws.choice([0, 0, 3, 700])
                free = own[i] + request.output
            moved = closed_up(part.instance, own)
            assert all(new <= old for new, old in zip(moved, own, strict=True))
            for i, start in zip(part.positions, moved, strict=True):
                starts[i] = start + part.offset
        schedule = make_schedule(instance, starts, "settled")
        assert check_schedule(instance, schedule).valid, (instance, starts)


def _proved(instance: Instance) -> dict[str, Any]:
    """Return a certificate of volumes, and of prices that assume a schedule for the first part."""
    first, *others = parts_of(instance)
    tel = 11
    prices = {"kind": "prices", "value": 8, "upper_bound": tel, "memory": []}
    rest = [
        (part.positions, {"kind": VOLUMES, "value": volume_bound(part.instance)}, ())
        for part in others
    ]
    # 0..3 and 3..6: latencies 3 and 6, less than what is assumed.
    return parts_certificate([(first.positions, prices, [0, 3]), *rest])


def test_a_certificate_of_parts_proves_their_sum() -> None:
    """Two of (0, 3, 3) and one of (50, 0, 4): 3 + 3 at least without prices, and 4."""
    instance = instance_of(7, (0, 3, 3), (0, 3, 3), (50, 0, 4))
    assert brute_force_optimum(instance) == 3 + 6 + 4 > 3 + 3 + 4
    assert evaluate_certificate(instance, read_certificate(_proved(instance))) == 10


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda parts: parts[1].update(requests=[0]), "different requests"),
        (lambda parts: parts[1].update(requests=[3]), "different requests"),
        (lambda parts: parts[0].update(starts=[]), "part 0"),
        (lambda parts: parts[0].update(starts=[0, 0]), "part 0: expected starts"),
        (lambda parts: parts[0].update(starts=[0, 9]), "part 0: expected starts"),
        (lambda parts: parts.clear(), "parts: expected with the kind parts"),
        (
            lambda parts: parts[1].update(
                requests=[2],
                certificate={"kind": "parts", "value": 4, "parts": [deepcopy(parts[1])]},
            ),
            "no parts of a part",
        ),
        (lambda parts: parts[1].update(certificate={"kind": "word", "value": 9}), "part 1: kind"),
    ],
)
def test_forged_certificates_of_parts_are_refused(change: Any, words: str) -> None:
    """A request in two parts or in none, a schedule that is assumed and not there, parts of one."""
    instance = instance_of(7, (0, 3, 3), (0, 3, 3), (50, 0, 4))
    document = _proved(instance)
    document = {**document, "parts": [dict(each) for each in document["parts"]]}
    change(document["parts"])
    with pytest.raises(CertificateError, match=words):
        evaluate_certificate(instance, read_certificate(document))


def test_a_certificate_of_any_parts_proves_no_more_than_the_optimum() -> None:
    """Bounds of requests add up whatever the parts are: here drawn ones, gaps or none."""
    for seed in range(80):
        instance, draws = gapped(seed, 5), random.Random(seed)
        mixed = draws.sample(range(len(instance)), len(instance))
        cut = draws.randint(1, len(mixed))
        groups = [sorted(group) for group in (mixed[:cut], mixed[cut:]) if group]
        # What a word of an engine would be at best.
        best = sum(brute_force_optimum(part_of(instance, group).instance) for group in groups)
        document = parts_certificate(
            (group, {"kind": VOLUMES, "value": 10**6}, ()) for group in groups
        )
        assert evaluate_certificate(instance, read_certificate(document)) <= best
        assert best <= brute_force_optimum(instance)


def test_bounds_in_seconds_add_up() -> None:
    """Pairs an hour apart: the sum over both is what is proved of each alone."""
    batch_time = parse_batch_time("linear(0.01,0.001,0,0.0005,0)")
    pair = ((0, 3, 5), (0, 2, 6))
    late = tuple((3600, s, o) for _, s, o in pair)

    made = partial(instance_of, 12, time_unit="second")
    whole = made(*pair, *late)
    alone = bound_in_seconds(made(*pair), batch_time, 0.0)
    found = bound_in_seconds(whole, batch_time, 0.0)
    assert found.sources["parts"] == 2 * alone.value
    certificate = read_seconds_certificate(found.certificate)
    assert evaluate_seconds_certificate(whole, certificate) == found.value == 2 * alone.value


@pytest.mark.parametrize("requests", [[0], [2], []])
def test_forged_parts_in_seconds_are_refused(requests: list[int]) -> None:
    """A request in two parts, one that is not there, and a part of none; rounds take 1 ms."""
    instance = Instance("two", 9, (Request(0, 0, 1, 2), Request(1, 9, 1, 2)), time_unit="second")
    own = {"kind": "alone", "value": 1, "batch_time": "linear(1,0,0,0,0)"}
    parts = [{"requests": each, "certificate": own} for each in ([0], [1])]
    document = {**own, "kind": "parts", "parts": parts}
    assert evaluate_seconds_certificate(instance, read_seconds_certificate(document)) == 4 * 10**6
    parts[1]["requests"] = requests
    with pytest.raises(RateCertificateError, match="parts"):
        evaluate_seconds_certificate(instance, read_seconds_certificate(document))


def test_parts_in_seconds_share_what_they_may_take(monkeypatch: pytest.MonkeyPatch) -> None:
    """With as many steps as one part takes, two of them are refused."""
    instance = instance_of(
        12, *((3600 * (i // 2), 1, 2 + i % 2) for i in range(4)), time_unit="second"
    )
    batch_time = {"value": 0, "batch_time": "linear(0.01,0.001,0,0.0005,0)"}
    prices = batch_time | {
        "kind": "rates",
        "knots": [0, 3600 * 10**9, 10**13],
        **{key: [0, 0, 0] for key in ("machine", "memory", "sharing")},
        "places": [0, 8],
        "weights": [0, 0],
        "splits": [0, 0],
        "values": [[0, 0, 0]] * 2,
    }
    parts = [{"requests": pair, "certificate": prices} for pair in ([0, 1], [2, 3])]
    both = batch_time | {"kind": "parts", "parts": parts}
    alone = both | {"parts": parts[:1]}
    budget = ReaderBudget(4, alone)
    value = evaluate_seconds_certificate(instance, read_seconds_certificate(alone), budget)
    assert evaluate_seconds_certificate(instance, read_seconds_certificate(both)) == 2 * value
    monkeypatch.setattr(limits, "MOST_STEPS", budget.allowed - budget.steps)
    assert evaluate_seconds_certificate(instance, read_seconds_certificate(alone)) == value
    with pytest.raises(TooLongError, match="steps"):
        evaluate_seconds_certificate(instance, read_seconds_certificate(both))
