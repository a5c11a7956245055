"""Any prices λ ≥ 0 on memory, and on look-ahead rows, certify a lower bound; here in integers."""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from formulations.lagrangian.exact_integers import (
    SAFE,
    exact_sum,
    largest_denominator,
    lookahead_cost,
    run_cost,
)
from formulations.lagrangian.priced_rows import PricedRow, row_sums
from formulations.lagrangian.start_costs import Ints, PriceSums, price_sums
from instances import Instance

#: Requests times rounds from which on loading the compiled evaluation pays.
COMPILE_FROM = 20_000_000


@dataclass(frozen=True)
class PriceBound:
    """A certified bound and its certificate.

    ``numerators[t]`` / ``denominator`` is the price of a token at time t (rounds per token);
    times beyond the last one have price 0.  ``lookahead`` are look-ahead rows with prices.
    """

    value: int
    numerators: Ints
    denominator: int
    lookahead: tuple[PricedRow, ...] = ()


def certify_prices(
    instance: Instance,
    prices: Sequence[float] | NDArray[np.float64],
    latest: Sequence[int] | None = None,
    priced: Sequence[PricedRow] = (),
    threads: int = 1,
) -> PriceBound:
    """Return the lower bound on the TEL (rounds) that prices certify, evaluated exactly.

    ``prices`` are λ_t for t = 0, 1, ..., in rounds per token, negative ones taken as 0; ``latest``
    the last start rounds, where some optimal schedule keeps to them; ``priced`` look-ahead rows
    with prices in rounds per M-th of a token.  Prices of 0 certify Σ o_i.  They replace prices that
    certify less, and prices too large for 64 bits, so no bound is below that.

    Proof: docs/proofs/multipliers.md (P1), of rows docs/proofs/look_ahead_rows.md (P14).
    """
    floats = np.maximum(np.asarray(prices, dtype=np.float64), 0.0)
    if not np.all(np.isfinite(floats)):
        raise ValueError("expected finite prices")
    free = sum(request.output for request in instance.requests)
    for rows in (priced, ()) if priced else ((),):
        denominator = largest_denominator(partial(_fits, instance, floats, rows))
        if denominator is None:
            continue
        numerators = np.rint(floats * denominator).astype(np.int64)
        rounded = _rounded(rows, denominator)
        value = evaluate_prices(instance, numerators, denominator, latest, rounded, threads)
        if value >= free:
            return PriceBound(value, numerators, denominator, tuple(rounded))
    return PriceBound(free, np.zeros(1, dtype=np.int64), 1)


def evaluate_prices(
    instance: Instance,
    numerators: Ints,
    denominator: int,
    latest: Sequence[int] | None = None,
    priced: Sequence[PricedRow] = (),
    threads: int = 1,
) -> int:
    """Return the bound of prices in units of 1 / ``denominator``; see :func:`certify_prices`.

    Raises OverflowError if the numbers are too large for exact 64-bit arithmetic.
    """
    if numerators.size and int(numerators.min()) < 0:
        raise ValueError("expected prices of at least 0")
    price_sum = exact_sum(numerators)
    length = _length(numerators, priced)
    if _magnitude(instance, priced, price_sum, length, denominator) >= SAFE:
        raise OverflowError("prices are too large for exact 64-bit arithmetic")
    filled = np.zeros(length, dtype=np.int64)
    filled[: len(numerators)] = numerators
    sums = price_sums(filled, denominator)
    arrivals, outputs = instance.arrivals, instance.outputs
    # Past the last price a later start only costs more.
    ends = np.maximum(arrivals, length - 1)
    if latest is not None:
        ends = np.minimum(ends, np.array(latest, dtype=np.int64))
    columns = np.stack([arrivals, ends, instance.prompts, outputs])
    if priced:
        costs = _paid_costs(instance, columns, sums, priced, threads)
        sizes = np.ones(len(instance), dtype=np.int64)
    else:
        columns, sizes = np.unique(columns, axis=1, return_counts=True)
        costs = _least_costs(columns, sums)
    # Python's integers: the sum over all requests may need more than 64 bits.
    total: int = sum(cost * size for cost, size in zip(costs, sizes.tolist(), strict=True))
    total += denominator * (sum(outputs.tolist()) - sum(arrivals.tolist()))
    total -= instance.memory * price_sum
    total -= instance.memory**2 * sum(int(each.by_time()[1].sum()) for each in priced)
    return -(-total // denominator)


def _least_costs(columns: Ints, sums: PriceSums) -> list[int]:
    """Return the least cost of every column (first, end, prompt, output)."""
    count = columns.shape[1]
    if count * sums.length < COMPILE_FROM:
        return [
            int(sums.of_runs(prompt, output, np.arange(first, end + 1)).min())
            for first, end, prompt, output in columns.T.tolist()
        ]
    from formulations.lagrangian.price_kernels import cheapest_starts  # loads the compiler

    costs, starts = np.empty((2, count), dtype=np.int64)
    of_classes = np.ascontiguousarray(columns)
    unit = np.int64(sums.unit)
    cheapest_starts(*of_classes, sums.tokens, sums.moments, unit, 0, count, costs, starts)
    found: list[int] = costs.tolist()
    return found


def _paid_costs(
    instance: Instance, columns: Ints, sums: PriceSums, priced: Sequence[PricedRow], threads: int
) -> list[int]:
    """Return the least cost of every request, with its payments in look-ahead rows."""
    from formulations.lagrangian.lookahead_kernels import cheapest_paid_starts  # the compiler

    of_rows = row_sums(instance, priced, np.arange(len(instance)), np.int64)
    costs, starts = np.zeros((2, len(instance)), dtype=np.int64)
    arrivals, ends, prompts, outputs = np.ascontiguousarray(columns)
    grid = np.arange(sums.length + 1)

    def price(first: int, stop: int) -> None:
        cheapest_paid_starts(
            *((arrivals, prompts, outputs), ends, (sums.tokens, sums.moments)),
            *(np.int64(sums.unit), *of_rows, instance.memory, grid),
            *(first, stop, costs, starts),
        )

    edges = np.linspace(0, len(instance), 8 * threads + 1).astype(int).tolist()
    with ThreadPoolExecutor(threads) as pool:
        list(pool.map(price, edges[:-1], edges[1:]))
    found: list[int] = costs.tolist()
    return found


def _rounded(priced: Sequence[PricedRow], denominator: int) -> list[PricedRow]:
    """Return the rows with numerators of a denominator, without rows that have no price."""
    found = []
    for each in priced:
        numerators = np.rint(np.maximum(each.prices, 0.0) * denominator).astype(np.int64)
        if numerators.any():
            times = tuple(map(int, each.times))
            found.append(PricedRow(each.row, times, tuple(numerators.tolist())))
    return found


def _length(numerators: NDArray[np.int64 | np.float64], priced: Sequence[PricedRow]) -> int:
    """Return the number of priced times, from 0 on."""
    return max([len(numerators), *(each.times[-1] + 1 for each in priced)])


def _fits(
    instance: Instance, prices: NDArray[np.float64], priced: Sequence[PricedRow], denominator: int
) -> bool:
    """Return whether prices rounded to this denominator are safe, with room for their rounding."""
    largest = float(np.max([np.max(each.prices) for each in priced], initial=0.0))
    if not largest * denominator < SAFE:  # nor where a price is infinite, or none at all
        return False
    with np.errstate(over="ignore"):  # infinite is too large as well
        memory = float(np.rint(prices * denominator).sum())
    rounded = _rounded(priced, denominator)
    most = _magnitude(instance, rounded, memory, _length(prices, priced), denominator)
    return most < SAFE / 4


def _magnitude(
    instance: Instance, priced: Sequence[PricedRow], memory: float, length: int, denominator: int
) -> float:
    """Bound every number of the evaluation; see ``formulations.lagrangian.exact_integers``."""
    peak = max(request.peak for request in instance.requests)
    rounds = length + max(int(request.arrival) for request in instance.requests)
    of_rows = 0
    for each in priced:
        row, times = each.row, each.times[-1] - each.times[0] + 1
        of_row = (row.rounds, row.share, row.weight(instance), times, max(each.prices))
        of_rows += lookahead_cost(instance.memory, peak, *of_row, each.times[-1])
    return run_cost(denominator, rounds, peak, memory) + of_rows
