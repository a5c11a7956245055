"""Summaries of papers: long prompts, outputs of a few hundred tokens, M = 16,492.

Source: wang2025 sec. 7, prompts of mean 2,546 and median 2,667, outputs of mean 296 and median
161.  Outputs are lognormal by mean and median as in ``chat``.  No lognormal has a mean below its
median, so prompts are normal with that mean and a deviation of 900 tokens, our choice so that
nearly all lie below 4,096.  Lengths are rounded and clipped to 1..4,096.
"""

from __future__ import annotations

from instances.families.build import Count, Memory, Seed, drawn, longest_fits, ranged
from instances.families.draws import Draws
from instances.families.fitted import LONGEST, SUMMARY_OUTPUT, summary_prompt
from instances.model import Instance


@ranged
def generate(seed: Seed = 0, n: Count = 1000, memory: Memory = 16_492) -> Instance:
    """Draw summarisation requests, all at round 0; parameters and errors as in ``chat``."""
    longest_fits(LONGEST, memory)
    draws = Draws(seed)
    rows = [(0, summary_prompt(draws), SUMMARY_OUTPUT.draw(draws)) for _ in range(n)]
    return drawn("summarize", "lengths fitted to wang2025 sec. 7", seed, memory, rows)
