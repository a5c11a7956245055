"""Length distributions fitted to the means and medians that the papers publish."""

from __future__ import annotations

import math
from dataclasses import dataclass

from instances.families.draws import Draws, rounded_and_clipped

#: Longest prompt and longest output, tokens.
LONGEST = 4096


@dataclass(frozen=True)
class Lognormal:
    """A lognormal length given by its mean and median (tokens)."""

    mean: float
    median: float

    def draw(self, draws: Draws) -> int:
        """Return a length from 1..LONGEST."""
        deviation = math.sqrt(2 * math.log(self.mean / self.median))
        return rounded_and_clipped(draws.lognormal(math.log(self.median), deviation), 1, LONGEST)


CHAT_PROMPT = Lognormal(40.62, 11.0)
CHAT_OUTPUT = Lognormal(85.32, 45.0)
SUMMARY_OUTPUT = Lognormal(296.08, 161.0)


def summary_prompt(draws: Draws) -> int:
    """Return the prompt of a summary (tokens), normal and clipped to 1..LONGEST."""
    return rounded_and_clipped(draws.normal(2546.39, 900.0), 1, LONGEST)
