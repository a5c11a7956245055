"""Any prices λ ≥ 0 on memory certify a lower bound; here they are evaluated in integers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from formulations.lagrangian.costs import PriceSums, price_sums
from formulations.lagrangian.exact import SAFE, exact_sum, largest_denominator, run_cost
from instances import Instance

if TYPE_CHECKING:
    from formulations.lagrangian.lookahead import PricedRow

#: Requests times rounds from which on loading the compiled evaluation pays.
COMPILE_FROM = 20_000_000


@dataclass(frozen=True)
class PriceBound:
    """A certified bound and its certificate.

    ``numerators[t]`` / ``denominator`` is the price of a token at time t (rounds per token);
    times beyond the last one have price 0.  ``lookahead`` are look-ahead rows with prices.
    """

    value: int
    numerators: NDArray[np.int64]
    denominator: int
    lookahead: tuple[PricedRow, ...] = ()


def certify_prices(
    instance: Instance, prices: Sequence[float], latest: Sequence[int] | None = None
) -> PriceBound:
    """Return the lower bound on the TEL (rounds) that prices certify, evaluated exactly.

    Prices of 0 certify Σ o_i.  They take the place of prices that certify less, and of prices too
    large for 64 bits, so no bound is below that.

    Proof: docs/proofs/multipliers.md (P1).

    Parameters
    ----------
    prices
        λ_t for t = 0, 1, ..., shape (T + 1,), in rounds per token; for instance the duals of the
        memory rows of an LP relaxation.  Negative ones are taken as 0.
    latest
        Last start round of each request, shape (n,), where some optimal schedule keeps to them
        (``formulations.valid.windows``); None for no limit.

    Raises
    ------
    ValueError
        If a price is not finite.
    """
    floats = np.maximum(np.asarray(prices, dtype=np.float64), 0.0)
    if not np.all(np.isfinite(floats)):
        raise ValueError("expected finite prices")
    free = sum(request.output for request in instance.requests)
    denominator = largest_denominator(lambda trial: _fits(instance, floats, trial))
    if denominator is not None:
        numerators = np.rint(floats * denominator).astype(np.int64)
        value = evaluate_prices(instance, numerators, denominator, latest)
        if value >= free:
            return PriceBound(value, numerators, denominator)
    return PriceBound(free, np.zeros(1, dtype=np.int64), 1)


def evaluate_prices(
    instance: Instance,
    numerators: NDArray[np.int64],
    denominator: int,
    latest: Sequence[int] | None = None,
) -> int:
    """Return the bound of prices ``numerators[t] / denominator``; see :func:`certify_prices`.

    Time linear in the horizon for each distinct request.

    Raises
    ------
    ValueError
        If a price is negative.
    OverflowError
        If the numbers are too large for exact 64-bit arithmetic.
    """
    if numerators.size and int(numerators.min()) < 0:
        raise ValueError("expected prices of at least 0")
    price_sum = exact_sum(numerators)
    if _magnitude(instance, price_sum, len(numerators), denominator) >= SAFE:
        raise OverflowError("prices are too large for exact 64-bit arithmetic")
    sums = price_sums(numerators, denominator)
    arrivals = instance.arrivals
    # Past the last price a later start only costs more.
    ends = np.maximum(arrivals, len(numerators) - 1)
    if latest is not None:
        ends = np.minimum(ends, np.array(latest, dtype=np.int64))
    rows = np.stack([arrivals, ends, instance.prompts, instance.outputs], axis=1)
    distinct, sizes = np.unique(rows, axis=0, return_counts=True)
    if len(distinct) * sums.length >= COMPILE_FROM:
        costs = _compiled_costs(distinct, sums)
    else:
        costs = [
            int(sums.of_runs(prompt, output, np.arange(first, end + 1)).min())
            for first, end, prompt, output in distinct.tolist()
        ]
    # Python's integers: the sum over all requests may need more than 64 bits.
    total: int = sum(cost * size for cost, size in zip(costs, sizes.tolist(), strict=True))
    total += denominator * (sum(instance.outputs.tolist()) - sum(arrivals.tolist()))
    total -= instance.memory * price_sum
    return -(-total // denominator)


def _compiled_costs(distinct: NDArray[np.int64], sums: PriceSums) -> list[int]:
    """Return the least cost of every row (first, end, prompt, output), shape (rows, 4)."""
    from formulations.lagrangian.kernels import cheapest_starts  # loads the compiler

    count = len(distinct)
    costs, starts = np.empty(count, dtype=np.int64), np.empty(count, dtype=np.int64)
    columns = np.ascontiguousarray(distinct.T)
    unit = np.int64(sums.unit)
    cheapest_starts(*columns, sums.tokens, sums.moments, unit, 0, count, costs, starts)
    found: list[int] = costs.tolist()
    return found


def _fits(instance: Instance, prices: NDArray[np.float64], denominator: int) -> bool:
    """Tell whether prices rounded to this denominator are safe, with room for their rounding."""
    with np.errstate(over="ignore"):  # infinite is too large as well
        rounded = float(np.rint(prices * denominator).sum())
    return _magnitude(instance, rounded, len(prices), denominator) < SAFE / 4


def _magnitude(instance: Instance, price_sum: float, length: int, denominator: int) -> float:
    """Bound every number of the evaluation, in which a start costs its round, not its latency."""
    rounds = length + max(int(request.arrival) for request in instance.requests)
    prompt = max(request.prompt for request in instance.requests)
    return run_cost(denominator, rounds, prompt, price_sum)
