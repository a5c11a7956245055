"""Random order, every output taken at its predicted upper end (C Alg. 1, A_max).

The policy is not clairvoyant: the look-ahead believes upper ends, so nothing is cancelled.

chen2025 draws, in every round, as many requests as fit.  Equal prompts and one interval make them
alike, so all draws are one random order, and each round takes its longest feasible prefix;
that prefix is defined for other requests too.  ``order=upper`` is the other reading, in which the
largest set counts more than the draw: smaller upper ends first, ties at random.  With equal prompts
it starts as many as the upper ends allow (proof in ``h-sf``); with one interval it is the same.

Each request draws one number (smallest first), so later requests change no earlier draw.

chen2025 Theorem 1 states a ratio of (1/α)(1 + 1/α)/2 in the limit, by lemmas that fail; the mean
over the orders keeps a smaller one for α ≤ 2/9 (errata E19).
"""

from fractions import Fraction
from math import ceil, log, sqrt

from heuristics.guarantee import (
    AT_ZERO,
    EQUAL_PROMPTS,
    ONE_INTERVAL,
    Guarantee,
    prediction_interval,
)
from heuristics.policy import Choice, Keys, Known, ListPolicy
from instances import Instance

ORDER = Choice("order", ("random", "upper"), "all at random, or smaller upper ends first")


def rank(known: Known) -> Keys:
    """Return a random order, or one by upper ends whose ties are random."""
    numbers = known.rng.random(len(known))
    return (known.upper, numbers) if known.values["order"] == "upper" else (numbers,)


def ratio(instance: Instance) -> Fraction:
    """Return M/(m(s + u))·(1/α)(1 + √(1 + ln(1/α)/2)) + 1, rounded up; proof: errata E19."""
    prompt, (lower, upper) = instance.requests[0].prompt, prediction_interval(instance)
    believed = min(upper, instance.memory - prompt)
    stretch = believed / lower
    growth = Fraction(ceil(10**6 * stretch * (1 + sqrt(1 + log(stretch) / 2))), 10**6)
    at_once = instance.memory // (prompt + believed)
    return Fraction(instance.memory, at_once * (prompt + believed)) * growth + 1


POLICY = ListPolicy(
    "a-max",
    clairvoyant=False,
    randomised=True,
    parameters=(ORDER,),
    guarantees=(
        Guarantee(
            "M/(m(s + u))·(1/α)(1 + √(1 + ln(1/α)/2)) + 1",
            "OPT",
            (AT_ZERO, EQUAL_PROMPTS, ONE_INTERVAL),
            "errata E19",
            symbols="α = ℓ/u, m = floor(M/(s + u))",
            ratio=ratio,
        ),
    ),
    rank=rank,
)
