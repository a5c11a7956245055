"""Bounds of the forward search's states: least costs to come under prices, completion bounds."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from formulations.dp.priced_network import Ints
from formulations.lagrangian.exact_integers import exact_sum, run_cost
from formulations.lagrangian.priced_starts import StartCosts
from formulations.lagrangian.start_costs import price_sums
from instances import Instance

#: Above all bounds of states, so the least bound lost while nothing is.
NONE = 1 << 62


class KeptBases(NamedTuple):
    """The bases kept at times 0, 1, ..., those of each as a tree of twice as many nodes as leaves.

    Node 1 is the root, k has the children 2k and 2k + 1, and the leaves share the bases in order.
    Bases and nodes of level u begin at ``begin[u]`` and ``nodes[u]``.  Of each base ``sigma`` is
    its label less what its members still pay, ``vectors`` the tokens that they hold at each time
    before, in lanes with the highest bit ``high``; ``corners`` and ``least`` are the least tokens
    in each lane and the least sigma below each node.
    """

    begin: Ints
    sigma: Ints
    vectors: NDArray[np.uint64]
    nodes: Ints
    corners: NDArray[np.uint64]
    least: Ints
    high: np.uint64


class CompletionBounds(NamedTuple):
    """Least costs of schedules from a time on (P15), in 1 / ``unit`` rounds; for the kernels.

    ``profiles`` are the lanes of a request in each state, shape (states, words); ``first`` and
    ``extra`` of each request its first state, and its multiplier less its least cost, shape (n,);
    ``worth`` is what is known at time u whoever has completed.
    """

    bases: KeptBases
    profiles: NDArray[np.uint64]
    first: Ints
    extra: Ints
    worth: Ints
    unit: int


@dataclass(frozen=True)
class ScaledPrices:
    """Numerators of λ, shape (T + 1,), and their denominator."""

    memory: NDArray[np.int64]
    denominator: int


def scaled_prices(instance: Instance, costs: StartCosts, last: int, tel: int) -> ScaledPrices:
    """Return prices for which all that is computed of states is exact in 64 bits.

    ``last`` is the last start of any request, ``tel`` the TEL U of the schedule to beat.

    Proof.  By ``formulations.lagrangian.exact_integers`` one request pays from 0 to X =
    ``run_cost``.  A request without a start left costs F = D·U + C, with C = M Σ λ the worth of
    all, so its state exceeds (U − 1)·D and is dropped; F also stands for U itself.  A bound adds n
    such numbers and takes away at most C, so nothing exceeds n·max(X, F) + C, which has to be below
    2⁶².  Where it is not, denominator and numerators are halved, these rounded down: any prices ≥ 0
    bound.  In the end all are 0 and D = 1.  Then X is the last completion and F = U, and n ≤ 63 of
    them are below 2⁶² as long as these are below 7·10¹⁶; the limits of ``instances.instance`` keep
    them below 7·10¹³.

    Raises OverflowError if U or the last completion is beyond that.
    """
    rounds = max(last, len(costs.memory)) + max(r.output for r in instance.requests)
    peak = max(request.peak for request in instance.requests)
    scale = 0
    while True:
        found = ScaledPrices(costs.memory >> scale, max(costs.denominator >> scale, 1))
        if scale >= costs.denominator.bit_length():
            found = ScaledPrices(np.zeros_like(found.memory), 1)
        denominator, paid = found.denominator, exact_sum(found.memory)
        worth = instance.memory * paid
        cost = int(run_cost(denominator, rounds, peak, paid))
        if len(instance) * max(cost, denominator * tel + worth) + worth < NONE:
            return found
        if not paid and denominator == 1:
            raise OverflowError("rounds are too large for exact 64-bit arithmetic")
        scale += 1


def price_tables(
    instance: Instance, prices: ScaledPrices, latest: Sequence[int], tel: int
) -> tuple[Any, ...]:
    """Return least costs from each round on, prefix sums of the prices, and their weighted tails.

    ``later[i, t]`` is the least priced cost of request i over starts from max(t, a_i) to latest_i;
    without a start left, more than any schedule better than ``tel`` costs.
    """
    sums = price_sums(prices.memory, prices.denominator)
    # Worth of memory at the times after t.
    tail = np.append(instance.memory * (sums.tokens[-1] - sums.tokens[1:]), 0)
    never = prices.denominator * tel + int(tail.max())
    later = np.empty((len(instance), max(latest) + 2), dtype=np.int64)
    for i, request in enumerate(instance.requests):
        arrival, starts = int(request.arrival), np.arange(latest[i] + 1, dtype=np.int64)
        costs = sums.of_runs(request.prompt, request.output, starts)
        costs += (request.output - arrival) * sums.unit
        later[i] = _least_from(costs, arrival, later.shape[1], never)
    return later, sums.tokens, sums.moments, tail, prices.denominator


def no_bounds() -> CompletionBounds:
    """Return bounds without any base, for passes without completion bounds."""
    none, words = np.zeros(0, dtype=np.int64), np.zeros((0, 0), dtype=np.uint64)
    bases = KeptBases(none, none, words, none, words, none, np.uint64(0))
    return CompletionBounds(bases, words, none, none, none, 1)


def _least_from(costs: Ints, arrival: int, length: int, never: int) -> Ints:
    """Return the least cost of starts from each round and the arrival on, else ``never``."""
    least = np.append(np.minimum.accumulate(costs[::-1])[::-1], never)
    found: Ints = least[np.clip(np.arange(length), arrival, len(costs))]
    return found
