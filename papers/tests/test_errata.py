"""Each item of docs/errata.md that no other test shows; figures are those that the page prints."""

from __future__ import annotations

import math
import re
from itertools import combinations_with_replacement
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import lognorm

from heuristics.batching.swap import improve_by_swaps
from heuristics.predictions import PREDICTIONS
from heuristics.registry import policies
from heuristics.simulator import run_policy
from instances import Instance, read_instance
from instances.families import total_trap
from instances.families.fitted import LOGNORMAL_OUTPUT, LOGNORMAL_PROMPT, LONGEST, Lognormal
from instances.named import find_instance
from kvopt.best_known.entry import Entry
from kvopt.best_known.files import read_registry
from papers.ledger.checks.j1 import look_ahead
from papers.ledger.checks.w import trap_ratio
from papers.ledger.shown import arriving, by_starts, refused, together
from tests.oracles.brute_force import brute_force_optimum

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "errata.md").read_text(encoding="utf-8")
ITEMS = dict(re.findall(r"^## ([EN]\d+)\. (.*?)(?=^## |\Z)", PAGE, re.MULTILINE | re.DOTALL))


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


def test_e2_the_candidates_own_completion() -> None:
    """As printed two requests hold 5 of 4 tokens at time 2; with the own completion they wait."""
    rows = [(0, 1, 3), (1, 1, 1)]
    assert look_ahead(4, rows, own=False) == [0, 1]
    assert refused(arriving(4, rows), (0, 1), "as printed").verdict.tokens == 5
    assert look_ahead(4, rows, own=True) == [0, 3]
    assert run_policy(policies()["mc-sf"], arriving(4, rows)).starts == (0, 3)
    # M = 3 is too small for any pair with equal prompts: the smallest memory is 4.
    for memory in (2, 3):
        for prompt in range(memory):
            for first, second in np.ndindex(memory - prompt, memory - prompt):
                for arrival in (1, 2):
                    pair = [(0, prompt, first + 1), (arrival, prompt, second + 1)]
                    by_starts(arriving(memory, pair), look_ahead(memory, pair, own=False), "fits")


def test_e6_the_ratio_tends_to_three() -> None:
    """With M^1.5 below 3 for ever, with M^1.25 beyond any number; the sums are the schedules'."""
    instance = total_trap.generate(memory=16)
    first, second = (run_policy(policies()[name], instance).tel for name in ("mc-sf-total", "svf"))
    assert first / second == pytest.approx(float(trap_ratio(4, 64)), rel=0.15)
    printed = [trap_ratio(4**k, 64**k) for k in range(1, 9)]
    assert printed == sorted(printed)
    assert 2.99 < printed[-1] < 3
    assert trap_ratio(4**8, 32**8) > 50


def test_e9_larger_x_is_wider() -> None:
    """[9, 11] at x = 0.1, [1, 20] at x = 0.95, rounded outwards and at least 1."""
    outputs, draws = np.array([10]), np.random.default_rng(0)
    ends = [PREDICTIONS["relative"].predict(outputs, draws, {"x": x}) for x in (0.1, 0.95)]
    assert [(int(low[0]), int(high[0])) for low, high in ends] == [(9, 11), (1, 20)]


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
