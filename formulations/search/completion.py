"""Completion bounds: what the bases kept by one evaluation with dominance say of a forward search.

Source: ours, as bounds from relaxed dynamic programming in the other direction are used in
bidirectional labelling for routes.  Proof: docs/proofs/completion.md (P16).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from formulations.search._backward_levels import Level, Limits
from formulations.search._backward_tables import SAFE, Ints
from formulations.search.relaxation import Relaxation

Words = NDArray[np.uint64]


class CompletionBounds(NamedTuple):
    """Of each level the bases kept, by what they are compared with; for the kernels.

    Attributes
    ----------
    begin
        The bases of level u are those from ``begin[u]`` up to ``begin[u + 1]``, shape (top + 2,).
    sigma, vectors
        Of each base its label less what its members still pay, in increasing order within a level,
        and the tokens that they hold at each time before, in lanes; shapes (bases,) and (bases,
        words).
    profiles
        The lanes of a request in each state, shape (states, words).
    first, extra
        Of each request its first state, and its multiplier less its least cost; shape (n,).
    worth
        What is known at time u whoever has completed; shape (times,).
    unit
        The denominator of all of them.
    high
        The highest bit of each lane.
    """

    begin: Ints
    sigma: Ints
    vectors: Words
    profiles: Words
    first: Ints
    extra: Ints
    worth: Ints
    unit: int
    high: np.uint64


def no_bounds() -> CompletionBounds:
    """Return what says nothing."""
    none, words = np.zeros(0, dtype=np.int64), np.zeros((0, 0), dtype=np.uint64)
    return CompletionBounds(none, none, words, words, none, none, none, 1, np.uint64(0))


def completion_bounds(
    relaxed: Relaxation, multipliers: Ints, target: int, last: int, limits: Limits
) -> CompletionBounds | None:
    """Return the bounds of all schedules up to a TEL (rounds) whose starts are no later than last.

    None where a limit came first, no base is left within the window, so that there is no such
    schedule, or sums could exceed 64 bits.
    """
    network = relaxed.network
    kinds, rule = network.kinds, relaxed.dominance
    # Nothing is kept beside the empty base before the first step backwards.
    levels: dict[int, tuple[Ints, Words]] = {}

    def keep(t: int, level: Level) -> None:
        sigma, _, vectors = rule.measured(t, level)
        order = np.argsort(sigma, kind="stable")
        levels[t] = sigma[order], vectors[order]

    swept = relaxed.sweep(multipliers, target, limits, keep)
    if swept.closed or swept.reason:
        return None
    top = max(levels)
    sizes = [len(levels[u][0]) for u in range(top + 1)]
    sigma = np.concatenate([levels[u][0] for u in range(top + 1)])
    worth = np.cumsum(network.worth) + network.total - int(multipliers @ kinds.counts)
    extra = (multipliers - network.least)[kinds.of]
    longest = last + int(kinds.outputs.max())
    largest = len(extra) * (network.unit * longest + int(np.abs(extra).max()))
    if largest + int(np.abs(worth).max()) + int(np.abs(sigma).max()) >= SAFE:
        return None
    return CompletionBounds(
        np.cumsum([0, *sizes]), sigma, np.concatenate([levels[u][1] for u in range(top + 1)]),
        rule.profiles, kinds.first[kinds.of], extra, worth, network.unit, rule.high,
    )  # fmt: skip
