"""Bidirectional dynamic programming: a backward relaxation bounds the forward search.

    sweep backwards with the best multipliers (``relaxation``), and keep the bases of every time
    search forwards (``forward``); drop a state at u unless some base at u holds no more tokens
        than the state's running requests, at a cost that beats the best schedule known

Bases of a time are a tree by the tokens held, so that a state is compared with few.
Source: ours, after completion bounds in bidirectional labelling for vehicle routes.
Proof: docs/proofs/completion.md (P15).
"""

from dataclasses import dataclass
from typing import Annotated, NamedTuple

import numpy as np

from formulations.dp import forward
from formulations.dp.backward_sweep import Level, SearchLimits
from formulations.dp.dominance import Dominance, Words
from formulations.dp.exact_search import ExactSearch
from formulations.dp.priced_network import SAFE, Ints
from formulations.dp.state_bounds import CompletionBounds, KeptBases
from formulations.dp.state_relaxation import SearchTuning, StateRelaxation
from schedules.evidence import ProofArgument


def completion_bounds(
    relaxed: StateRelaxation, multipliers: Ints, target: int, last: int, limits: SearchLimits
) -> CompletionBounds | None:
    """Return the bounds of all schedules up to a TEL (rounds) whose starts are no later than last.

    None where a limit came first, the window has no base, and so no schedule, or sums could exceed
    64 bits.
    """
    network = relaxed.network
    kinds, rule = network.kinds, relaxed.dominance
    levels: dict[int, tuple[Ints, Words]] = {}

    def keep(t: int, level: Level) -> int:
        sigma, _, vectors = rule.measured(t, level)
        levels[t] = sigma, vectors
        # Once more in the order of a tree, and once more in the joined trees.
        return 3 * (sigma.nbytes + vectors.nbytes)

    swept = relaxed.sweep(multipliers, target, limits, keep)
    if swept.closed or swept.reason:
        return None
    trees = [_tree(*levels.pop(u), rule) for u in range(max(levels) + 1)]
    bases = _joined(trees, rule.high)
    worth = np.cumsum(network.worth) + network.total - int(multipliers @ kinds.counts)
    extra = (multipliers - network.least)[kinds.of]
    longest = last + int(kinds.outputs.max())
    largest = len(extra) * (network.unit * longest + int(np.abs(extra).max()))
    largest += sum(network.worth.tolist()) + int(np.abs(worth).max())
    if largest + int(np.abs(bases.sigma).max()) >= SAFE:
        return None
    return CompletionBounds(
        bases, rule.profiles, kinds.first[kinds.of], extra, worth, network.unit
    )  # fmt: skip


class _Tree(NamedTuple):
    """Bases of a level in the order of a tree's leaves, and its nodes."""

    sigma: Ints
    vectors: Words
    corners: Words
    least: Ints


def _tree(sigma: Ints, vectors: Words, rule: Dominance) -> _Tree:
    from formulations.dp import dominance_kernels as kernels  # loads the compiler

    corners = np.zeros((len(vectors) // 2 + 2, vectors.shape[1]), dtype=np.uint64)
    depth, order = kernels.grow_tree(vectors, corners, 0, len(vectors), rule.bits, rule.high)
    sigma, leaves = sigma[order], 1 << depth
    least = np.zeros(2 * leaves, dtype=np.int64)
    least[leaves:] = np.minimum.reduceat(sigma, len(sigma) * np.arange(leaves) >> depth)
    for level in range(depth - 1, -1, -1):
        below = least[2 << level : 4 << level]
        least[1 << level : 2 << level] = np.minimum(below[::2], below[1::2])
    return _Tree(sigma, vectors, corners[: 2 * leaves], least)


def _joined(trees: list[_Tree], high: np.uint64) -> KeptBases:
    sigma, vectors, corners, least = (
        np.concatenate(each) for each in zip(*trees, strict=True)
    )  # fmt: skip
    begin = np.cumsum([0, *(len(each.sigma) for each in trees)])
    nodes = np.cumsum([0, *(len(each.least) for each in trees)])
    return KeptBases(begin, sigma, vectors, nodes, corners, least, high)


@dataclass(frozen=True)
class BidirectionalOptions(SearchTuning):
    """Options: first multipliers, and shares of the time."""

    states: Annotated[
        bool, "multipliers on what a request holds and has left first, else on memory"
    ] = False
    passes_up_to: Annotated[float, "seconds of the next pass before completion bounds come"] = 0.5
    turn_seconds: Annotated[float, "seconds a request of the first turn of multipliers"] = 0.1
    first_width: Annotated[int, "states of the first pass within completion bounds"] = 5_000
    next_share: Annotated[float, "share of the time left that the next pass may take"] = 0.1
    gain: Annotated[float, "share of the gap from which another turn follows, with states"] = 0.05


FORMULATION = ExactSearch(
    name="bidirectional",
    size=forward.model_size,
    entry_bytes=forward.ENTRY_BYTES,
    requests_up_to=forward.REQUESTS_UP_TO,
    argument=ProofArgument.BIDIRECTIONAL,
    options=BidirectionalOptions,
)
