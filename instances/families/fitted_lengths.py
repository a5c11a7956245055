"""Length distributions fitted to the moments that the papers publish, and requests made of them."""

import math
from collections.abc import Callable
from dataclasses import dataclass

from instances.arrivals import Rate, Variation, add_arrivals
from instances.families.draws import Draws, rounded_and_clipped
from instances.families.shared import Count, Memory, Seed, at_least, drawn, ranged
from instances.instance import Instance

#: Longest prompt and longest output of the laws that have no published range, tokens.
LONGEST = 4096

#: Arrival, prompt and output.
Row = tuple[int, int, int]


@dataclass(frozen=True)
class Gamma:
    """A gamma length by its shape and scale (tokens), rounded and clipped to 1..longest."""

    shape: float
    scale: float
    longest: int

    def draw(self, draws: Draws) -> int:
        """Return a length from 1..longest."""
        return rounded_and_clipped(draws.gamma(self.shape, self.scale), 1, self.longest)


@dataclass(frozen=True)
class Lognormal:
    """A lognormal length given by its mean and median (tokens)."""

    mean: float
    median: float

    def draw(self, draws: Draws) -> int:
        """Return a length from 1..LONGEST."""
        deviation = math.sqrt(2 * math.log(self.mean / self.median))
        return rounded_and_clipped(draws.lognormal(math.log(self.median), deviation), 1, LONGEST)


@dataclass(frozen=True)
class Normal:
    """A normal length given by its mean and deviation (tokens)."""

    mean: float
    deviation: float

    def draw(self, draws: Draws) -> int:
        """Return a length from 1..LONGEST."""
        return rounded_and_clipped(draws.normal(self.mean, self.deviation), 1, LONGEST)


#: A law of lengths (tokens), and the laws of prompt and output.
Length = Gamma | Lognormal | Normal
Lengths = tuple[Length, Length]

CHAT_PROMPT, CHAT_OUTPUT = Gamma(0.339, 121, 468), Gamma(0.745, 114, 883)
CHAT: Lengths = (CHAT_PROMPT, CHAT_OUTPUT)
LOGNORMAL_PROMPT, LOGNORMAL_OUTPUT = Lognormal(40.62, 11.0), Lognormal(85.32, 45.0)
CHAT_LOGNORMAL: Lengths = (LOGNORMAL_PROMPT, LOGNORMAL_OUTPUT)
SUMMARY_PROMPT, SUMMARY_OUTPUT = Normal(2546.39, 900.0), Lognormal(296.08, 161.0)
SUMMARY: Lengths = (SUMMARY_PROMPT, SUMMARY_OUTPUT)


def rows_at_0(draws: Draws, n: int, lengths: Lengths) -> list[Row]:
    """Return n requests at round 0; a prompt is drawn before its output."""
    prompt, output = lengths
    return [(0, prompt.draw(draws), output.draw(draws)) for _ in range(n)]


def mixed_rows(draws: Draws, n: int, chat: Lengths) -> list[Row]:
    """Return round(n / 5) summaries and chat otherwise, all at round 0, in random order."""
    summaries = round(n / 5)
    rows = rows_at_0(draws, summaries, SUMMARY) + rows_at_0(draws, n - summaries, chat)
    return draws.shuffled(rows)


def service(
    family: str, source: str, rows: Callable[[Draws, int], list[Row]], longest: int
) -> Callable[..., Instance]:
    """Return a family's generator: ``rows`` draws n requests, of ``longest`` tokens at most."""

    @ranged
    def generate(
        seed: Seed = 0,
        n: Count = 1000,
        memory: Memory = 16_492,
        rate: Rate = None,
        cv: Variation = 1.0,
        seconds: bool = False,
    ) -> Instance:
        """Draw an instance of the family, by default all at round 0; else as ``uniform``."""
        at_least(longest, memory=memory)
        draws = Draws(seed)
        instance = drawn(family, source, seed, memory, rows(draws, n))
        return add_arrivals(instance, draws, rate, cv, seconds)

    return generate
