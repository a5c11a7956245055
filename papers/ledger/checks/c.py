"""Checks of the statements of C (chen2025)."""

from collections.abc import Sequence
from fractions import Fraction
from functools import partial
from itertools import combinations_with_replacement
from math import log, sqrt

import numpy as np
from scipy.linalg import eigh

import kvopt
from heuristics.reference.h_sf import largest_batches
from heuristics.simulator import RunSetting
from instances.families import amax_trap, two_point
from instances.families.worst_mix import forms
from papers.ledger import chen
from papers.ledger.check_results import CheckResult, by_policy, by_starts, together


def example_1() -> CheckResult:
    """Run H-SF and A_max."""
    instance = chen.within(10, 1, 4, [1] * 5, prompt=1)
    first, second = by_policy("h-sf", instance), by_policy("a-max", instance)
    lines = (f"H-SF {first.tel}, A_max {second.tel}; printed 5 and 9",)
    return CheckResult((first.tel, second.tel) == (5, 9), lines, (first, second))


def theorem_1() -> CheckResult:
    """Compare the stated ratio with the bound that is proved, for α up to 2/9."""
    alphas = [Fraction(2, 9), Fraction(1, 5), *(Fraction(1, 2**k) for k in range(3, 20))]
    pairs = [(chen.proved(alpha), float((1 + 1 / alpha) / alpha / 2)) for alpha in alphas]
    lines = tuple(
        f"α = {alpha}: proved {ours:.2f}, stated {theirs:.2f}"
        for alpha, (ours, theirs) in list(zip(alphas, pairs, strict=True))[:4]
    )
    return CheckResult(all(ours <= theirs for ours, theirs in pairs), lines)


def theorem_2() -> CheckResult:
    """Evaluate the proof's quotient, run its instance, and compare with the proved bound."""
    lines, holds = [], True
    for root in (2, 10, 30):
        alpha = Fraction(1, root**2)
        stated = (1 + root) / alpha / 2
        found = chen.quotient(alpha, Fraction(1, root))
        holds &= stated <= chen.proved(alpha)
        lines.append(
            f"α = {alpha}: stated {float(stated):,.1f}, the proof's quotient {float(found):.2f}, "
            f"at most {chen.proved(alpha):,.1f}"
        )
    trap = amax_trap.generate()
    runs = [by_policy("a-max", trap, RunSetting(seed=seed)).tel for seed in range(3)]
    ratio = sum(runs) / 3 / by_policy("h-sf", trap).tel
    lines.append(f"run with ℓ = 2, u = 8: A_max over H-SF is {ratio:.2f}, stated 6")
    return CheckResult(holds, tuple(lines))


def theorem_4() -> CheckResult:
    """Compare A_min's limit with the bound on restarts, and run both at u = 64."""
    first, with_prompts = (
        next(u for u in range(2, 10**4) if chen.halved_limit(u, s) > chen.restarts_keep(s))
        for s in (0, 1)
    )
    instance = chen.within(1024, 1, 64, chen.halved(64, 8192))
    least = by_policy("h-sf", instance).tel
    ours, theirs = chen.restarts(instance).tel / least, by_policy("a-min", instance).tel / least
    lines = (
        f"restarts: at most {float(chen.restarts_keep(0)):.2f}; A_min's limit is above it from "
        f"u = {first} on, {float(chen.halved_limit(215)):.2f} at u = 215",
        f"with s = 1: at most {float(chen.restarts_keep(1)):.2f}, "
        f"above it from u = {with_prompts} on",
        f"run with u = 64, M = 1,024: restarts {ours:.2f}, A_min {theirs:.2f} times H-SF",
    )
    return CheckResult(chen.halved_limit(215) <= chen.restarts_keep(0), lines)


def theorem_5() -> CheckResult:
    """Compare the limit on the law of E16 with ln u."""
    uppers = (10, 100, 1000)
    over = [float(chen.halved_limit(upper)) / log(upper) for upper in uppers]
    lines = tuple(
        f"u = {upper}: the ratio tends to {each * log(upper):.2f}, {each:.2f} times ln u"
        for upper, each in zip(uppers, over, strict=True)
    )
    return CheckResult(not over[0] < over[1] / 2 < over[2] / 4, lines)


def lemma_1() -> CheckResult:
    """Run A_min on four requests, with many random orders."""
    instance = chen.within(4, 1, 2, (1, 1, 2, 2))
    runs = [by_policy("a-min", instance, RunSetting(seed=seed)) for seed in range(40)]
    cancelled = sum(len(each) for run in runs for each in run.schedule.attempts or ())
    lines = (f"{cancelled} cancelled in 40 runs; by Lemma 1 one in each run",)
    return CheckResult(cancelled > 0, lines, tuple(runs[:1]))


def lemma_2() -> CheckResult:
    """Evaluate Lemma 2 and the limit on outputs 1 and 20."""
    shares = np.zeros(20)
    shares[[0, 19]] = float(1 - chen.RARE), float(chen.RARE)
    stated, found = chen.stated_ratio(shares), float(chen.rare_limit(20, chen.RARE))
    return CheckResult(
        found <= stated, (f"Lemma 2 has {stated:.3f}, the ratio tends to {found:.3f}",)
    )


def lemma_3() -> CheckResult:
    """Eliminate in fractions: pivots of A and B, and the trace of B⁻¹A."""
    lines, holds = [], True
    for u in (2, 3, 5, 8):
        both = [[_entries(i, j) for j in range(1, u + 1)] for i in range(1, u + 1)]
        a, b = ([[pair[k] for pair in row] for row in both] for k in (0, 1))
        one = [[Fraction(i == j) for j in range(u)] for i in range(u)]
        pivots = [*_solved(a, one)[1], *_solved(b, one)[1]]
        solved, _ = _solved(b, a)
        trace = sum(solved[i][i] for i in range(u))
        harmonic = sum(Fraction(1, k) for k in range(1, u + 1))
        holds &= min(pivots) > 0 and trace == harmonic
        lines.append(f"u = {u}: trace {trace}, H_u {harmonic}, least pivot {min(pivots)}")
    return CheckResult(holds, tuple(lines))


def _entries(i: int, j: int) -> tuple[Fraction, Fraction]:
    least = Fraction(min(i, j) ** 2)
    return least / (i * j) * (Fraction((i + j) ** 2, 2) - least), least


def _solved(
    matrix: Sequence[Sequence[Fraction]], right: Sequence[Sequence[Fraction]]
) -> tuple[list[list[Fraction]], list[Fraction]]:
    """Return the solution by Gauss and Jordan without exchanges, and the pivots."""
    size = len(matrix)
    rows = [[*matrix[i], *right[i]] for i in range(size)]
    pivots = []
    for k in range(size):
        pivots.append(rows[k][k])
        rows[k] = [each / pivots[-1] for each in rows[k]]
        for i in range(size):
            if i != k:
                factor = rows[i][k]
                rows[i] = [a - factor * b for a, b in zip(rows[i], rows[k], strict=True)]
    return [row[size:] for row in rows], pivots


def figure_1() -> CheckResult:
    """Compare the fit with the largest quotient of the two forms."""
    uppers = (2, 5, 20, 50, 100, 200)
    errors = []
    for u in uppers:
        above, below = forms(u)
        largest = eigh(above, below, subset_by_index=[u - 1, u - 1], eigvals_only=True)[0]
        errors.append((0.2555 * log(u + 0.2793) + 1.1587) / largest - 1)
    lines = tuple(
        f"u = {u}: the fit is off by {100 * error:+.2f} %"
        for u, error in zip(uppers, errors, strict=True)
    )
    return CheckResult(all(abs(error) < 0.01 for error in errors), lines)


def theorem_6() -> CheckResult:
    """Evaluate the limit, and run A_min near it."""
    stated, limit = Fraction(3 - Fraction(1, 20), 2), chen.rare_limit(20, chen.RARE)
    instance = chen.within(250, 1, 20, [20] * 45 + [1] * 9955)
    found = by_policy("a-min", instance).tel / by_policy("h-sf", instance).tel
    lines = (
        f"stated at most {float(stated)}, the ratio tends to {float(limit):.3f}",
        f"run with n = 10,000, M = 250: {found:.3f}",
    )
    return CheckResult(limit <= stated, lines)


def theorem_7() -> CheckResult:
    """Run A_ℓ with prompts, over two seeds."""
    instance = two_point.generate(
        n=1000, memory=1500, lower=15, upper=50, long_share=0.5, prompt=100, seed=1
    )
    runs = [by_policy("a-ell", instance, RunSetting(seed=seed)).tel for seed in range(2)]
    found = sum(runs) / 2 / by_policy("h-sf", instance).tel
    stated = Fraction(17, 14)  # 1 + 0.3/1.4
    # What vanishes in the limit is at most the largest peak over M.
    lines = (f"{found:.3f}, stated at most {float(stated):.3f} + {150 / 1500:.1f}",)
    return CheckResult(found <= stated + Fraction(150, 1500), lines)


def alpha_star() -> CheckResult:
    """Compare the difference of the bounds with its factors, in fractions."""
    alphas = [Fraction(k, 40) for k in range(1, 21)]
    same = all(
        (3 - a) / 2 - 1 - a / (2 * (1 - a)) == (a * a - 3 * a + 1) / (2 * (1 - a)) for a in alphas
    )
    root = (3 - sqrt(5)) / 2
    lines = (f"(3 − α)/2 − 1 − α/(2(1 − α)) = (α² − 3α + 1)/(2(1 − α)): 0 at α = {root:.4f}",)
    return CheckResult(same and abs(root * root - 3 * root + 1) < 1e-12, lines)


def section_5_3_mode() -> CheckResult:
    """Find the peak of k q^(k − 1) in fractions, q = 9/10."""
    q = Fraction(9, 10)
    weights = {k: k * q ** (k - 1) for k in range(1, 100)}
    peaks = [k for k, weight in weights.items() if weight == max(weights.values())]
    near = [log(1 / q), 1 / log(1 / q)]
    lines = (f"q = 0.9: peaks at {peaks}; log(1/q) = {near[0]:.3f}, 1/log(1/q) = {near[1]:.2f}",)
    return CheckResult(any(abs(k - near[0]) <= 1 for k in peaks), lines)


def section_6_h_sf() -> CheckResult:
    """Compare H-SF with a schedule of a smaller TEL."""
    instance = together(5, (1, 1), (1, 1), (1, 3), (1, 3))
    first, second = by_policy("h-sf", instance), by_starts(instance, (0, 1, 0, 3), "another one")
    return CheckResult(
        first.tel <= second.tel, (f"H-SF {first.tel}, {second.tel}",), (first, second)
    )


def example_ec_1() -> CheckResult:
    """Solve it."""
    instance = together(7, (1, 1), (1, 2), (1, 3), (1, 4))
    stated = by_starts(instance, (0, 0, 0, 2), "I3")
    found = kvopt.solve(instance, "search:counts")
    lines = (f"I3 has {stated.tel}, the search proves {found.bound} ({found.status})",)
    return CheckResult(found.status == "optimal" and stated.tel == found.tel, lines, (stated,))


def proposition_ec_1() -> CheckResult:
    """Run two requests with 4 and with 3 tokens, and 16y with 18y and with 16y."""
    large, small = (by_policy("h-sf", together(memory, (1, 1), (1, 1))) for memory in (4, 3))
    allowed = large.tel / Fraction(3, 4)
    lines = [f"M = 4: {large.tel}; 3 tokens: {small.tel}, stated at most {allowed}"]
    holds = small.tel <= allowed
    for y in (1, 5):
        outputs = [1] * 6 * y + [3] * 2 * y + [1] * 2 * y + [3] * 2 * y + [1] * 4 * y
        tels = []
        for memory in (18 * y, 16 * y):
            instance = chen.within(memory, 1, 3, outputs, prompt=1)
            tels.append(chen.in_order(instance, range(16 * y), outputs))
        lines.append(
            f"M = {18 * y}: {tels[0]}; {16 * y} tokens: {tels[1]}, stated at most {9 * tels[0] / 8}"
        )
        holds &= 8 * tels[1] <= 9 * tels[0]
    return CheckResult(holds, tuple(lines), (small,))


def equations_ec_7_ec_10() -> CheckResult:
    """Run two requests in both orders, 16 in every order, and evaluate the limit as M grows."""
    alpha, means = Fraction(3, 4), []
    for memory in (8, 6):
        instance = chen.within(memory, 3, 4, (3, 4), prompt=1)
        means.append(
            Fraction(sum(chen.in_order(instance, each, (3, 4)) for each in ((0, 1), (1, 0))), 2)
        )
    # With 16 tokens all start at 0, whatever the order.
    large = chen.in_order(chen.within(16, 1, 4, [1] * 12 + [4] * 4), range(16), [1] * 12 + [4] * 4)
    small = chen.over_placements(4, 4, 12)
    limits = [chen.lockstep_quotient(prompt, upper) for prompt, upper in ((0, 4), (1, 6), (0, 100))]
    lines = (
        f"M = 8: {means[0]}; αM = 6: {means[1]}, stated at most {means[0] / alpha}",
        f"16 requests, M = 16: {large}; αM = 4: {small}, stated at most {4 * large}",
        "as M grows, over what is stated: " + ", ".join(map(str, limits)),
    )
    each = (means[1] <= means[0] / alpha, small <= 4 * large, min(limits) <= 1)
    return CheckResult(any(each), lines)


def theorem_ec_1() -> CheckResult:
    """Compare outputs inside the interval with all outputs at its ends."""
    lines, holds = [], True
    for name, prompt, memory, lower, upper, inside in (
        ("A_random", 0, 3, 1, 3, (2, 3)),
        ("A_max", 0, 4, 2, 4, (2, 3, 4)),
        ("A_random", 1, 4, 1, 3, (2, 3)),
        ("A_max", 1, 5, 1, 3, (1, 2, 3)),
    ):
        ratio = partial(
            chen.mean_ratio, memory, lower, upper, prompt=prompt, believes_upper=name == "A_max"
        )
        ends = max(map(ratio, combinations_with_replacement((lower, upper), len(inside))))
        holds &= ratio(inside) <= ends
        lines.append(
            f"{name}, s = {prompt}: outputs {inside} give {ratio(inside)}, ends at most {ends}"
        )
    return CheckResult(holds, tuple(lines))


def lemma_ec_1() -> CheckResult:
    """Run three requests of 2 tokens behind [2, 4], and of 6 behind [6, 9] with prompts."""
    lines, runs = [], []
    for prompt, memory, lower, upper in ((0, 10, 2, 4), (1, 24, 6, 9)):
        for tokens, length, name in (
            (memory, upper, "A_max"),
            (memory * lower // upper, lower, "A_random"),
        ):
            instance = chen.within(tokens, lower, upper, [lower] * 3, prompt)
            starts = largest_batches(instance, range(3), [length] * 3)
            runs.append(by_starts(instance, starts, name))
            lines.append(f"s = {prompt}: {name} with {tokens} tokens {runs[-1].tel}")
    return CheckResult(
        all(a.tel <= b.tel for a, b in zip(runs[::2], runs[1::2], strict=True)),
        lines=tuple(lines),
        drawn=tuple(runs[:1]),
    )
