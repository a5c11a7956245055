"""Mostly short prompts and a fifth of long ones, outputs exponential, memory 100, n = 200.

Source: wang2025 Appendix 11.2: a prompt is exponential with mean 10 (80 %) or lognormal with
μ = ln 40, σ = 0.25 (20 %), and one above 50 is replaced by a uniform draw from 40 to 50; an output
is exponential with mean 5, clipped to [1, 50].  Read here as: each request belongs to the 20 %
independently with probability 0.2; the replacement is an integer from 40..50, both included;
other lengths are rounded to the nearest integer, then clipped.
"""

import math

from instances.arrivals import Rate, Variation, add_arrivals
from instances.families.draws import Draws, rounded_and_clipped
from instances.families.shared import Count, Memory, Seed, Share, drawn, longest_fits, ranged
from instances.instance import Instance

_LONGEST = 50


@ranged
def generate(
    seed: Seed = 0,
    n: Count = 200,
    memory: Memory = 100,
    long_share: Share = 0.2,
    rate: Rate = None,
    cv: Variation = 1.0,
    seconds: bool = False,
) -> Instance:
    """Draw the mixed workload; ``long_share`` of the prompts is lognormal; else as ``uniform``."""
    longest_fits(_LONGEST, memory)
    draws = Draws(seed)

    def prompt() -> int:
        if draws.happens(long_share):
            length = draws.lognormal(math.log(40), 0.25)
        else:
            length = draws.exponential(10.0)
        if length > _LONGEST:
            return draws.integer(40, _LONGEST)
        return rounded_and_clipped(length, 1, _LONGEST)

    def output() -> int:
        return rounded_and_clipped(draws.exponential(5.0), 1, _LONGEST)

    rows = [(0, prompt(), output()) for _ in range(n)]
    instance = drawn("mixed", "wang2025 Appendix 11.2", seed, memory, rows)
    return add_arrivals(instance, draws, rate, cv, seconds)
