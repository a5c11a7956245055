"""Prompts and outputs exponential with mean 5 within 1..50, memory 100.

Source: wang2025 Appendix 11.2: rate 0.2, clipped to [1, 50].  The paper leaves open how lengths
become integers; we round to the nearest and then clip.
"""

from __future__ import annotations

from instances.arrivals import Rate, Variation, arriving
from instances.families.build import (
    Count,
    Length,
    Memory,
    Seed,
    Spread,
    drawn,
    longest_fits,
    ranged,
)
from instances.families.draws import Draws, rounded_and_clipped
from instances.model import Instance


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
    """Draw an instance with exponential lengths, by default all at round 0.

    Parameters
    ----------
    seed, n, memory, longest : int
        As in ``uniform``, with the same errors.
    mean : float
        Of prompts and of outputs before rounding and clipping (tokens), above 0.
    rate, cv, seconds
        When they arrive; see :func:`instances.arrivals.arriving`.

    Raises
    ------
    ValueError
        If a parameter is out of range.
    """
    longest_fits(longest, memory)
    draws = Draws(seed)

    def length() -> int:
        return rounded_and_clipped(draws.exponential(mean), 1, longest)

    rows = [(0, length(), length()) for _ in range(n)]
    instance = drawn("exponential", "wang2025 Appendix 11.2", seed, memory, rows)
    return arriving(instance, draws, rate, cv, seconds)
