"""The families: every generator keeps to its recipe, and what it claims to know is true."""

import math
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import instances.families
from instances import Instance
from instances.families import (
    am1,
    am2,
    amax_trap,
    example_3_1,
    families,
    geometric,
    late_burst,
    linearly_weighted_geometric,
    mcsf_trap,
    mixed,
    planted,
    three_partition,
    total_trap,
    two_point,
)
from instances.families.draws import Draws, Weighted
from instances.instance_files import instance_document, parse_instance
from schedules import make_schedule
from schedules.check import check_schedule
from tests.oracles.brute_force import brute_force_optimum

ALL = sorted(families())
#: Families in which nothing is drawn; late-burst draws in one variant only.
FIXED = {"example-3-1", "late-burst", "mcsf-trap", "total-trap"}
SEEDS = range(40)
TOO_MANY = "expected at most 1000000 requests, found "


@pytest.mark.parametrize("name", ALL)
def test_every_family_gives_a_valid_instance(name: str) -> None:
    """Family and source are named, the memory kept, the file read again; seeds matter or not."""
    instance = families()[name].generate()
    assert families()[name].generate() == instance
    assert instance.family == name
    assert instance.source
    assert (instance.prompts + instance.outputs).max() <= instance.memory
    assert [request.id for request in instance.requests] == list(range(len(instance)))
    assert parse_instance(instance_document(instance)) == instance
    hashes = {families()[name].generate(seed=seed).sha256 for seed in range(10)}
    assert len(hashes) == (1 if name in FIXED else 10)


def test_a_new_file_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file dropped into the folder is a family at once; a file without a generator is refused."""
    monkeypatch.setattr(instances.families, "__path__", [str(tmp_path)])
    families.cache_clear()
    try:
        (tmp_path / "one_more.py").write_text('"""One more."""\ngenerate = dict\n')
        assert families()["one-more"].summary == "One more."
        families.cache_clear()
        (tmp_path / "nothing.py").write_text('"""No generator."""\n')
        with pytest.raises(TypeError, match="expected a generate"):
            families()
    finally:
        families.cache_clear()


@pytest.mark.parametrize(
    ("name", "parameters", "message"),
    [
        ("am1", {"n": 0}, "n: expected 1 to 1000000, found 0"),
        ("am1", {"seed": -1}, "seed: expected 0 to 9223372036854775807, found -1"),
        ("am2", {"rate": 0.0}, "rate: expected above 0 to 1000000, found 0.0"),
        ("am2", {"rate": math.nan}, "rate: expected above 0 to 1000000, found nan"),
        ("am2", {"rate": 1e-9, "rounds": 5}, "rate: expected at least 0.01 / rounds, found 1e-09"),
        ("uniform", {"memory": 99}, r"memory: expected at least 2 \* longest = 100, found 99"),
        ("normal", {"deviation": math.inf}, "deviation: expected above 0 to 1000000000, found inf"),
        ("binomial", {"probability": 1.5}, "probability: expected 0 to 1, found 1.5"),
        ("three-partition", {"m": 0}, "m: expected 1 to 1000000, found 0"),
        ("three-partition", {"m": 1, "solvable": False}, "m: expected at least 2, found 1"),
        ("three-partition", {"target": 11}, "target: expected 12 to 999999997, found 11"),
        (
            "three-partition",
            {"m": 3, "solvable": False, "target": 999},
            "target: expected no multiple of 3 for m = 3, found 999",
        ),
        ("three-partition", {"m": 200, "solvable": False, "target": 40}, "target: expected one"),
        ("mcsf-trap", {"memory": 3}, "memory: expected 4 to 1000000000, found 3"),
        ("late-burst", {"prompt": 2}, r"prompt: expected 1 \(or none\) in theorem-4.1, found 2"),
        (
            "late-burst",
            {"memory": 16, "prompt": 9, "variant": "theorem-6.2"},
            "prompt: expected 1 to M/2 = 8, found 9",
        ),
        ("late-burst", {"patience": 0, "variant": "theorem-6.4"}, "patience: .*1 to 100, found 0"),
        ("two-point", {"lower": 9, "upper": 8}, "upper: expected at least 9, found 8"),
        ("amax-trap", {"upper": 1}, "upper: expected at least 2, found 1"),
        ("planted", {"memory": 11}, "memory: expected at least 12, found 11"),
        ("planted", {"longest": 21}, "longest: expected at most .* = 20, found 21"),
        ("total-trap", {"growth": 2.0}, r"growth: expected 1 to 1\.5"),
        ("chat", {"cv": 2.0}, "cv: goes with a rate, found none"),
        ("chat", {"cv": 2.0, "seconds": True}, "cv: goes with a rate, found none"),
        ("chat", {"rate": 0.0}, "rate: expected 1e-06 to 1000000.0, found 0.0"),
        ("chat", {"rate": 1.0, "cv": 0.0}, "cv: expected 0.01 to 100, found 0.0"),
        ("chat", {"rate": 1e-6, "n": 10_000}, "rate: expected arrivals within 146 years"),
        ("chat", {"memory": 1350}, "memory: expected at least 1351, found 1350"),
        # What has no end: requests are counted before any is drawn.
        ("uniform", {"n": 10**9}, "n: expected 1 to 1000000, found 1000000000"),
        ("am2", {"rate": 1e308}, r"rate: expected above 0 to 1000000, found 1e\+308"),
        ("am2", {"rate": 1e5, "rounds": 11}, f"{TOO_MANY}1100000"),
        # waves * width, 3m, a * u + b * l with b = isqrt(a * a * u // l) = 200,000.
        ("planted", {"waves": 500_000, "width": 3}, f"{TOO_MANY}1500000"),
        ("three-partition", {"m": 500_000}, f"{TOO_MANY}1500000"),
        ("amax-trap", {"short_batches": 100_000}, f"{TOO_MANY}1200000"),
        # M + M * isqrt(isqrt(M)), M + M * isqrt(M), 1 + M // 2, M // 8.
        ("mcsf-trap", {"memory": 100_000}, f"{TOO_MANY}1800000"),
        ("total-trap", {"memory": 10_000}, f"{TOO_MANY}1010000"),
        ("late-burst", {"memory": 2_000_000}, f"{TOO_MANY}1000001"),
        ("late-burst", {"memory": 80_000_000, "variant": "theorem-6.2"}, f"{TOO_MANY}10000001"),
        (
            "binomial",
            {"n": 3000, "longest": 10_000, "memory": 20_000},
            r"expected at most 20000000 for n \* longest, found 30000000",
        ),
    ],
)
def test_parameters_out_of_range_are_refused(
    name: str, parameters: dict[str, Any], message: str
) -> None:
    """A bad parameter is a ValueError of one line: which, what was expected, what was found."""
    with pytest.raises(ValueError, match=f"^{message}[^\n]*$"):
        families()[name].generate(**parameters)


@pytest.mark.parametrize("seed", [0, 1, 12345])
def test_draws_are_the_doubles_of_numpy(seed: int) -> None:
    """The stream is the one that numpy's own generator gives from PCG64 for doubles."""
    draws = Draws(seed)
    expected = np.random.Generator(np.random.PCG64(seed)).random(100)
    assert [draws.unit() for _ in range(100)] == expected.tolist()


def test_the_draws_of_one_seed_are_pinned() -> None:
    """A new numpy, or an edit, that changes the library is noticed here first."""
    draws = Draws(0)
    # PCG64(0) is known for these first doubles; 1 + int(0.6369... * 50) = 32.
    assert [draws.unit() for _ in range(2)] == [0.6369616873214543, 0.2697867137638703]
    assert Draws(0).integer(1, 50) == 32
    assert "".join(Draws(0).shuffled("abcdefgh")) == "egcdhabf"


class _Fixed(Draws):
    """A stream that repeats one value."""

    def __init__(self, value: float) -> None:
        self._value = value

    def unit(self) -> float:
        return self._value


@given(low=st.integers(-(10**9), 10**9), width=st.integers(0, 10**9))
def test_integers_stay_in_their_range_at_both_ends(low: int, width: int) -> None:
    """The least and the largest double in [0, 1) give exactly the ends of the range."""
    assert _Fixed(0.0).integer(low, low + width) == low
    assert _Fixed(1 - 2.0**-53).integer(low, low + width) == low + width


@given(st.lists(st.floats(1e-300, 1e300), min_size=1, max_size=50))
def test_weighted_positions_stay_in_their_range(weights: list[float]) -> None:
    """The largest double below 1 still gives a position, whatever the weights."""
    assert 0 <= Weighted(weights).draw(_Fixed(1 - 2.0**-53)) < len(weights)


def test_am1_keeps_to_its_ranges() -> None:
    """Memory 30..50, 40..60 requests, s 1..5, o 1..M-s, all at round 0, and the ends occur."""
    drawn = [am1.generate(seed) for seed in range(200)]
    assert {instance.memory for instance in drawn} == set(range(30, 51))
    assert {len(instance) for instance in drawn} == set(range(40, 61))
    assert set().union(*(instance.prompts.tolist() for instance in drawn)) == {1, 2, 3, 4, 5}
    assert all(instance.arrivals.max() == 0 for instance in drawn)
    peaks = [(instance.prompts + instance.outputs - instance.memory).max() for instance in drawn]
    assert max(peaks) == 0
    # o is uniform on 1..M-s: its mean share of the range is (1 + 1/(M-s)) / 2, about 0.51.
    shares = np.concatenate([i.outputs / (i.memory - i.prompts) for i in drawn])
    assert shares.mean() == pytest.approx(0.514, abs=0.02)


def test_am2_arrivals_are_poisson() -> None:
    """Arrivals lie on 1..T in order, with λ a round on average and as variance."""
    counts: list[int] = []
    for seed in range(20):
        instance = am2.generate(seed, rounds=500, rate=1.2)
        assert instance.arrivals.min() >= 1
        assert instance.arrivals.max() <= 500
        assert (np.diff(instance.arrivals) >= 0).all()
        per_round = Counter(instance.arrivals.tolist())
        counts += [per_round[t] for t in range(1, 501)]
    # 10,000 rounds: the mean has a standard error of sqrt(1.2 / 10,000) = 0.011.
    assert np.mean(counts) == pytest.approx(1.2, abs=0.066)
    assert np.var(counts) == pytest.approx(1.2, rel=0.1)


def test_am2_keeps_to_its_ranges() -> None:
    """Memory, T and λ come from their ranges; n can be given instead."""
    drawn = [am2.generate(seed) for seed in range(100)]
    assert {30, 50} <= {instance.memory for instance in drawn} <= set(range(30, 51))
    assert 40 <= max(instance.arrivals.max() for instance in drawn) <= 60
    # λT is within 20..90; 10 and 130 are far outside what a Poisson count of that mean reaches.
    assert all(5 < len(instance) < 130 for instance in drawn)
    assert np.mean([len(instance) for instance in drawn]) == pytest.approx(50, abs=8)
    assert [len(am2.generate(seed, n=8)) for seed in range(5)] == [8] * 5
    # Where nobody arrives at first, the arrivals are drawn again.
    assert min(len(am2.generate(seed, rounds=1, rate=0.05)) for seed in range(50)) == 1


def _pooled(name: str, **parameters: Any) -> tuple[np.ndarray, np.ndarray]:
    drawn = [families()[name].generate(seed, **parameters) for seed in SEEDS]
    prompts, outputs = zip(*((each.prompts, each.outputs) for each in drawn), strict=True)
    return np.concatenate(prompts), np.concatenate(outputs)


@pytest.mark.parametrize(
    ("name", "mean", "deviation"),
    [
        ("uniform", 25.5, math.sqrt((50**2 - 1) / 12)),
        # Clipping at about ±3 deviations moves neither much.
        ("normal", 25.0, 8.33),
        ("binomial", 25.5, 3.5),
        # Rounded exponential, mean 5: k >= 1 has mass e^(-(k-0.5)/5)(1 - e^(-0.2)), and the 9.5 %
        # below 0.5 become 1; the mean is e^(-0.1)/(1 - e^(-0.2)) + (1 - e^(-0.1)) = 5.087.
        ("exponential", 5.087, 4.9),
    ],
)
def test_lengths_of_the_four_distributions(name: str, mean: float, deviation: float) -> None:
    """100 requests, M = 100, lengths within 1..50 with the mean and spread of the recipe."""
    instance = families()[name].generate()
    assert (len(instance), instance.memory) == (100, 100)
    assert instance.arrivals.max() == 0
    for lengths in _pooled(name):
        assert lengths.min() >= 1
        assert lengths.max() <= 50
        # 4,000 draws; six standard errors are 0.095 deviations.
        assert lengths.mean() == pytest.approx(mean, abs=0.095 * deviation)
        assert lengths.std() == pytest.approx(deviation, rel=0.08)


def test_mixed_prompts_have_two_modes() -> None:
    """A fifth of the prompts is long, beyond what the exponential part explains."""
    assert (len(mixed.generate()), mixed.generate().memory) == (200, 100)
    prompts, outputs = _pooled("mixed")
    assert 1 <= prompts.min() < prompts.max() <= 50
    # Lognormal(ln 40, 0.25) is below 30 with probability Φ(ln(0.75)/0.25) = Φ(-1.15) = 0.125, so
    # at least 30: 0.2 * 0.875 + 0.8 * e^(-2.95) = 0.217; 8,000 draws, standard error 0.005.
    assert (prompts >= 30).mean() == pytest.approx(0.217, abs=0.03)
    assert outputs.mean() == pytest.approx(5.087, abs=0.4)
    short, _ = _pooled("mixed", long_share=0.0)
    assert (short >= 30).mean() == pytest.approx(0.052, abs=0.02)


@pytest.mark.parametrize("solvable", [True, False])
@pytest.mark.parametrize(("m", "target"), [(2, 40), (4, 100), (5, 1000), (9, 1000), (35, 1001)])
def test_three_partition_is_a_three_partition_problem(m: int, target: int, solvable: bool) -> None:
    """3m integers strictly between T/4 and T/2 sum to mT, and M = T + 3 holds three, not four."""
    for seed in range(10):
        instance = three_partition.generate(seed, m=m, target=target, solvable=solvable)
        numbers = instance.prompts.tolist()
        assert (len(numbers), sum(numbers)) == (3 * m, m * target)
        assert all(target < 4 * x and 2 * x < target for x in numbers)
        assert (instance.memory, set(instance.outputs.tolist())) == (target + 3, {1})
        assert sum(sorted(numbers)[:4]) + 4 > instance.memory
        assert instance.known_optimum == 3 * m * (m + 1) // 2 + (0 if solvable else 1)
        if not solvable:
            # No three at different places sum to the target.
            pairs = [(a, b, target - a - b) for a in {*numbers} for b in {*numbers}]
            assert not [each for each in pairs if Counter(each) <= Counter(numbers)]
        # Not infeasible for a plain reason: two always fit, and some three do.
        assert sum(sorted(numbers)[-2:]) + 2 <= instance.memory
        assert sum(sorted(numbers)[:3]) <= target


@pytest.mark.parametrize("solvable", [True, False])
@pytest.mark.parametrize("target", [12, 17, 40, 41])
def test_three_partition_optimum_by_search(solvable: bool, target: int) -> None:
    """The optimum that the construction claims is what trying all starts finds."""
    if target < 20 and not solvable:
        # T = 12: x is 4 or 5, all odd, and 5 + 5 + 5 > 11.  T = 17: x is 5..8, all even, and
        # 6 + 6 + 6 > 16.
        with pytest.raises(ValueError, match="target: expected one large enough"):
            three_partition.generate(m=2, target=target, solvable=False)
        return
    for seed in range(5):
        instance = three_partition.generate(seed, m=2, target=target, solvable=solvable)
        assert brute_force_optimum(instance) == instance.known_optimum


@pytest.mark.parametrize(
    ("memory", "small", "flat"),
    # Of M = 50 √M becomes 7, M^1.25 becomes 50 * isqrt(7) = 100 and M^1.5 becomes 350.
    [(16, 32, 64), (50, 100, 350), (81, 243, 729), (256, 1024, 4096)],
)
def test_sizes_of_the_traps(memory: int, small: int, flat: int) -> None:
    """M requests (√M - 1, 1) and M^1.25 (1, 2); M (1, √M - 1) and M^1.5 (√M, 1); rounded down."""
    root = math.isqrt(memory)
    assert _kinds(mcsf_trap.generate(memory=memory)) == {(root - 1, 1): memory, (1, 2): small}
    assert _kinds(total_trap.generate(memory=memory)) == {(1, root - 1): memory, (root, 1): flat}
    # 256^1.25, with another exponent of the flat ones.
    slower = total_trap.generate(memory=256, growth=1.25)
    assert _kinds(slower) == {(1, 15): 256, (16, 1): 1024}


def test_example_3_1_in_small_by_search() -> None:
    """The argument with k small requests gives 2k + 3; a search agrees for k up to 5."""
    instance = example_3_1.generate()
    assert (instance.memory, instance.known_optimum) == (64, 2 * 21 + 3)
    assert _kinds(instance) == {(63, 1): 1, (1, 2): 21}
    for k in range(2, 6):
        rows = [(0, 3 * k - 1, 1)] + [(0, 1, 2)] * k
        requests = instances.families.shared.numbered(rows)
        assert brute_force_optimum(Instance("small", 3 * k, requests)) == 2 * k + 3


def test_late_burst_answers_the_start_it_is_told() -> None:
    """The burst is released b + M - √M/2 rounds (or b + M - 2εM) after the policy's start b."""
    asked: list[Instance] = []

    def starts_at_9(instance: Instance) -> int:
        asked.append(instance)
        return 9

    sqrt = late_burst.respond(starts_at_9, memory=64)
    # √64 / 2 = 4 and 64 / 2 = 32.
    assert _kinds(sqrt) == {(1, 63): 1, (1, 1): 32}
    assert sqrt.arrivals.tolist() == [0] + [9 + 64 - 4] * 32
    assert late_burst.generate(memory=64) == late_burst.respond(lambda _: 0, memory=64)
    with pytest.raises(ValueError, match="start: expected at least 0, found -1"):
        late_burst.respond(lambda _: -1)
    share = late_burst.respond(starts_at_9, memory=64, variant="theorem-6.2", prompt=4)
    assert _kinds(share) == {(4, 60): 1, (4, 1): 4}
    assert share.arrivals.tolist() == [0] + [9 + 64 - 8] * 4
    assert [len(instance) for instance in asked] == [1, 1]
    assert [instance.requests[0] for instance in asked] == [sqrt.requests[0], share.requests[0]]


def test_late_burst_at_random_covers_its_range() -> None:
    """The release of the burst is (1 - 2ε)M + jεM for every j in 0..c/ε and nothing else."""
    releases = set()
    for seed in range(200):
        instance = late_burst.generate(seed, 64, "theorem-6.4", prompt=8, patience=2)
        assert _kinds(instance) == {(8, 56): 1, (8, 1): 8}
        releases.add(int(instance.arrivals[1]))
    # 64 - 16 = 48, and c/ε = 2 * 64 / 8 = 16 steps of 8.
    assert releases == {48 + 8 * j for j in range(17)}


def test_two_point_has_two_lengths_and_one_prediction() -> None:
    """Outputs are ℓ or u, half each; every prediction is [ℓ, u]."""
    _, outputs = _pooled("two-point")
    assert set(outputs.tolist()) == {10, 50}
    # 8,000 draws, standard error 0.0056.
    assert (outputs == 50).mean() == pytest.approx(0.5, abs=0.034)
    assert _predictions(two_point.generate()) == {(10, 50)}
    assert set(two_point.generate(long_share=0.0).outputs.tolist()) == {10}
    longer = two_point.generate(long_share=1.0, prompt=3)
    assert (set(longer.outputs.tolist()), set(longer.prompts.tolist())) == ({50}, {3})


def test_geometric_outputs_decay() -> None:
    """P(o = k) is p·q^(k-1) up to the normalisation over 1..u; every prediction is [1, u]."""
    _, outputs = _pooled("geometric", upper=10)
    total = 1 - 0.9**10
    for k in (1, 2, 5, 10):
        assert (outputs == k).mean() == pytest.approx(0.1 * 0.9 ** (k - 1) / total, abs=0.025)
    assert (outputs.min(), outputs.max()) == (1, 10)
    assert _predictions(geometric.generate()) == {(1, 100)}
    assert set(geometric.generate(p=1.0).outputs.tolist()) == {1}
    # LG(p): k·p²·q^(k-1), with the mean (1 + q) / (1 - q); u = 100 has 0.9997 of the mass.
    _, outputs = _pooled("linearly-weighted-geometric")
    for k in (1, 2, 10, 20):
        assert (outputs == k).mean() == pytest.approx(k * 0.01 * 0.9 ** (k - 1), abs=0.012)
    assert outputs.mean() == pytest.approx(19, abs=1)
    assert _predictions(linearly_weighted_geometric.generate()) == {(1, 100)}


def test_amax_trap_counts() -> None:
    """ℓ = 2, u = 8, a = 10: M = 16, 80 short, b = 10·√4 = 20 and so 40 long, in random order."""
    instance = amax_trap.generate()
    assert (instance.memory, _kinds(instance)) == (16, {(0, 2): 80, (0, 8): 40})
    assert _predictions(instance) == {(2, 8)}
    assert instance.outputs.tolist() != sorted(instance.outputs.tolist())
    # √(100 * 7 / 2) = 18.7, rounded down; 18 * 2 = 36.
    assert _kinds(amax_trap.generate(upper=7)) == {(0, 2): 70, (0, 7): 36}


@settings(deadline=None, max_examples=60)
@given(
    seed=st.integers(0, 10**6),
    shape=st.sampled_from([(6, 1), (3, 2), (2, 3), (1, 4), (1, 6)]),
    extra=st.integers(0, 10),
    online=st.booleans(),
)
def test_planted_optimum_by_search(
    seed: int, shape: tuple[int, int], extra: int, online: bool
) -> None:
    """Trying all starts finds exactly the planted optimum, with and without arrivals."""
    waves, width = shape
    memory = width * (width + 1) + extra
    longest = 1 + (memory // width - memory // (width + 1) - 1) % 4
    instance = planted.generate(seed, waves, width, memory, longest, online)
    assert brute_force_optimum(instance) == instance.known_optimum


def _kinds(instance: Instance) -> dict[tuple[int, int], int]:
    return dict(Counter((request.prompt, request.output) for request in instance.requests))


def _predictions(instance: Instance) -> set[tuple[int | None, int | None]]:
    return {(request.output_lower, request.output_upper) for request in instance.requests}


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize(
    ("family", "drawn"),
    [
        *(
            (planted, {"waves": waves, "width": width, "memory": memory, "online": online})
            for waves, width, memory in ((1, 1, 2), (7, 1, 9), (6, 3, 240), (40, 5, 90))
            for online in (False, True)
        ),
        *(
            (three_partition, {"m": m, "target": target, "solvable": solvable})
            for m, target in ((2, 40), (5, 1000), (9, 500), (60, 1000))
            for solvable in (False, True)
        ),
    ],
)
def test_planted_starts_are_optimal(seed: int, family: Any, drawn: dict[str, Any]) -> None:
    """The checker accepts the planted schedule, whose TEL is the optimum that the family states."""
    instance = family.generate(seed, **drawn)
    schedule = make_schedule(instance, family.planted_starts(seed, **drawn), "planted")
    assert check_schedule(instance, schedule).valid
    assert schedule.tel == instance.known_optimum
