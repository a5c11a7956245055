"""Random order with true outputs, largest feasible prefix (C Alg. 4, A_random).

The policy is clairvoyant in the look-ahead only; chen2025 uses it in the analysis of A_max.

chen2025 adds requests in the order of the permutation until no further addition is possible.  Here
that is the prefix, not first fit: the text processes them in this order, and the proof compares two
schedules with the same order of starts (Definition EC.1), which passing over a misfit would break.

Each request draws one number (smallest first), so later requests change no earlier draw.
"""

from fractions import Fraction

from heuristics.guarantee import AT_ZERO, EQUAL_PROMPTS, Guarantee
from heuristics.policy import Keys, Known, ListPolicy
from instances import Instance


def rank(known: Known) -> Keys:
    """Return a random order."""
    return (known.rng.random(len(known)),)


def ratio(instance: Instance) -> Fraction:
    """Return (1 + 1/α)/2; all outputs lie between the shortest and the longest."""
    outputs = [request.output for request in instance.requests]
    return (1 + Fraction(max(outputs), min(outputs))) / 2


POLICY = ListPolicy(
    "a-random",
    randomised=True,
    guarantees=(
        Guarantee(
            "(1 + 1/α)/2 + O(1/M)",
            "h-sf",
            (AT_ZERO, EQUAL_PROMPTS),
            "C Theorem EC.1, whose proof fails: errata E25",
            symbols="α = (shortest output)/(longest output)",
            limit="as n → ∞",
            ratio=ratio,
        ),
    ),
    rank=rank,
)
