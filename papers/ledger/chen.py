"""Laws, limits and ratios of C (chen2025), and a policy that restarts."""

from collections.abc import Sequence
from fractions import Fraction
from itertools import combinations, pairwise, permutations
from math import log, sqrt
from random import Random

import numpy as np
from numpy.typing import NDArray

from heuristics.reference.h_sf import largest_batches
from instances import Instance, Request
from instances.families.worst_mix import forms
from papers.ledger.check_results import CheckedSchedule, accepted, by_policy, by_starts
from schedules import make_schedule


def within(
    memory: int, lower: int, upper: int, outputs: Sequence[int], prompt: int = 0
) -> Instance:
    """Return requests with one predicted interval, all at 0."""
    requests = (Request(i, 0, prompt, o, lower, upper) for i, o in enumerate(outputs))
    return Instance("statement", memory, tuple(requests))


def proved(alpha: Fraction) -> float:
    """Return the proved ratio of A_max as M → ∞ (erratum E19)."""
    return (1 + sqrt(1 - log(alpha) / 2)) / float(alpha) + 1


def quotient(alpha: Fraction, over: Fraction) -> Fraction:
    """Return the quotient of the proof of Theorem 2, at a/b = ``over``."""
    return (over + alpha) * (over + 1) / (over**2 + 2 * over * alpha + 1) / alpha


def halved(upper: int, n: int) -> list[int]:
    """Return outputs 1..u of n requests; a share 1/(2k) has k or more, for k ≥ 2."""
    tail = [Fraction(1), *(Fraction(1, 2 * k) for k in range(2, upper + 1)), Fraction(0)]
    counts = [round(n * (here - there)) for here, there in pairwise(tail)]
    return [output for output, count in enumerate(counts, 1) for _ in range(count)]


def halved_limit(upper: int, prompt: int = 0) -> Fraction:
    """Return the limit of A_min's ratio to H-SF on the halved law (errata E16, E20).

    With prompts the share of outputs of k or more is (s + 1)/(2(s + k)).
    """
    s = prompt
    terms = sum(
        Fraction((s + 2 * k - 1) * (s + 1) ** 2, 4 * (s + k) ** 2) for k in range(2, upper + 1)
    )
    return Fraction((s + 1) * (upper + 1), 2) / (s + 1 + terms)


def restarts_keep(prompt: int) -> Fraction:
    """Return the ratio that restarts at doubled caps keep (erratum E20).

    Under cap c a request holds at most s + c ≤ (s + 1)c tokens.
    """
    return 4 * Fraction(19, 3) * (prompt + 1) + 4


def restarts(instance: Instance, seed: int = 0) -> CheckedSchedule:
    """Return the schedule of restarts at caps 1, 2, 4, .., given M and u; s = 0."""
    outputs, memory = [request.output for request in instance.requests], instance.memory
    upper = max(request.output_upper or request.output for request in instance.requests)
    left = list(range(len(outputs)))
    Random(seed).shuffle(left)
    starts = [0] * len(outputs)
    attempts: list[list[tuple[int, int]]] = [[] for _ in outputs]
    now, cap = 0, 1
    while left:
        again = []
        for first in range(0, len(left), memory // cap):
            batch = left[first : first + memory // cap]
            for i in batch:
                if outputs[i] <= cap:
                    starts[i] = now
                else:
                    attempts[i].append((now, cap))
                    again.append(i)
            now += min(cap, max(outputs[i] for i in batch))
        left, cap = again, min(2 * cap, upper)
    return accepted(
        instance, make_schedule(instance, starts, "restarts at doubled caps", attempts=attempts)
    )


#: The share of outputs u = 20 among outputs 1 in E16, per 2,000.
RARE = Fraction(9, 2000)


def rare_limit(upper: int, share: Fraction) -> Fraction:
    """Return the limit of A_min's ratio for a share of outputs u, else 1 (erratum E16)."""
    room = share * (Fraction(upper * (upper + 1), 2) - 1)
    if not 0 <= room < 1:
        raise ValueError(f"expected room below 1, found {room}")
    return (1 + room) / (1 + share**2 * (upper**2 - 1))


def in_order(instance: Instance, order: Sequence[int], believed: Sequence[int]) -> int:
    """Return the TEL of longest prefixes that fit as believed; the checker accepts it."""
    return by_starts(instance, largest_batches(instance, order, believed), "in order").tel


def over_placements(memory: int, upper: int, ones: int) -> Fraction:
    """Return the mean TEL over all orders of four outputs u among outputs 1; s = 0."""
    n = ones + 4
    tels = []
    for long in combinations(range(n), 4):
        outputs = [upper if i in long else 1 for i in range(n)]
        tels.append(in_order(within(memory, 1, upper, outputs), range(n), outputs))
    return Fraction(sum(tels), len(tels))


def lockstep_quotient(prompt: int, upper: int) -> Fraction:
    """Return the limit of A_random's TEL with M/u tokens over u times its TEL with M (E24).

    The share (s + 1)/(s + u) of the outputs is u, the others are 1, and n = M/(s + 1).
    """
    mean = 1 + Fraction(prompt + 1, prompt + upper) * (upper - 1)
    return Fraction(1, upper) + (upper - 1) / (2 * mean)


def mean_ratio(
    memory: int,
    lower: int,
    upper: int,
    outputs: Sequence[int],
    *,
    prompt: int = 0,
    believes_upper: bool,
) -> Fraction:
    """Return the mean TEL of A_max or A_random over all orders, over H-SF's."""
    instance = within(memory, lower, upper, outputs, prompt)
    believed = [upper] * len(outputs) if believes_upper else list(outputs)
    orders = list(permutations(range(len(outputs))))
    total = sum(in_order(instance, order, believed) for order in orders)
    return Fraction(total, len(orders) * by_policy("h-sf", instance).tel)


def stated_ratio(shares: NDArray[np.float64]) -> float:
    """Return x'Ax / x'Bx (Corollary 1) of the shares of 1, 2, ..; Lemma 2 for s = 0, ℓ = 1."""
    above, below = forms(len(shares))
    return float((shares @ above @ shares) / (shares @ below @ shares))


def hindsight(shares: NDArray[np.float64]) -> float:
    """Return x'Bx; n²/(2M)·x'Bx is the limit of H-SF's TEL (rounds)."""
    return float(shares @ forms(len(shares))[1] @ shares)


def geometric(p: float, upper: int, *, weighted: bool = False) -> NDArray[np.float64]:
    """Return the shares of 1..u in G(p), or in LG(p), given o <= u."""
    k = np.arange(1, upper + 1, dtype=float)
    weights = (1 - p) ** (k - 1) * (k if weighted else 1)
    shares: NDArray[np.float64] = weights / weights.sum()
    return shares
