"""Outputs of only two lengths, which no prediction distinguishes.

Source: chen2025 section 5.1: o is ℓ or u, and every request carries the prediction [ℓ, u].  The
paper leaves the sizes open; its proofs take s = 0, our default.
"""

from instances.arrivals import Rate, Variation, add_arrivals
from instances.families.draws import Draws
from instances.families.shared import (
    Count,
    Length,
    Memory,
    Prompt,
    Seed,
    Share,
    at_least,
    drawn,
    ranged,
)
from instances.instance import Instance


@ranged
def generate(
    seed: Seed = 0,
    n: Count = 200,
    memory: Memory = 1000,
    lower: Length = 10,
    upper: Length = 50,
    long_share: Share = 0.5,
    prompt: Prompt = 0,
    rate: Rate = None,
    cv: Variation = 1.0,
    seconds: bool = False,
) -> Instance:
    """Draw outputs ℓ = ``lower`` or u = ``upper``, u with probability ``long_share``."""
    at_least(lower, upper=upper)
    at_least(prompt + upper, memory=memory)
    draws = Draws(seed)
    rows = [(0, prompt, upper if draws.happens(long_share) else lower) for _ in range(n)]
    instance = drawn(
        "two-point", "chen2025 section 5.1", seed, memory, rows, prediction=(lower, upper)
    )
    return add_arrivals(instance, draws, rate, cv, seconds)
