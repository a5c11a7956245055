"""Evaluation of look-ahead rows in a certificate, from the definition of their payments.

Proof: docs/proofs/look_ahead_rows.md (P14).
Summed twice by parts, what a run pays is Σ_j Δ²pay(j)·B(p + j) over the few rounds j where the
second difference of its payments is not 0, with B(t) = Σ_{u ≥ t} (u − t + 1)·price_u.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from formulations.certificates.budget import CertificateError
from formulations.certificates.certificate_file import PricedLookAhead
from formulations.lagrangian.exact import lookahead_cost
from instances import Instance, Request


def check_row(instance: Instance, number: int, row: PricedLookAhead) -> None:
    """Refuse a row that is not of the form that is proved."""
    if len(set(row.core)) < len(row.core) or max(row.core, default=0) >= len(instance):
        raise CertificateError(f"lookahead {number}: expected different requests of the instance")
    rising = all(a < b for a, b in zip(row.times, row.times[1:], strict=False))
    if not rising or len(row.times) != len(row.prices):
        raise CertificateError(f"lookahead {number}: expected a price for each of rising times")


def prices_by_time(row: PricedLookAhead) -> list[int]:
    """Return the price at each time from the first one on, to the last one."""
    found = []
    for k, (time, price) in enumerate(zip(row.times[:-1], row.prices[:-1], strict=True)):
        span, rise = row.times[k + 1] - time, row.prices[k + 1] - price
        found += [price + rise * after // span for after in range(span)]
    return [*found, row.prices[-1]]


class RowPayments:
    """What starts pay in one row.

    Attributes
    ----------
    most
        What no number on the way exceeds.
    first, last
        The first and last time with a price.
    rounds
        ℓ.
    prices
        By time from the first on, once prepared.
    """

    def __init__(self, instance: Instance, row: PricedLookAhead) -> None:
        self._memory, self._row, self._core = instance.memory, row, frozenset(row.core)
        self.rounds = row.rounds
        # M·κ, with y and κ in M-ths.
        self._kappa = row.share * instance.memory
        for position in row.core:
            held = instance.requests[position].prompt + 1
            self._kappa += max(0, instance.memory - row.share * held)
        self.first, self.last = row.times[0], row.times[-1]
        peak = max(request.peak for request in instance.requests)
        times = self.last - self.first + 1
        of_row = (row.rounds, row.share, self._kappa, times, max(1, *row.prices))
        self.most = lookahead_cost(instance.memory, peak, *of_row)
        self._later: list[NDArray[Any]] = []

    def prepare(self, kind: type) -> None:
        """Add up the prices, from every time on, and these sums again."""
        self.prices: NDArray[Any] = np.array(prices_by_time(self._row), dtype=kind)
        after = np.cumsum(self.prices[::-1])
        self._later = [np.cumsum(after)[::-1], after[-1]]

    def of_request(self, position: int, request: Request, kind: type) -> list[tuple[int, Any]]:
        """Return the rounds at which the second difference of its payments is not 0, and these."""
        held: NDArray[Any] = request.prompt + np.arange(1, request.output + 1).astype(kind)
        left: NDArray[Any] = np.arange(request.output - 1, -1, -1).astype(kind)
        y = np.minimum(self._memory, self._row.share * held)
        if position in self._core:
            y = np.full_like(held, self._memory)
        short = np.maximum(0, self._row.rounds - left)
        pays = np.maximum(0, self._memory * held + y * self._row.rounds - self._kappa * short)
        nothing: NDArray[Any] = np.zeros(2, dtype=kind)
        second = np.diff(np.concatenate([nothing, pays, nothing]), 2)
        return [(int(k) + 1, second[k]) for k in np.flatnonzero(second)]

    def paid(self, parts: Sequence[tuple[int, Any]], starts: NDArray[np.int64]) -> NDArray[Any]:
        """Return what a request pays in M-ths of a token at price, for increasing starts."""
        twice, once = self._later
        total: NDArray[Any] = np.zeros(len(starts), dtype=twice.dtype)
        for after, change in parts:
            place = starts + after - self.first
            inside = place[: np.searchsorted(place, len(twice))]
            # From before the first price on, each round earlier adds all prices once more.
            # Of the kind of the sums: a number of Python's times 64 bits would be 64 bits.
            ahead = np.maximum(-inside, 0).astype(twice.dtype)
            total[: len(inside)] += change * (twice[np.maximum(inside, 0)] + once * ahead)
        return total


def paid_at_most(
    rows: Sequence[RowPayments], memory: int, length: int, kind: type
) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
    """Return the sums, before each time, of what tokens and rounds pay at most, as pay ≤ w + ℓ.

    The first are of prices on a token, the second of these times the time, the third on requests.
    """
    tokens: NDArray[Any] = np.zeros(length, dtype=kind)
    rounds: NDArray[Any] = np.zeros(length, dtype=kind)
    for row in rows:
        tokens[row.first : row.last + 1] += memory * row.prices
        rounds[row.first : row.last + 1] += memory * row.rounds * row.prices
    sums: NDArray[Any] = np.zeros((3, length + 1), dtype=kind)
    for each, values in zip(sums, (tokens, np.arange(length) * tokens, rounds), strict=True):
        each[1:] = np.cumsum(values)
    return sums[0], sums[1], sums[2]
