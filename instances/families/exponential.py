"""Prompts and outputs exponential with mean 5 within 1..50, memory 100.

Source: wang2025 Appendix 11.2: rate 0.2, clipped to [1, 50].  The paper leaves open how lengths
become integers; we round to the nearest and then clip.
"""

from instances.arrivals import Rate, Variation
from instances.families.draws import Draws, rounded_and_clipped
from instances.families.shared import Count, Length, Memory, Seed, Spread, ranged
from instances.families.uniform import alike
from instances.instance import Instance


@ranged
def generate(
    seed: Seed = 0,
    n: Count = 100,
    memory: Memory = 100,
    longest: Length = 50,
    mean: Spread = 5.0,
    rate: Rate = None,
    cv: Variation = 1.0,
    seconds: bool = False,
) -> Instance:
    """Draw exponential lengths of a ``mean`` before rounding and clipping; else as ``uniform``."""

    def length(draws: Draws) -> int:
        return rounded_and_clipped(draws.exponential(mean), 1, longest)

    return alike("exponential", length, seed, n, memory, longest, rate, cv, seconds)
