"""Bidirectional dynamic programming: a backward relaxation bounds the forward search.

The forward search is that of :mod:`formulations.search.layers`.  A state is dropped where no base
that the backward relaxation keeps at its time (:mod:`formulations.search.relaxation`) holds no
more tokens than the state's running requests, at a cost at which the best schedule known is beaten.

Source: ours, as completion bounds are used in bidirectional labelling for vehicle routes.
Proof: docs/proofs/completion.md (P15).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from formulations.search import layers
from formulations.search._backward_levels import Level, Limits
from formulations.search._backward_tables import SAFE, Ints
from formulations.search._tables import CompletionBounds
from formulations.search.exact_search import ExactSearch
from formulations.search.relaxation import Relaxation
from schedules.evidence import Argument


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
    levels: dict[int, tuple[Ints, NDArray[np.uint64]]] = {}

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


FORMULATION = ExactSearch(
    name="bidirectional",
    search=layers.search,
    size=layers.model_size,
    entry_bytes=layers.ENTRY_BYTES,
    widths=layers.WIDTHS,
    requests_up_to=layers.REQUESTS_UP_TO,
    argument=Argument.BIDIRECTIONAL,
)
