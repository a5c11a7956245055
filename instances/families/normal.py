"""Prompts and outputs normal (25, 8.33) within 1..50, memory 100.

Source: wang2025 Appendix 11.2: mean 25, standard deviation 8.33, clipped to [1, 50].  The paper
leaves open how lengths become integers; we round to the nearest and then clip.
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
    mean: Spread = 25.0,
    deviation: Spread = 8.33,
    rate: Rate = None,
    cv: Variation = 1.0,
    seconds: bool = False,
) -> Instance:
    """Draw normal lengths, moments before rounding and clipping; else as ``uniform``."""

    def length(draws: Draws) -> int:
        return rounded_and_clipped(draws.normal(mean, deviation), 1, longest)

    return alike("normal", length, seed, n, memory, longest, rate, cv, seconds)
