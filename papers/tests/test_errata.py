"""The errata by a program that shares nothing with kvopt, and what no other test shows."""

import math
import re
import subprocess
import sys
from itertools import combinations_with_replacement
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import lognorm

from heuristics.batching.swap import improve_by_swaps
from heuristics.policy_registry import policies
from heuristics.simulator import run_policy
from instances.families import total_trap
from instances.families.fitted_lengths import LOGNORMAL_OUTPUT, LOGNORMAL_PROMPT, LONGEST, Lognormal
from papers.ledger.check_results import arriving, by_starts, refused, together
from papers.ledger.checks.j1 import look_ahead
from tests.oracles.brute_force import brute_force_optimum

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "errata.md").read_text(encoding="utf-8")
ITEMS = dict(re.findall(r"^## ([EN]\d+)\. (.*?)(?=^## |\Z)", PAGE, re.MULTILINE | re.DOTALL))


def test_items_are_numbered_and_have_a_test() -> None:
    """E1, E2, ... and N1, N2, ... without a gap; each says how it is known."""
    for letter in "EN":
        numbers = [int(name[1:]) for name in ITEMS if name[0] == letter]
        assert numbers == list(range(1, len(numbers) + 1))
    assert len(ITEMS) >= 20
    for name, text in ITEMS.items():
        assert re.search(r"\*\*Test\*\*:\s+`(papers/)?tests/", text), name


def test_the_first_errata_hold_without_kvopt(tmp_path: Path) -> None:
    """Isolated, in an empty folder, nothing of the project can be imported; each item holds."""
    program = Path(__file__).with_name("errata_alone.py")
    made = subprocess.run(
        [sys.executable, "-I", "-S", program], cwd=tmp_path, capture_output=True, text=True
    )
    assert made.stderr == ""
    assert made.stdout.splitlines() == [f"E{k}: holds" for k in range(1, 17)]


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
    assert look_ahead(4, rows, candidate=False) == [0, 1]
    assert refused(arriving(4, rows), (0, 1), "as printed").verdict.tokens == 5
    assert look_ahead(4, rows, candidate=True) == [0, 3]
    assert run_policy(policies()["mc-sf"], arriving(4, rows)).starts == (0, 3)
    # M = 3 is too small for any pair with equal prompts: the smallest memory is 4.
    for memory in (2, 3):
        for prompt in range(memory):
            for first, second in np.ndindex(memory - prompt, memory - prompt):
                for arrival in (1, 2):
                    pair = [(0, prompt, first + 1), (arrival, prompt, second + 1)]
                    by_starts(
                        arriving(memory, pair), look_ahead(memory, pair, candidate=False), "fits"
                    )


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
