"""Each item of docs/errata.md that no other test shows; figures are those that the page prints."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from itertools import combinations_with_replacement
from pathlib import Path

import numpy as np
import pytest
from scipy.linalg import eigh
from scipy.stats import lognorm

from heuristics.batching import Pool
from heuristics.batching.swap import improve_by_swaps
from heuristics.batching.table import order_by_peaks, order_exactly
from heuristics.predictions import PREDICTIONS
from heuristics.registry import policies
from heuristics.simulator import run_policy
from instances import Instance, Request, read_instance
from instances.families import total_trap
from instances.families.fitted import LOGNORMAL_OUTPUT, LOGNORMAL_PROMPT, LONGEST, Lognormal
from instances.named import find_instance, find_instances
from kvopt.best_known.entry import Entry
from kvopt.best_known.files import read_registry
from tests.heuristics.test_sorted_f import batches_of
from tests.oracles.brute_force import brute_force_optimum

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "errata.md").read_text(encoding="utf-8")
ITEMS = dict(re.findall(r"^## ([EN]\d+)\. (.*?)(?=^## |\Z)", PAGE, re.MULTILINE | re.DOTALL))
#: A request as (arrival, prompt, output), rounds and tokens.
Row = tuple[int, int, int]


def instance_of(memory: int, rows: Sequence[Row]) -> Instance:
    """Return an instance with ids 0, 1, ..."""
    return Instance("drawn", memory, tuple(Request(i, *row) for i, row in enumerate(rows)))


def together(memory: int, *rows: tuple[int, int]) -> Instance:
    """Return an instance of requests (prompt, output) that all arrive at 0."""
    return instance_of(memory, [(0, s, o) for s, o in rows])


def known(instance: Instance) -> Entry:
    """Return what the registry holds of an instance of the library."""
    registry = read_registry()
    assert registry is not None
    return next(entry for entry in registry.instances if entry.sha256 == instance.sha256)


def library(name: str) -> Instance:
    """Return an instance of the library."""
    return read_instance(find_instance(name))


def test_items_are_numbered_and_have_a_test() -> None:
    """E1, E2, ... and N1, N2, ... without a gap; each says how it is known."""
    for letter in "EN":
        numbers = [int(name[1:]) for name in ITEMS if name[0] == letter]
        assert numbers == list(range(1, len(numbers) + 1))
    assert len(ITEMS) >= 20
    for name, text in ITEMS.items():
        assert re.search(r"\*\*Test\*\*: `tests/", text), name


def test_e1_shortest_first_is_not_optimal() -> None:
    """13 against 12 at M = 5, 16 against 15 with empty prompts, and none with three requests."""
    for instance, found, least in (
        (together(5, (1, 1), (1, 1), (1, 3), (1, 3)), 13, 12),
        (together(4, (0, 2), (0, 2), (0, 3), (0, 3)), 16, 15),
    ):
        assert run_policy(policies()["mc-sf"], instance).tel == found
        assert brute_force_optimum(instance) == least
    for memory in range(1, 8):
        for prompt in range(min(3, memory)):
            for outputs in combinations_with_replacement(range(1, memory - prompt + 1), 3):
                instance = together(memory, *((prompt, output) for output in outputs))
                assert run_policy(policies()["mc-sf"], instance).tel == brute_force_optimum(
                    instance
                )


def look_ahead(memory: int, rows: Sequence[Row], *, own: bool) -> dict[int, int]:
    """Return the starts of J1 Algorithm 2, with the candidate's own completion or as printed."""
    starts: dict[int, int] = {}
    now = 0
    while len(starts) < len(rows):
        active = [i for i, p in starts.items() if p + rows[i][2] > now]
        arrived = [i for i, row in enumerate(rows) if row[0] <= now and i not in starts]
        for i in sorted(arrived, key=lambda each: rows[each][2]):
            begun = {j: starts[j] for j in active}
            times = [begun[j] + rows[j][2] for j in active] + own * [now + rows[i][2]]
            if any(tokens(rows, begun | {i: now}, time) > memory for time in times):
                break
            starts[i] = now
            active.append(i)
        now += 1
    return starts


def tokens(rows: Sequence[Row], starts: dict[int, int], time: int) -> int:
    """Return the tokens held at a time by the requests that have started."""
    return sum(rows[i][1] + time - p for i, p in starts.items() if 1 <= time - p <= rows[i][2])


def test_e2_the_candidates_own_completion() -> None:
    """As printed two requests hold 5 of 4 tokens at time 2; with the own completion they wait."""
    rows = [(0, 1, 3), (1, 1, 1)]
    printed = look_ahead(4, rows, own=False)
    assert printed == {0: 0, 1: 1}
    assert tokens(rows, printed, 2) == 5
    mended = look_ahead(4, rows, own=True)
    assert mended == {0: 0, 1: 3}
    assert run_policy(policies()["mc-sf"], instance_of(4, rows)).starts == (0, 3)
    # M = 3 is too small for any pair with equal prompts: the smallest memory is 4.
    for memory in (2, 3):
        for prompt in range(memory):
            for first, second in np.ndindex(memory - prompt, memory - prompt):
                for arrival in (1, 2):
                    pair = [(0, prompt, first + 1), (arrival, prompt, second + 1)]
                    starts = look_ahead(memory, pair, own=False)
                    assert all(tokens(pair, starts, time) <= memory for time in range(20))


def test_e3_the_printed_row_misses_the_peak() -> None:
    """(s + t − p)·y at t = p..p + o − 1 is s..s + o − 1: 1 where the peak is 2."""
    prompt, output, start = 1, 1, 0
    printed = [prompt + time - start for time in range(start, start + output)]
    assert max(printed) == 1
    assert Request(0, 0, prompt, output).peak == 2
    assert "M = 1, (1, 1)" in ITEMS["E3"]


def test_e4_three_do_not_fit_into_t() -> None:
    """x = (1, 1, 1), T = 3: at M = T the optimum is 1 + 2 + 3, at M = T + 3 it is 3·1·2/2."""
    assert brute_force_optimum(together(3, (1, 1), (1, 1), (1, 1))) == 6
    assert brute_force_optimum(together(6, (1, 1), (1, 1), (1, 1))) == 3


def to_the_letter(memory: int, rows: Sequence[tuple[int, int]]) -> int:
    """Return the TEL of W Algorithm 1, Phase 2, with (prompt, output) in the order of admission."""
    waiting = list(range(len(rows)))
    starts: dict[int, int] = {}
    active: list[int] = []
    now = 0

    def held(chosen: Sequence[int], time: int) -> int:
        return sum(
            rows[i][0] + time - starts[i] for i in chosen if 0 <= time - starts[i] <= rows[i][1]
        )

    while waiting or active:
        now += 1
        active = [i for i in active if starts[i] + rows[i][1] >= now]
        for i in list(waiting):
            starts[i] = now
            chosen = [*active, i]
            if any(held(chosen, starts[j] + rows[j][1]) > memory for j in chosen):
                break
            active.append(i)
            waiting.remove(i)
    # Line 13 begins at t = 1, so a request started at p has waited p − 1 rounds.
    return sum(starts[i] - 1 + rows[i][1] for i in range(len(rows)))


def test_e5_algorithm_1_to_the_letter() -> None:
    """85 and 46 on Example 3.1, 4 on two equal requests, where the convention has 3."""
    long, short = [(63, 1)], [(1, 2)] * 21
    assert to_the_letter(64, long + short) == 85
    assert to_the_letter(64, short + long) == 46
    assert to_the_letter(2, [(1, 1), (1, 1)]) == 4
    assert brute_force_optimum(together(2, (1, 1), (1, 1))) == 3


def trap_ratio(memory: int, growth: float) -> float:
    """Return TEL of both orders of W Theorem 8.2's two kinds, from the paper's sums done right."""
    root, kinds = math.isqrt(memory), round(math.pow(memory, growth))
    first = (root - 1) * root * _sum(memory // root)
    second = root * _sum(kinds // root)
    waits = memory // root * kinds
    return (first + (root - 1) * waits + second) / (first + waits + second)


def _sum(last: int) -> int:
    return last * (last + 1) // 2


def test_e6_the_ratio_tends_to_three() -> None:
    """With M^1.5 below 3 for ever, with M^1.25 beyond any number; the sums are the schedules'."""
    instance = total_trap.generate(memory=16)
    orders = (
        run_policy(policies()["mc-sf-total"], instance).tel,
        run_policy(policies()["svf"], instance).tel,
    )
    assert orders[0] / orders[1] == pytest.approx(trap_ratio(16, 1.5), rel=0.15)
    printed = [trap_ratio(16**k, 1.5) for k in range(1, 9)]
    assert printed == sorted(printed)
    assert 2.99 < printed[-1] < 3
    assert trap_ratio(16**8, 1.25) > 50


def test_e7_peaks_are_a_stronger_constraint() -> None:
    """Both at once are 2 + 2, then 3 tokens of 4: F = 3/4; by peaks, 2 + 3 = 5, one at a time."""
    instance = together(4, (1, 1), (1, 2))
    assert run_policy(policies()["sorted-f-exact"], instance).starts == (0, 0)
    pool = Pool(4, instance.arrivals, instance.prompts, instance.outputs)
    assert [len(batch) for batch in batches_of(pool, order_exactly)] == [2]
    assert [len(batch) for batch in batches_of(pool, order_by_peaks)] == [1, 1]


def test_e9_larger_x_is_wider() -> None:
    """[9, 11] at x = 0.1, [1, 20] at x = 0.95, rounded outwards and at least 1."""
    outputs, draws = np.array([10]), np.random.default_rng(0)
    ends = [PREDICTIONS["relative"].predict(outputs, draws, {"x": x}) for x in (0.1, 0.95)]
    assert [(int(low[0]), int(high[0])) for low, high in ends] == [(9, 11), (1, 20)]


def test_e10_h_sf_is_a_policy() -> None:
    """13 on the instance of E1, whose optimum is 12."""
    instance = together(5, (1, 1), (1, 1), (1, 3), (1, 3))
    assert run_policy(policies()["h-sf"], instance).tel == 13
    assert brute_force_optimum(instance) == 12


@pytest.mark.parametrize("u", [2, 5, 10, 20, 50, 200])
def test_e11_figure_1_is_a_maximum_over_mixes(u: int) -> None:
    """The largest eigenvalue has a mix of outputs, and the fit is within 1 % from u = 20 on."""
    i = np.arange(1, u + 1, dtype=float)
    least = np.minimum.outer(i, i)
    a = least**2 / np.outer(i, i) * (np.add.outer(i, i) ** 2 / 2 - least**2)
    values, vectors = eigh(a, least**2, subset_by_index=[u - 1, u - 1])
    mix = vectors[:, 0] * np.sign(vectors[:, 0].sum())
    assert mix.min() > 0
    error = (0.2555 * math.log(u + 0.2793) + 1.1587) / values[0] - 1
    assert (abs(error) < 0.01) == (u >= 20)
    if u == 2:
        assert values[0] == pytest.approx(1.25)
        assert f"{(1 + error) * values[0]:.2f}" == "1.37"


def test_e12_mc_sf_on_arrival_model_1() -> None:
    """Each of the ten draws at least 4.1 % above the best known schedule, 8.7 % on average."""
    ratios = []
    for path in find_instances("instances/am1"):
        instance = read_instance(path)
        upper = known(instance).upper
        assert upper is not None
        ratios.append(run_policy(policies()["mc-sf"], instance).tel / upper.value)
    assert len(ratios) == 10
    assert min(ratios) > 1.041
    assert max(ratios) > 1.134
    assert np.mean(ratios) > 1.087


def test_e13_table_4_has_no_common_unit() -> None:
    """A bound of 36,739 where 9,748.3 is printed, and FCFS at 4,000 where 6,016.9 is."""
    lower = known(library("uniform_100")).lower
    assert lower is not None
    assert lower.value >= 36_739 > 3.7 * 9_748.3
    assert run_policy(policies()["fcfs"], library("exponential_100")).tel == 4_000 < 6_016.9
    assert "36,739" in ITEMS["E13"]
    assert "4,000" in ITEMS["E13"]


def test_e14_the_memory_of_two_gpus() -> None:
    """20 GB or GiB over 2 · 80 · 8,192 · 2 bytes."""
    a_token = 2 * 80 * 8192 * 2
    assert f"{a_token:,} bytes a token" in ITEMS["E14"]
    assert f"{20 * 10**9 // a_token:,} with GB" in ITEMS["E14"]
    assert f"{20 * 2**30 // a_token:,} with GiB" in ITEMS["E14"]


def test_e15_slopes_are_not_seconds_a_request() -> None:
    """10,000 / 6 seconds on average, of requests that arrive within 10,000 / 50."""
    assert f"{10_000 / 6:,.0f} s on average" in ITEMS["E15"]
    assert f"after {10_000 // 50} s" in ITEMS["E15"]


def test_n6_swaps_keep_the_size_of_a_batch() -> None:
    """As many requests leave as come in; on the trap of E6 none does, since all in have peak 4."""
    draws = np.random.default_rng(0)
    for _ in range(50):
        peaks, outputs = draws.integers(2, 12, 20), draws.integers(1, 9, 20)
        inside = np.cumsum(peaks) <= 40
        assert improve_by_swaps(peaks, outputs, inside, 40).sum() == inside.sum()
    trap = total_trap.generate(memory=16)
    peaks = trap.prompts + trap.outputs
    greedy = np.cumsum(np.sort(peaks)) <= 16
    order = np.argsort(peaks, kind="stable")
    swapped = improve_by_swaps(peaks[order], trap.outputs[order], greedy, 16)
    assert (swapped == greedy).all()


@pytest.mark.parametrize(
    ("law", "variance", "uncut", "cut"),
    [(LOGNORMAL_PROMPT, 4961, 4.2, 3.1), (LOGNORMAL_OUTPUT, 9702, 1.9, 1.9)],
)
def test_n7_lognormal_variances(law: Lognormal, variance: int, uncut: float, cut: float) -> None:
    """Mean and median fix the law: σ² = 2 ln(mean / median); both factors stand on the page."""
    exact = lognorm(math.sqrt(2 * math.log(law.mean / law.median)), scale=law.median)
    lengths = np.arange(1, LONGEST + 1)
    below = exact.cdf(lengths + 0.5)
    below[-1] = 1
    shares = np.diff(below, prepend=0)
    mean = shares @ lengths
    assert round(exact.var() / variance, 1) == uncut
    assert round((shares @ lengths**2 - mean**2) / variance, 1) == cut
    assert str(uncut) in ITEMS["N7"]
    assert str(cut) in ITEMS["N7"]
