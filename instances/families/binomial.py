"""Prompts and outputs 1 + Binomial(49, 1/2), memory 100.

Source: wang2025 Appendix 11.2.
"""

from __future__ import annotations

from instances.families.build import at_least, longest_fits, numbered, share
from instances.families.draws import Draws
from instances.model import Instance


def generate(
    seed: int = 0, n: int = 100, memory: int = 100, longest: int = 50, probability: float = 0.5
) -> Instance:
    """Draw an instance with lengths 1 + Binomial(longest - 1, p), all requests at round 0.

    Parameters
    ----------
    seed : int
        Seed of all draws, 0 or more.
    n : int
        Number of requests.
    memory : int
        M, tokens, at least twice ``longest``.
    longest : int
        Longest prompt and longest output (tokens).
    probability : float
        p, of each of the longest - 1 trials.

    Raises
    ------
    ValueError
        If a parameter is out of range.
    """
    at_least(1, n=n, longest=longest)
    longest_fits(longest, memory)
    share(probability=probability)
    draws = Draws(seed)

    def length() -> int:
        return 1 + draws.binomial(longest - 1, probability)

    return Instance(
        name=f"binomial_n{n}_seed{seed}",
        family="binomial",
        source="wang2025 Appendix 11.2",
        seed=seed,
        memory=memory,
        requests=numbered((0, length(), length()) for _ in range(n)),
    )
