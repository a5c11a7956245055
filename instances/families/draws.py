"""Random draws that give the same numbers with every version of numpy.

numpy may change how its ``Generator`` methods turn random bits into draws; only the raw 64-bit
words of a bit generator such as PCG64, and the way it is seeded, are promised to stay.  So each
draw here is made of those words: the top 53 bits give a double in [0, 1), exactly as
``Generator(PCG64(seed)).random()`` does today, and the distributions follow by transforms of our
own.  ``log1p``, ``exp``, ``cos`` and ``sqrt`` may differ in their last bit from one platform to
the next, and the inverse of the gamma distribution from one version of scipy to the next.
Families round such draws to integers, so that this would show only where a draw falls within about
1e-15 of a rounding boundary; draws without these functions are exact.
"""

import math
from bisect import bisect_right
from collections.abc import Sequence
from itertools import accumulate
from typing import TypeVar

from numpy.random import PCG64

Item = TypeVar("Item")


class Draws:
    """A stream of draws from one seed, or raise ValueError if the seed is negative."""

    def __init__(self, seed: int) -> None:
        if seed < 0:
            raise ValueError(f"seed: expected at least 0, found {seed}")
        self._bits = PCG64(seed)

    def unit(self) -> float:
        """Return a double from [0, 1), a multiple of 2**-53."""
        return (int(self._bits.random_raw()) >> 11) * 2.0**-53

    def integer(self, low: int, high: int) -> int:
        """Return an integer from low..high, both included."""
        # The product never rounds up to its second factor: (1 - 2**-53) * k is rounded below k.
        return low + int(self.unit() * (high - low + 1))

    def between(self, low: float, high: float) -> float:
        """Return a double from [low, high)."""
        return low + self.unit() * (high - low)

    def happens(self, probability: float) -> bool:
        """Return True with the given probability."""
        return self.unit() < probability

    def exponential(self, mean: float) -> float:
        """Return an exponential draw by inversion."""
        return -mean * math.log1p(-self.unit())

    def gamma(self, shape: float, scale: float) -> float:
        """Return a gamma draw by inversion: mean shape · scale, variance shape · scale²."""
        from scipy.special import gammaincinv  # no other draw needs it

        return float(gammaincinv(shape, self.unit())) * scale

    def normal(self, mean: float, deviation: float) -> float:
        """Return a normal draw by the Box-Muller transform (its cosine half)."""
        radius = math.sqrt(-2.0 * math.log1p(-self.unit()))
        return mean + deviation * radius * math.cos(2.0 * math.pi * self.unit())

    def lognormal(self, mean: float, deviation: float) -> float:
        """Return exp of a normal draw with the given mean and deviation."""
        return math.exp(self.normal(mean, deviation))

    def binomial(self, trials: int, probability: float) -> int:
        """Return the number of successes in independent trials."""
        return sum(self.happens(probability) for _ in range(trials))

    def shuffled(self, items: Sequence[Item]) -> list[Item]:
        """Return the items in random order (Fisher and Yates)."""
        result = list(items)
        for last in range(len(result) - 1, 0, -1):
            other = self.integer(0, last)
            result[last], result[other] = result[other], result[last]
        return result


class Weighted:
    """Positions 0..k-1 drawn with probabilities in proportion to k weights."""

    def __init__(self, weights: Sequence[float]) -> None:
        self._cumulative = list(accumulate(weights))

    def draw(self, draws: Draws) -> int:
        """Return one position."""
        # Below the sum of the weights, so that a position follows whose sum is above it.
        return bisect_right(self._cumulative, draws.unit() * self._cumulative[-1])


def rounded_and_clipped(value: float, low: int, high: int) -> int:
    """Return the value moved into [low, high] and rounded to an integer (ties to even)."""
    return round(min(max(value, low), high))
