"""Four fifths chat and one fifth summaries in random order, M = 16,492.

Source: wang2025 sec. 7, which shuffles 1,600 chat requests and 400 summaries; lengths as in the
families ``chat`` and ``summarize``.  Exactly round(n / 5) requests are summaries.
"""

from __future__ import annotations

from instances.families.build import Count, Memory, Seed, drawn, longest_fits, ranged
from instances.families.draws import Draws
from instances.families.fitted import (
    CHAT_OUTPUT,
    CHAT_PROMPT,
    LONGEST,
    SUMMARY_OUTPUT,
    summary_prompt,
)
from instances.model import Instance


@ranged
def generate(seed: Seed = 0, n: Count = 1000, memory: Memory = 16_492) -> Instance:
    """Draw the mixed workload, all requests at round 0; parameters and errors as in ``chat``."""
    longest_fits(LONGEST, memory)
    draws = Draws(seed)
    summaries = round(n / 5)
    rows = [(0, summary_prompt(draws), SUMMARY_OUTPUT.draw(draws)) for _ in range(summaries)]
    rows += [(0, CHAT_PROMPT.draw(draws), CHAT_OUTPUT.draw(draws)) for _ in range(n - summaries)]
    return drawn("mix80-20", "wang2025 sec. 7, lengths fitted", seed, memory, draws.shuffled(rows))
