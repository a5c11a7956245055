"""Prices on states of running requests in a certificate: what a state pays, and a pattern.

The evaluations of certificates rest on it, and share no code with the search for prices.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pydantic import ConfigDict
from pydantic.dataclasses import dataclass

from formulations.certificates.budget import Counts

_CONFIG = ConfigDict(extra="forbid")

#: Entries of the table of patterns that are filled at a time.
ENTRIES = 1 << 23


@dataclass(frozen=True, config=_CONFIG)
class PricedStates:
    """Prices on states of running requests: a ``formulations.valid.states.PriceTable``.

    ``table`` lists the numerators by knot, then by tokens held, then by rounds left.
    """

    knots: Counts
    tokens: Counts
    left: Counts
    table: Counts


def interpolated(
    table: NDArray[Any], states: PricedStates, held: int, rounds: int
) -> NDArray[np.int64]:
    """Return the price of a state at every knot, rounded down."""
    a = min(bisect_right(states.tokens, held), len(states.tokens) - 1)
    c = min(bisect_right(states.left, rounds), len(states.left) - 1)
    w0, w1 = states.tokens[a] - held, held - states.tokens[a - 1]
    r0, r1 = states.left[c] - rounds, rounds - states.left[c - 1]
    sums = w0 * (r0 * table[:, a - 1, c - 1] + r1 * table[:, a - 1, c])
    sums += w1 * (r0 * table[:, a, c - 1] + r1 * table[:, a, c])
    return np.array(sums // ((w0 + w1) * (r0 + r1)), dtype=np.int64)


def worths(
    order: Sequence[tuple[int, int]],
    priced: dict[tuple[int, int], NDArray[np.int64]],
    memory: int,
    times: int,
) -> list[int]:
    """Return the most that requests which can run together pay at each of some times.

    Every request is added to longer ones, so at its completion all of them hold memory.
    """
    most = memory // min(held for held, _ in order)
    # Far below 0 stands for what cannot be.
    never = -(most + 1) * (max(int(prices.max()) for prices in priced.values()) + 1)
    at_once = max(1, ENTRIES // ((most + 1) * (memory + 1)))
    found: list[int] = []
    for first in range(0, times, at_once):
        part = slice(first, min(first + at_once, times))
        shape = (most + 1, memory + 1, part.stop - first)
        best = np.full(shape, never, dtype=np.int64)
        best[0, 0] = 0
        for held, rounds in order:
            prices = priced[held, rounds][part]
            for count in range(most):
                room = memory - held - (count + 1) * rounds
                if room < 0:
                    break
                longer = best[count, : room + 1] + prices
                best[count + 1, held : held + room + 1] = np.maximum(
                    best[count + 1, held : held + room + 1], longer
                )
        found += [int(worth) for worth in best.max(axis=(0, 1))]
    return found
