"""Prompts and outputs 1 + Binomial(49, 1/2), memory 100.

Source: wang2025 Appendix 11.2.
"""

from typing import Annotated

from instances.arrivals import Rate, Variation
from instances.families.draws import Draws
from instances.families.shared import Count, Memory, Seed, Share, Within, ranged
from instances.families.uniform import alike
from instances.instance import Instance

#: Most trials that are drawn one by one for prompts, and as many for outputs: half a minute.
_MOST_TRIALS = 2 * 10**7


@ranged
def generate(
    seed: Seed = 0,
    n: Count = 100,
    memory: Memory = 100,
    longest: Annotated[int, Within(1, 10_000)] = 50,
    probability: Share = 0.5,
    rate: Rate = None,
    cv: Variation = 1.0,
    seconds: bool = False,
) -> Instance:
    """Draw lengths 1 + Binomial(longest - 1, p); all arrive at 0 by default (``uniform``)."""
    if n * longest > _MOST_TRIALS:
        raise ValueError(f"expected at most {_MOST_TRIALS} for n * longest, found {n * longest}")

    def length(draws: Draws) -> int:
        return 1 + draws.binomial(longest - 1, probability)

    return alike("binomial", length, seed, n, memory, longest, rate, cv, seconds)
