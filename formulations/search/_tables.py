"""What ``layers`` knows of prices before it starts: least costs to come, worths of the rest."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from formulations.lagrangian.costs import PriceSums, price_sums
from formulations.lagrangian.exact import exact_sum, run_cost
from formulations.lagrangian.starts import StartCosts
from formulations.valid.groups import WindowGroup
from instances import Instance

Ints = NDArray[np.int64]

#: Steps that the tables of cut windows may take; longer windows are shortened until they do.
CUTS_UP_TO = 100_000_000
#: Above all bounds of states, so the least bound lost while nothing is.
NONE = 1 << 62


class Bases(NamedTuple):
    """The bases kept at times 0, 1, ..., those of each as a tree of twice as many nodes as leaves.

    Node 1 is the root, k has the children 2k and 2k + 1, and the leaves share the bases in order.

    Attributes
    ----------
    begin
        The bases of level u are those from ``begin[u]`` up to ``begin[u + 1]``, shape (top + 2,).
    sigma, vectors
        Of each base its label less what its members still pay, and the tokens that they hold at
        each time before, in lanes; shapes (bases,) and (bases, words).
    nodes
        Where those of a level begin, shape (top + 2,).
    corners, least
        Of each node the least tokens in each lane, and the least sigma, of its bases.
    high
        The highest bit of each lane.
    """

    begin: Ints
    sigma: Ints
    vectors: NDArray[np.uint64]
    nodes: Ints
    corners: NDArray[np.uint64]
    least: Ints
    high: np.uint64


class CompletionBounds(NamedTuple):
    """What schedules cost at least from a time on; for the kernels.

    Attributes
    ----------
    bases
        By which it is looked up.
    profiles
        The lanes of a request in each state, shape (states, words).
    first, extra
        Of each request its first state, and its multiplier less its least cost; shape (n,).
    worth
        What is known at time u whoever has completed; shape (times,).
    unit
        The denominator of all of them.
    """

    bases: Bases
    profiles: NDArray[np.uint64]
    first: Ints
    extra: Ints
    worth: Ints
    unit: int


@dataclass(frozen=True)
class Prices:
    """Numerators of λ, shape (T + 1,), and of μ, shape (groups, T + 1), and their denominator."""

    memory: NDArray[np.int64]
    groups: NDArray[np.int64]
    denominator: int


def scaled_prices(
    instance: Instance, groups: list[WindowGroup], costs: StartCosts, last: int, tel: int
) -> Prices:
    """Return prices for which all that is computed of states is exact in 64 bits.

    ``last`` is the last start of any request, ``tel`` the TEL of the schedule to be beaten.

    Proof.  By ``formulations.lagrangian.exact`` one request pays at most X = ``run_cost`` and
    nothing less than 0.  What no start is left for costs F = D·U + C, with C = M Σ λ + Σ most μ the
    worth of all, so a state in which that happens exceeds (U − 1)·D and is dropped; F is also what
    U itself is compared as.  A bound adds n such numbers and takes away at most C, so nothing
    exceeds n·max(X, F) + C, which has to be below 2⁶².  Where it is not, denominator and
    numerators are halved, these rounded down: any prices ≥ 0 bound.  In the end all of them are 0
    and D = 1.  Then X is the last completion and F = U, and n ≤ 63 of them are below 2⁶² as long
    as these are below 7·10¹⁶; by the limits of ``instances.model`` they are below 7·10¹³.

    Raises
    ------
    OverflowError
        If U or the last completion is beyond that.
    """
    rounds = max(last, len(costs.memory)) + max(r.output for r in instance.requests)
    peak = max(request.peak for request in instance.requests)
    scale = 0
    while True:
        found = Prices(
            costs.memory >> scale, costs.groups >> scale, max(costs.denominator >> scale, 1)
        )
        if scale >= costs.denominator.bit_length():
            found = Prices(np.zeros_like(found.memory), np.zeros_like(found.groups), 1)
        denominator = found.denominator
        sums = [exact_sum(row) for row in (found.memory, *found.groups)]
        worth = instance.memory * sums[0]
        worth += sum(group.most * each for group, each in zip(groups, sums[1:], strict=True))
        cost = int(run_cost(denominator, rounds, peak, sums[0], sum(sums[1:])))
        if len(instance) * max(cost, denominator * tel + worth) + worth < NONE:
            return found
        if not any(sums) and denominator == 1:
            raise OverflowError("rounds are too large for exact 64-bit arithmetic")
        scale += 1


def window_arrays(n: int, groups: list[WindowGroup], widest: int) -> tuple[Ints, Ints]:
    """Return ``before`` and ``after`` of each group and request, 0 where it is no member.

    Windows begin at most ``widest`` rounds before their starts: a shorter window holds fewer
    rounds, so it is proved as well.  One that is empty then counts as no member.
    """
    before = np.zeros((len(groups), n), dtype=np.int64)
    after = np.zeros((len(groups), n), dtype=np.int64)
    for g, group in enumerate(groups):
        for member in group.members:
            if (cut := min(member.before, widest)) + member.after > 0:
                before[g, member.request] = cut
                after[g, member.request] = member.after
    return before, after


def price_tables(
    instance: Instance,
    groups: list[WindowGroup],
    prices: Prices,
    latest: Sequence[int],
    tel: int,
    windows: tuple[Ints, Ints],
) -> tuple[Any, ...]:
    """Return least costs from each round on, prefix sums of the prices, and their weighted tails.

    ``later[i, t]`` is the least priced cost of request i over starts from max(t, a_i) to latest_i,
    with its ``windows`` (:func:`window_arrays`) cut at round t; where no start is left, more than
    any schedule better than ``tel`` can cost.
    """
    sums = price_sums(prices.memory, prices.denominator, prices.groups)
    worth = instance.memory * (sums.tokens[-1] - sums.tokens)
    # Times after t, rounds from t on.
    tail = np.append(worth[1:], 0)
    if len(groups):
        weights = np.array([group.most for group in groups], dtype=np.int64)
        tail = tail + weights @ (sums.windows[:, -1:] - sums.windows)
    never = prices.denominator * tel + int(tail.max())
    later = np.empty((len(instance), max(latest) + 2), dtype=np.int64)
    for i, own in enumerate(np.stack(windows, axis=2).transpose(1, 0, 2)):
        later[i] = _later(instance, sums, i, own, latest[i], never, later.shape[1])
    return later, sums.tokens, sums.moments, sums.windows, tail, prices.denominator


def _later(
    instance: Instance, sums: PriceSums, i: int, windows: Ints, end: int, never: int, length: int
) -> Ints:
    """Return ``later[i]``, shape (length,); windows are (before, after) of each group."""
    request = instance.requests[i]
    arrival, starts = int(request.arrival), np.arange(end + 1, dtype=np.int64)
    base = sums.of_runs(request.prompt, request.output, starts)
    base += (request.output - arrival) * sums.unit

    def windows_from(cut: Ints | int, at: Ints) -> Ints:
        total = np.zeros(len(at), dtype=np.int64)
        for g, (before, after) in enumerate(windows.tolist()):
            if before + after > 0:
                total += sums.of_windows(g, before, after, at, cut)
        return total

    # From so many rounds after t on no window is cut at t.
    widest = int(windows[:, 0].max(initial=0))
    froms = np.arange(length)
    whole = base + windows_from(0, starts)
    least = _least_from(whole, np.maximum(froms + widest, arrival), never)
    for shift in range(min(widest, end + 1)):
        at = np.maximum(froms + shift, arrival)
        inside = at <= end
        at, cut = at[inside], froms[inside]
        least[inside] = np.minimum(least[inside], base[at] + windows_from(cut, at))
    return least


def _least_from(costs: Ints, froms: Ints, never: int) -> Ints:
    """Return the least cost of the starts from each of ``froms`` on, ``never`` past the last."""
    suffix = np.append(np.minimum.accumulate(costs[::-1])[::-1], never)
    least: Ints = suffix[np.minimum(froms, len(costs))]
    return least


def no_bounds() -> CompletionBounds:
    """Return what says nothing."""
    none, words = np.zeros(0, dtype=np.int64), np.zeros((0, 0), dtype=np.uint64)
    bases = Bases(none, none, words, none, words, none, np.uint64(0))
    return CompletionBounds(bases, words, none, none, none, 1)
