"""Grows a branching tree of prices that proves a bound, from the LP relaxation of every node."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linprog
from scipy.sparse import coo_matrix

from formulations.lagrangian.tree import (
    Branch,
    Leaf,
    Node,
    TreeError,
    TreeNode,
    children,
    leaf_bound,
    root,
)
from instances import Instance

#: Denominators of a leaf's prices: powers of two up to this one.
_MOST_BITS = 30
#: Weights nearer than this to a whole number count as whole.
_WHOLE = 1e-6


class BetterScheduleError(Exception):
    """There is a schedule below the bound that was to be proved; the message is one line."""


@dataclass(frozen=True)
class _Relaxation:
    """Solution of a node's LP.

    Attributes
    ----------
    begun
        Share of request i that starts by round t, shape (n, rounds).
    memory, rows
        Prices of a token at each time, and of the node's counts.
    """

    begun: NDArray[np.float64]
    memory: NDArray[np.float64]
    rows: NDArray[np.float64]


def grow(instance: Instance, value: int, known: Iterable[TreeNode] = ()) -> Iterator[TreeNode]:
    """Yield the nodes, in preorder, of a tree that proves that no TEL is below ``value`` (rounds).

    Depth first.  A node whose prices, rounded to fractions, prove the bound in whole numbers
    (``formulations.lagrangian.tree``) is a leaf.  Another one branches on the number of all
    requests that have started by the first round for which the LP leaves it fractional, or else on
    one request by one round.

    Parameters
    ----------
    known
        The first nodes of the same tree: they are not yielded again, and the search goes on after
        them.

    Raises
    ------
    BetterScheduleError
        If the nodes come down to a schedule with a lower TEL.
    TreeError
        If ``known`` is the beginning of no tree.
    """
    nodes = [root(instance, value)]
    for item in known:
        if not nodes:
            raise TreeError("nodes are left over")
        node = nodes.pop()
        if isinstance(item, Branch):
            nodes += reversed(children(instance, value, node, item))
    while nodes:
        node = nodes.pop()
        made = _leaf_or_branch(instance, node, value)
        yield made
        if isinstance(made, Branch):
            nodes += reversed(children(instance, value, node, made))


def _leaf_or_branch(instance: Instance, node: Node, value: int) -> TreeNode:
    if node.empty:
        return Leaf(rows=(0,) * len(node.rows))
    solution = _relax(instance, node, value)
    for bits in range(0, _MOST_BITS + 1, 2):
        leaf = _rounded(solution, 1 << bits)
        if leaf_bound(instance, node, leaf) >= value:
            return leaf
    return _branch(instance, node, solution)


def _relax(instance: Instance, node: Node, value: int) -> _Relaxation:
    """Solve the LP of a node in which memory and counts may be exceeded at a price.

    So there always is a solution, and the prices of a node without a schedule are large enough to
    prove that, once what is exceeded is a whole token.
    """
    times = max(last + r.output for last, r in zip(node.latest, instance.requests, strict=True)) + 1
    columns = [
        (i, start)
        for i, (first, last) in enumerate(zip(node.earliest, node.latest, strict=True))
        for start in range(first, last + 1)
    ]
    entries: list[tuple[int, int, int]] = []
    for column, (i, start) in enumerate(columns):
        request = instance.requests[i]
        entries += [(start + j, column, request.prompt + j) for j in range(1, request.output + 1)]
        for number, row in enumerate(node.rows):
            if i in row.members and start <= row.by:
                entries.append((times + number, column, -1 if row.at_least else 1))
    limits = [instance.memory] * times
    limits += [-row.count if row.at_least else row.count for row in node.rows]
    # A start more or less weighs as much as many tokens.
    penalties = [2.0 * value] * times + [20.0 * value] * len(node.rows)
    entries += [(row, len(columns) + row, -1) for row in range(len(limits))]
    rows, cols, values = zip(*entries, strict=True)
    width = len(columns) + len(limits)
    once = ([1] * len(columns), ([i for i, _ in columns], range(len(columns))))
    costs = [
        start + instance.requests[i].output - int(instance.requests[i].arrival)
        for i, start in columns
    ]
    result = linprog(
        [*costs, *penalties],
        A_ub=coo_matrix((values, (rows, cols)), shape=(len(limits), width)).tocsr(),
        b_ub=limits,
        A_eq=coo_matrix(once, shape=(len(instance), width)).tocsr(),
        b_eq=np.ones(len(instance)),
        method="highs",
    )
    if result.status != 0:
        raise RuntimeError(f"the LP of a node was not solved: {result.message}")
    begun = np.zeros((len(instance), times))
    for (i, start), weight in zip(columns, result.x, strict=False):
        begun[i, start:] += weight
    prices = np.maximum(0.0, -result.ineqlin.marginals)
    return _Relaxation(begun, prices[:times], prices[times:])


def _rounded(solution: _Relaxation, denominator: int) -> Leaf:
    memory = np.rint(solution.memory * denominator).astype(int).tolist()
    while memory and not memory[-1]:
        memory.pop()
    rows = np.rint(solution.rows * denominator).astype(int).tolist()
    return Leaf(denominator, tuple(memory), tuple(rows))


def _branch(instance: Instance, node: Node, solution: _Relaxation) -> Branch:
    started = solution.begun.sum(axis=0)
    open_rounds = np.flatnonzero(np.abs(started - np.rint(started)) > _WHOLE)
    if len(open_rounds):
        by = int(open_rounds[0])
        return Branch(tuple(range(len(instance))), by, math.floor(started[by]))
    half = np.abs(solution.begun - 0.5)
    request, by = (int(x) for x in np.unravel_index(np.argmin(half), half.shape))
    if half[request, by] < 0.5 - _WHOLE:
        return Branch((request,), by, 0)
    # Whole starts whose prices prove too little: an error of the LP, or a better schedule.
    for i, first in enumerate(node.earliest):
        if first < node.latest[i]:
            return Branch((i,), (first + node.latest[i]) // 2, 0)
    raise BetterScheduleError(f"starts {list(node.earliest)} may have a lower TEL")
