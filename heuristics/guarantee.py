"""Guarantee of a policy: a proved ratio, its benchmark and its assumptions."""

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from instances import Instance


@dataclass(frozen=True)
class TheoremAssumption:
    """Assumption of a theorem about an instance, in words and as a test."""

    words: str
    holds: Callable[[Instance], bool]


@dataclass(frozen=True)
class Guarantee:
    """TEL (of a policy that draws: its mean) is at most a ratio times the TEL of a benchmark."""

    bound: str
    """The ratio as the source writes it, terms that vanish included."""
    against: Literal["OPT", "h-sf"]
    """``OPT``, or the policy whose TEL the source compares with, which is not OPT."""
    assumptions: tuple[TheoremAssumption, ...]
    """Conditions of the source on the instance; where one fails, nothing is said."""
    source: str
    """Paper and theorem."""
    symbols: str = ""
    """Meaning of the letters of ``bound``."""
    limit: str = ""
    """The sequence of instances for which it is proved, where it is none of a single one: then one
    instance neither shows nor refutes it."""
    ratio: Callable[[Instance], Fraction] | None = None
    """The ratio for an instance that meets the assumptions, without what vanishes in the limit;
    None where the source has no constant."""

    def applies(self, instance: Instance) -> bool:
        """Return whether an instance meets every assumption that one instance can meet."""
        return all(assumption.holds(instance) for assumption in self.assumptions)

    def __str__(self) -> str:
        """Return one line: ratio, assumptions, source."""
        conditions = ", ".join(assumption.words for assumption in self.assumptions)
        benchmark = "OPT" if self.against == "OPT" else f"TEL({self.against})"
        symbols = f", {self.symbols}" if self.symbols else ""
        limit = f"; {self.limit}" if self.limit else ""
        return f"TEL/{benchmark} ≤ {self.bound}{symbols}, if {conditions}{limit} ({self.source})"


def constant_ratio(value: int) -> Callable[[Instance], Fraction]:
    """Return a ratio that is the same for every instance."""
    return lambda _instance: Fraction(value)


def prediction_interval(instance: Instance) -> tuple[int, int]:
    """Return the least lower and the largest upper end of all predictions (tokens)."""
    ends = _intervals(instance)
    return min(lower for lower, _ in ends), max(upper for _, upper in ends)


def uncertainty(instance: Instance) -> Fraction:
    """Return α = ℓ/u of the interval that holds all predictions (C sec. 2)."""
    return Fraction(*prediction_interval(instance))


def largest_share(instance: Instance) -> Fraction:
    """Return the largest peak s + o as a share of M."""
    return Fraction(max(request.peak for request in instance.requests), instance.memory)


def volume_first_ratio(instance: Instance) -> Fraction:
    """Return 1 + 2/(1 − α), α the largest share: smallest volume first keeps it (K Theorem 3.2)."""
    return 1 + 2 / (1 - largest_share(instance))


def _intervals(instance: Instance) -> set[tuple[int, int]]:
    return {
        (each.output_lower or each.output, each.output_upper or each.output)
        for each in instance.requests
    }


AT_ZERO = TheoremAssumption("all arrive at 0", lambda each: not any(each.arrivals))
EQUAL_PROMPTS = TheoremAssumption("all prompts are equal", lambda each: len({*each.prompts}) == 1)
NO_PROMPTS = TheoremAssumption("all prompts are empty (s = 0)", lambda each: not any(each.prompts))
EQUAL_OUTPUTS = TheoremAssumption("all outputs are equal", lambda each: len({*each.outputs}) == 1)
TWICE_THE_PEAK = TheoremAssumption(
    "M is at least twice the largest peak", lambda each: largest_share(each) * 2 <= 1
)
BELOW_MEMORY = TheoremAssumption("every peak is below M", lambda each: largest_share(each) < 1)
ONE_INTERVAL = TheoremAssumption(
    "all have one prediction [ℓ, u]", lambda each: len(_intervals(each)) == 1
)
TWO_OUTPUTS = TheoremAssumption(
    "every output is ℓ or u", lambda each: set(each.outputs) <= set(prediction_interval(each))
)
