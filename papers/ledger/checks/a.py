"""Checks of the statements of A (ao2025).

In unit rounds d0 = 1 and d1 = 0, and a request (s, o) of the problem has l = s + 1 and l' = o − 1.
"""

from collections.abc import Iterator
from fractions import Fraction
from itertools import product
from math import comb, exp, log, sqrt

import numpy as np

from papers.ledger.check_results import CheckResult, arriving, by_starts

#: Longest queue whose probability is counted.
_LONGEST = 800
#: Prompt, output, arrivals a round, threshold of each type.
_TYPES = ((1, 2, 0.9, 1), (3, 5, 1.8, 2), (0, 9, 2.7, 3))


def fluid_equations() -> CheckResult:
    """Compare S with its sum, and M* and the iteration time with the balance of flows."""
    holds = True
    for l, output in product(range(6), range(8)):
        volume = sum(l + s for s in range(output + 1))
        holds &= 2 * volume == (output + 1) * (2 * l + output)
        for d1, rate in product((Fraction(0), Fraction(1, 9)), (Fraction(1, 8), Fraction(1, 99))):
            if (load := rate * volume) * d1 < 1:
                time = 1 / (1 - d1 * load)
                holds &= time == 1 + d1 * rate * time * volume == 1 + d1 * load / (1 - d1 * load)
    return CheckResult(holds, ("48 types, two rates and two costs of a token",))


def algorithm_1() -> CheckResult:
    """Run Algorithm 1 without pauses on Poisson arrivals; the checker judges it with M = M^π."""
    rng, rows, starts = np.random.default_rng(0), [], []
    for prompt, output, rate, threshold in _TYPES:
        waiting: list[int] = []
        for now in range(2000):
            waiting += [now] * rng.poisson(rate)
            if len(waiting) >= threshold:
                rows += [(arrival, prompt, output) for arrival in waiting[:threshold]]
                starts += [now] * threshold
                del waiting[:threshold]
    memory = sum(n * (s * o + o * (o + 1) // 2) for s, o, _, n in _TYPES)
    drawn = by_starts(arriving(memory, rows), starts, "WAIT")
    lines = (f"{len(rows)} requests of {len(_TYPES)} types, M^π = {memory}: {drawn.verdict}",)
    return CheckResult(drawn.verdict.valid, lines)


def _mean_queue(law: list[float], n: int, rounds: int) -> Iterator[float]:
    """Yield E W of W' = W + X − n·1{W + X ≥ n} after each round; ``law`` is the law of X."""
    queue = np.array([1.0])
    for _ in range(rounds):
        after = np.convolve(queue, law)
        queue = np.pad(after[n:], (0, max(0, n - len(after[n:]))))
        queue[: len(after[:n])] += after[:n]
        queue = queue[:_LONGEST]
        if 1 - queue.sum() > 1e-6:
            raise ValueError("expected a shorter queue")
        yield float(queue @ np.arange(len(queue)))


def _poisson(mean: float) -> list[float]:
    law = [exp(-mean)]
    while len(law) < 9 or law[-1] > 1e-16:
        law.append(law[-1] * mean / len(law))
    return law


def entry_queue() -> CheckResult:
    """Compare the exact means of the entry queue with both bounds of the proof."""
    used, critical = 0.0, 0.0
    for n in (1, 2, 4, 8):
        for share in (0.5, 0.8, 0.9):
            mean = share * n
            bound = 2 * n + (mean + (mean - n) ** 2) / (2 * (n - mean))
            used = max(used, max(_mean_queue(_poisson(mean), n, 400)) / bound)
        root = 0.0
        for b, queue in enumerate(_mean_queue(_poisson(n), n, 400), 1):
            root += sqrt(n / b)
            critical = max(critical, queue / (n + root))
    lines = (f"at most {used:.3f} of the bound below n, {critical:.3f} of the one at n",)
    return CheckResult(max(used, critical) <= 1, lines)


def _segments() -> Iterator[tuple[int, int, float]]:
    """Yield n_{k−1}, n_k and p_k on a grid that meets the paper's conditions."""
    for before in range(2, 9):
        for n, p in product(range(1, before), (0.05, 0.2, 0.5, 0.8, 0.95)):
            if p < n / before:
                yield before, n, p


def boundary_queue() -> CheckResult:
    """Compare the exact means of a boundary queue, and the root θ, with their bounds."""
    used, holds, count = 0.0, True, 0
    for before, n, p in _segments():
        law = [comb(before, k) * p**k * (1 - p) ** (before - k) for k in range(before + 1)]
        drift = n - before * p
        bound = n + (before * p * (1 - p) + drift**2) / (2 * drift)
        used = max(used, max(_mean_queue(law, n, 200)) / bound)
        # The logarithm of the left side is convex and 0 at 0: it is negative below the root only.
        least = 8 * drift / before
        holds &= before * log(1 - p + p * exp(least)) - least * n <= 1e-12
        count += 1
    return CheckResult(holds and used <= 1, (f"{count} cases, at most {used:.3f} of the bound",))


def cascade() -> CheckResult:
    """Run the example with four arrivals in each iteration, by two readings of the eviction."""
    means = []
    for again in (False, True):
        decoding, waiting, completed = 6, 0, 3
        for iteration in range(99):
            evicted, waiting = 0, waiting + 4
            while decoding and (again or not iteration) and waiting + 2 * decoding > 12:
                decoding, evicted = decoding - 1, evicted + 1
            admitted = min(waiting, 12 - 2 * decoding)
            completed, decoding, waiting = completed + decoding, admitted, waiting - admitted
            waiting += evicted
        means.append(completed / 100)
    lines = (f"{means[0]} or {means[1]} completions an iteration in 100 iterations",)
    return CheckResult(any(3 <= mean <= 3.5 for mean in means), lines)
