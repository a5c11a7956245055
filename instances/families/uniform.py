"""Prompts and outputs uniform on 1..50, memory 100.

Source: wang2025 Appendix 11.2.  The paper writes U(1, 51) and bounds both lengths by 50; with the
upper end excluded, as numpy draws integers, that is 1..50, and s + o <= 100 = M always holds.
"""

from collections.abc import Callable

from instances.arrivals import Rate, Variation, add_arrivals
from instances.families.draws import Draws
from instances.families.shared import Count, Length, Memory, Seed, drawn, longest_fits, ranged
from instances.instance import Instance


@ranged
def generate(
    seed: Seed = 0,
    n: Count = 100,
    memory: Memory = 100,
    longest: Length = 50,
    rate: Rate = None,
    cv: Variation = 1.0,
    seconds: bool = False,
) -> Instance:
    """Draw an instance with uniform lengths up to ``longest`` (tokens), by default all at round 0.

    M is at least twice ``longest``; ``instances.arrivals.add_arrivals`` explains the other three.
    """

    def length(draws: Draws) -> int:
        return draws.integer(1, longest)

    return alike("uniform", length, seed, n, memory, longest, rate, cv, seconds)


def alike(
    family: str,
    length: Callable[[Draws], int],
    seed: int,
    n: int,
    memory: int,
    longest: int,
    rate: float | None,
    cv: float,
    seconds: bool,
) -> Instance:
    """Return the instance of a family of wang2025 whose prompts and outputs have one law."""
    longest_fits(longest, memory)
    draws = Draws(seed)
    rows = [(0, length(draws), length(draws)) for _ in range(n)]
    instance = drawn(family, "wang2025 Appendix 11.2", seed, memory, rows)
    return add_arrivals(instance, draws, rate, cv, seconds)
