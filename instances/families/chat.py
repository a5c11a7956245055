"""Chat: short prompts and outputs with long tails, lognormal, M = 16,492.

Source: jaillet2025_v2 sec. 5.2, which serves a public chat data set with prompts of mean 40.62 and
median 11 and outputs of mean 85.32 and median 45 under 16,492 tokens.  A lognormal length has
median exp(μ) and mean exp(μ + σ²/2), so both numbers fix it: σ² = 2·ln(mean / median).  Lengths
are rounded and clipped to 1..4,096, which takes about 1 % off the means.
"""

from __future__ import annotations

from instances.families.build import Count, Memory, Seed, drawn, longest_fits, ranged
from instances.families.draws import Draws
from instances.families.fitted import CHAT_OUTPUT, CHAT_PROMPT, LONGEST
from instances.model import Instance


@ranged
def generate(seed: Seed = 0, n: Count = 1000, memory: Memory = 16_492) -> Instance:
    """Draw chat requests, all at round 0.

    Parameters
    ----------
    seed : int
        Seed of all draws, 0 or more.
    n : int
        Number of requests.
    memory : int
        M, tokens, at least 8,192: prompts and outputs reach 4,096 each.

    Raises
    ------
    ValueError
        If a parameter is out of range.
    """
    longest_fits(LONGEST, memory)
    draws = Draws(seed)
    rows = [(0, CHAT_PROMPT.draw(draws), CHAT_OUTPUT.draw(draws)) for _ in range(n)]
    return drawn("chat", "lengths fitted to jaillet2025_v2 sec. 5.2", seed, memory, rows)
