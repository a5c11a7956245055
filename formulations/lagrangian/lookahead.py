"""Prices on tokens and on look-ahead rows certify a lower bound; here they are evaluated exactly.

The rows and their proof: ``formulations.valid.lookahead``.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from formulations.lagrangian.costs import price_sums
from formulations.lagrangian.exact import SAFE, largest_denominator, lookahead_cost, run_cost
from formulations.lagrangian.prices import PriceBound
from formulations.valid.lookahead import LookAheadRow
from instances import Instance

Ints = NDArray[np.int64]


@dataclass(frozen=True)
class PricedRow:
    """A look-ahead row and its price on an M-th of a token.

    Attributes
    ----------
    times
        Increasing, at least 0.
    prices
        At the times; in between linear and rounded down, before and after 0.
    """

    row: LookAheadRow
    times: Sequence[int]
    prices: Sequence[Any]

    def by_time(self) -> tuple[int, NDArray[Any]]:
        """Return the first time, and the prices from there on, rounded down where integers."""
        times, prices = np.asarray(self.times), np.asarray(self.prices)
        if prices.dtype.kind == "f":
            whole: NDArray[Any] = np.interp(np.arange(times[0], times[-1] + 1), times, prices)
            return int(times[0]), whole
        spans = [
            (low * (b - np.arange(a, b)) + high * (np.arange(a, b) - a)) // (b - a)
            for a, b, low, high in zip(times, times[1:], prices, prices[1:], strict=False)
        ]
        return int(times[0]), np.concatenate([*spans, prices[-1:]])


@dataclass(frozen=True)
class RowSums:
    """Priced rows as the kernels take them (``formulations.lagrangian.lookahead_kernels``)."""

    rows: tuple[Ints, Ints, Ints, Ints, Ints]
    prefix: tuple[NDArray[Any], NDArray[Any]]
    core: NDArray[np.uint8]


def row_sums(
    instance: Instance, priced: Sequence[PricedRow], class_of: Ints, kind: type
) -> RowSums:
    """Return the sums of prices by row; ``class_of`` are the classes of the requests, all in it."""
    columns = [(each.row.share, each.row.rounds, each.row.weight(instance)) for each in priced]
    shares, rounds, weights = np.array(columns, dtype=np.int64).reshape(-1, 3).T.copy()
    begins, places, sums, moments = [], [0], [], []
    core = np.zeros((len(priced), int(class_of.max()) + 1), dtype=np.uint8)
    for number, each in enumerate(priced):
        begin, prices = each.by_time()
        part = price_sums(prices.astype(kind), 1)
        begins.append(begin)
        sums.append(part.tokens)
        moments.append(part.moments)
        places.append(places[-1] + len(part.tokens))
        core[number, class_of[list(each.row.core)]] = 1
    nothing: NDArray[Any] = np.zeros(0, dtype=kind)
    found = (np.concatenate([nothing, *sums]), np.concatenate([nothing, *moments]))
    where = (np.array(begins, dtype=np.int64), np.array(places, dtype=np.int64))
    return RowSums((shares, rounds, weights, *where), found, core)


def certify_lookahead(
    instance: Instance,
    prices: Sequence[float] | NDArray[np.float64],
    priced: Sequence[PricedRow],
    latest: Sequence[int] | None = None,
    threads: int = 1,
) -> PriceBound | None:
    """Return the bound that prices certify, evaluated exactly; None if 64 bits might not do.

    Proof: docs/proofs/look_ahead_rows.md (P14).

    Parameters
    ----------
    prices
        λ_t in rounds per token, as in ``formulations.lagrangian.prices.certify_prices``.
    priced
        Rows with prices in rounds per M-th of a token.
    """
    floats = np.maximum(np.asarray(prices, dtype=np.float64), 0.0)

    largest = float(np.max([np.max(each.prices) for each in priced], initial=0.0))

    def fits(trial: int) -> bool:
        # Not where a price is infinite, or none at all.
        if not largest * trial < SAFE:
            return False
        memory = float(np.rint(floats * trial).sum())
        most = _magnitude(instance, _rounded(priced, trial), memory, len(floats), trial)
        return most < SAFE / 4

    denominator = largest_denominator(fits)
    if denominator is None:
        return None
    numerators = np.rint(floats * denominator).astype(np.int64)
    rounded = _rounded(priced, denominator)
    value = evaluate_lookahead(instance, numerators, rounded, denominator, latest, threads)
    return PriceBound(value, numerators, denominator, tuple(rounded))


def evaluate_lookahead(
    instance: Instance,
    numerators: Ints,
    priced: Sequence[PricedRow],
    denominator: int,
    latest: Sequence[int] | None = None,
    threads: int = 1,
) -> int:
    """Return the bound of prices in units of 1 / ``denominator``; see :func:`certify_lookahead`.

    Raises
    ------
    OverflowError
        If the numbers are too large for exact 64-bit arithmetic.
    """
    from formulations.lagrangian.lookahead_kernels import cheapest_paid_starts  # the compiler

    memory = int(numerators.sum())
    if _magnitude(instance, priced, memory, len(numerators), denominator) >= SAFE:
        raise OverflowError("prices are too large for exact 64-bit arithmetic")
    length = max(len(numerators), max((each.times[-1] + 1 for each in priced), default=0))
    filled = np.zeros(length, dtype=np.int64)
    filled[: len(numerators)] = numerators
    last = np.full(len(instance), 1 << 61) if latest is None else np.array(latest, dtype=np.int64)
    columns = np.stack([instance.arrivals, last, instance.prompts, instance.outputs])
    sums = price_sums(filled, denominator)
    of_rows = row_sums(instance, priced, np.arange(len(instance)), np.int64)
    costs, starts = np.zeros((2, len(instance)), dtype=np.int64)
    arrivals, last, prompts, outputs = np.ascontiguousarray(columns)
    grid = np.arange(length + 1)

    def price(first: int, stop: int) -> None:
        cheapest_paid_starts(
            *((arrivals, prompts, outputs), last, (sums.tokens, sums.moments)),
            *(np.int64(denominator), of_rows.rows, of_rows.prefix, of_rows.core),
            *(instance.memory, grid, first, stop, costs, starts),
        )

    edges = np.linspace(0, len(instance), 8 * threads + 1).astype(int).tolist()
    with ThreadPoolExecutor(threads) as pool:
        list(pool.map(price, edges[:-1], edges[1:]))
    total: int = sum(costs.tolist()) + denominator * int((outputs - arrivals).sum())
    total -= instance.memory * memory
    total -= instance.memory**2 * sum(int(each.by_time()[1].sum()) for each in priced)
    return -(-total // denominator)


def _rounded(priced: Sequence[PricedRow], denominator: int) -> list[PricedRow]:
    """Return the rows with numerators of a denominator, those without a price left out."""
    found = []
    for each in priced:
        numerators = np.rint(np.maximum(each.prices, 0.0) * denominator).astype(np.int64)
        if numerators.any():
            found.append(
                PricedRow(each.row, tuple(map(int, each.times)), tuple(numerators.tolist()))
            )
    return found


def _magnitude(
    instance: Instance, priced: Sequence[PricedRow], memory: float, length: int, denominator: int
) -> float:
    """Bound every number of the evaluation; see ``formulations.lagrangian.exact``."""
    peak = max(request.peak for request in instance.requests)
    rounds = length + max(int(request.arrival) for request in instance.requests)
    of_rows = sum(
        lookahead_cost(
            instance.memory,
            peak,
            each.row.rounds,
            each.row.share,
            each.row.weight(instance),
            each.times[-1] - each.times[0] + 1,
            max(each.prices),
        )
        for each in priced
    )
    return run_cost(denominator, rounds, peak, memory) + of_rows
