"""Prices on memory and on window groups together certify a lower bound, in integers."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from formulations.lagrangian.exact_integers import SAFE, largest_denominator, run_cost
from formulations.lagrangian.start_costs import Ints, PriceSums, price_sums
from formulations.valid.window_groups import WindowGroup
from instances import Instance

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class StartCosts:
    """Priced cost of every start, the certificate of a bound; all times the ``denominator``.

    ``costs`` are, per request, for starts a_i, a_i + 1, ...: latency + priced tokens + priced
    windows, rounds; the ``constant`` is M Σ λ + Σ_g most_g Σ μ_g; ``memory`` and ``groups`` are the
    numerators of λ, shape (T + 1,), and of μ, shape (groups, T + 1).
    """

    costs: list[Ints]
    constant: int
    memory: Ints
    groups: Ints
    denominator: int

    @property
    def least(self) -> list[int]:
        """The least cost of each request."""
        return [int(cost.min()) for cost in self.costs]

    @property
    def bound(self) -> int:
        """The certified lower bound on the TEL (rounds)."""
        return -(-(sum(self.least) - self.constant) // self.denominator)


def start_costs(
    instance: Instance,
    prices: Sequence[float] | Floats,
    groups: Sequence[WindowGroup],
    group_prices: Sequence[Sequence[float]] | Floats,
    latest: Sequence[int] | None = None,
) -> StartCosts:
    """Return the priced start costs; their ``bound`` is a lower bound on the TEL for any prices.

    Prices are rounded to multiples of 1 / denominator, negative ones to 0.  The rest is integer
    arithmetic, in ranges that ``formulations.lagrangian.exact_integers`` proves safe.  Starts go up
    to one round after the last priced time plus the largest ``before``.  ``latest`` ends the starts
    of request i; then the bound is valid for schedules within.

    Raises OverflowError if the numbers are too large for exact 64-bit arithmetic.

    Proof: docs/proofs/multipliers.md (P1).
    """
    length = max(1, len(prices), *(len(each) for each in group_prices))
    floats = np.zeros((1 + len(groups), length))
    for row, each in zip(floats, [prices, *group_prices], strict=True):
        row[: len(each)] = each
    if not np.all(np.isfinite(floats)):
        raise ValueError("expected finite prices")
    windows: list[list[tuple[int, int, int]]] = [[] for _ in instance.requests]
    for g, group in enumerate(groups):
        for member in group.members:
            windows[member.request].append((g, member.before, member.after))
    lasts = _last_starts(instance, windows, length, latest)
    denominator = _denominator(instance, floats, max(lasts))
    rounded = np.rint(np.maximum(floats, 0.0) * denominator).astype(np.int64)
    sums = price_sums(rounded[0], denominator, rounded[1:])
    worths = [instance.memory, *(group.most for group in groups)]
    constant = sum(most * int(row.sum()) for most, row in zip(worths, rounded, strict=True))
    costs = list(_costs(instance, windows, sums, lasts))
    return StartCosts(costs, constant, rounded[0], rounded[1:], denominator)


def _last_starts(
    instance: Instance,
    windows: list[list[tuple[int, int, int]]],
    length: int,
    latest: Sequence[int] | None,
) -> list[int]:
    """Return the last start of each request that is priced."""
    lasts = []
    for i, request in enumerate(instance.requests):
        arrival = int(request.arrival)
        last = max(arrival, length + max((0, *(before for _, before, _ in windows[i]))))
        lasts.append(last if latest is None else min(last, max(latest[i], arrival)))
    return lasts


def _costs(
    instance: Instance, windows: list[list[tuple[int, int, int]]], sums: PriceSums, lasts: list[int]
) -> Iterator[Ints]:
    """Yield the costs of each request's starts, times the denominator."""
    for request, own, last in zip(instance.requests, windows, lasts, strict=True):
        arrival = int(request.arrival)
        starts = np.arange(arrival, last + 1, dtype=np.int64)
        cost = sums.of_runs(request.prompt, request.output, starts)
        cost += (request.output - arrival) * sums.unit
        for g, before, after in own:
            cost += sums.of_windows(g, before, after, starts)
        yield cost


def certified_costs(
    instance: Instance,
    groups: Sequence[WindowGroup],
    prices: tuple[Floats, Floats] | None,
    latest: Sequence[int],
) -> StartCosts:
    """Return the start costs of prices λ and μ, or of prices of 0 where these prove no less.

    Prices of 0 certify Σ o_i, so no bound is below that.  They also replace missing prices, prices
    that are no numbers, and prices too large for 64 bits.
    """
    free = start_costs(instance, [], groups, [[] for _ in groups], latest)
    if prices is None:
        return free
    try:
        found = start_costs(instance, prices[0], groups, prices[1], latest)
    except (OverflowError, ValueError):
        return free
    return found if found.bound > free.bound else free


def _denominator(instance: Instance, floats: Floats, last: int) -> int:
    """Return the largest power of two for which no number of the evaluation overflows."""
    rounds = last + floats.shape[1] + max(request.output for request in instance.requests)
    peak = max(request.peak for request in instance.requests)
    total = float(np.abs(floats).sum())

    def fits(denominator: int) -> bool:
        # Rounding adds at most one unit a price.
        numerators = total * denominator + floats.size
        # Payments of all, and the worth of memory and groups.
        paid = run_cost(denominator, rounds, peak, numerators, numerators) * len(instance)
        return paid + (instance.memory + len(instance)) * numerators < SAFE

    found = largest_denominator(fits)
    if found is None:
        raise OverflowError("prices are too large for exact 64-bit arithmetic")
    return found
