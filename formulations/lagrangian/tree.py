"""Branching trees of prices: every schedule lies in some leaf, and each leaf has its own bound.

The evaluation imports nothing of the models and runs in Python's own integers.  So it writes anew,
for all certificates, what tokens pay (:func:`tokens_paid`): the search for prices has
``formulations.lagrangian.costs``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import accumulate, pairwise
from typing import Annotated, Any

from pydantic import ConfigDict, Field
from pydantic.dataclasses import dataclass as validated

from formulations.lagrangian.budget import OPERATION, Budget, Count, Counts, Positive
from instances import Instance

_CONFIG = ConfigDict(extra="forbid")

#: Steps of the budget for a price of a start that is added up, and for a number copied to a node.
_STEPS_OF_A_PRICE = 5 * OPERATION


class TreeError(ValueError):
    """The nodes are no tree of this instance; the message is one line."""


@validated(frozen=True, config=_CONFIG)
class Branch:
    """Either at most ``most`` of the members start by round ``by``, or at least one more.

    ``members`` are positions in the instance, increasing.
    """

    members: Annotated[Counts, Field(min_length=1)]
    by: Count
    most: Count


@validated(frozen=True, config=_CONFIG)
class Leaf:
    """Prices in units of 1 / ``denominator``.

    ``memory[t]`` is that of a token at time t; ``rows`` are those of the counts above the leaf
    which are not start windows (:attr:`Node.rows`), from the root on.
    """

    denominator: Positive = 1
    memory: Counts = ()
    rows: Counts = ()


TreeNode = Branch | Leaf


@dataclass(frozen=True)
class Row:
    """Of ``members`` at most (or at least) ``count`` start by round ``by``."""

    members: frozenset[int]
    by: int
    count: int
    at_least: bool


@dataclass(frozen=True)
class Node:
    """What is known of the schedules of a node.

    Attributes
    ----------
    earliest, latest
        Start rounds, shape (n,).
    rows
        The counts that are no limit on single starts.
    """

    earliest: tuple[int, ...]
    latest: tuple[int, ...]
    rows: tuple[Row, ...]

    @property
    def empty(self) -> bool:
        """Whether some request has no start left."""
        return any(last < first for first, last in zip(self.earliest, self.latest, strict=True))


def root(instance: Instance, value: int) -> Node:
    """Return the node of all schedules with a TEL below ``value`` (rounds).

    Raises
    ------
    TreeError
        If running the requests one after the other has a lower TEL than ``value``.
    """
    now = tel = 0
    for arrival, output in sorted((int(r.arrival), r.output) for r in instance.requests):
        now = max(now, arrival) + output
        tel += now - arrival
    if value > tel:
        raise TreeError(f"no TEL is below {value}, but one after the other the requests have {tel}")
    arrivals = [int(request.arrival) for request in instance.requests]
    return _closed(instance, value, arrivals, [arrival + value for arrival in arrivals], ())


def children(instance: Instance, value: int, node: Node, branch: Branch) -> tuple[Node, Node]:
    """Return the two nodes of a branch: at most ``most`` starts by its round, and more.

    Raises
    ------
    TreeError
        If the members are not increasing positions of the instance, or there are not more of them
        than ``most``.
    """
    members = branch.members
    if list(members) != sorted(set(members)) or members[-1] >= len(instance):
        raise TreeError("branch: expected increasing positions of the instance")
    if branch.most >= len(members):
        raise TreeError(f"branch: expected fewer than {len(members)}, found {branch.most}")
    few = Row(frozenset(members), branch.by, branch.most, at_least=False)
    many = Row(frozenset(members), branch.by, branch.most + 1, at_least=True)
    return _narrowed(instance, value, node, few), _narrowed(instance, value, node, many)


def evaluate_tree(instance: Instance, nodes: Sequence[TreeNode], value: int, budget: Budget) -> int:
    """Return the lower bound on the TEL, at most ``value`` (rounds), that a tree proves, exactly.

    ``nodes`` is the tree in preorder; a branch is followed by the nodes of its first child (at
    most ``most`` starts) and then by those of its second.

    Proof: docs/proofs/tree.md (P3).

    Raises
    ------
    TreeError
        If nodes are missing or left over, or do not fit the instance.
    TooLongError
        If they take more steps than the budget has.
    """
    open_nodes = [root(instance, value)]
    least = value
    for item in nodes:
        if not open_nodes:
            raise TreeError("nodes are left over")
        node = open_nodes.pop()
        budget.take(_STEPS_OF_A_PRICE * _steps(instance, node, item))
        if isinstance(item, Branch):
            open_nodes += reversed(children(instance, value, node, item))
        elif not node.empty:
            least = min(least, leaf_bound(instance, node, item))
    if open_nodes:
        raise TreeError(f"{len(open_nodes)} nodes are missing")
    return least


def leaf_bound(instance: Instance, node: Node, leaf: Leaf) -> int:
    """Return the bound of a leaf that is not empty (rounds); see :func:`evaluate_tree`.

    Raises
    ------
    TreeError
        If there is not one price for each of the node's rows.
    """
    if len(leaf.rows) != len(node.rows):
        raise TreeError(f"leaf: expected {len(node.rows)} prices of rows, found {len(leaf.rows)}")
    sums = [0, *accumulate(leaf.memory)]
    moments = [0, *accumulate(t * price for t, price in enumerate(leaf.memory))]
    total = -instance.memory * sums[-1]
    fees: list[list[tuple[int, int]]] = [[] for _ in instance.requests]
    for row, price in zip(node.rows, leaf.rows, strict=True):
        sign = -1 if row.at_least else 1
        total -= sign * row.count * price
        for member in row.members:
            fees[member].append((row.by, sign * price))
    for i, request in enumerate(instance.requests):
        near = _near_starts(node, leaf, i)
        prompt, output, last = request.prompt, request.output, len(leaf.memory)
        total += min(
            (start + output - int(request.arrival)) * leaf.denominator
            + tokens_paid(
                prompt, start, min(start + 1, last), min(start + output + 1, last), sums, moments
            )
            + sum(fee for by, fee in fees[i] if start <= by)
            for start in (
                *near,
                *(by + 1 for by, _ in fees[i] if near[-1] <= by < node.latest[i]),
            )
        )
    return -(-total // leaf.denominator)


def _near_starts(node: Node, leaf: Leaf, i: int) -> range:
    """Return the starts of a request that may meet a price on memory, and the one after them."""
    first = node.earliest[i]
    return range(first, min(node.latest[i], max(first, len(leaf.memory))) + 1)


def _steps(instance: Instance, node: Node, item: TreeNode) -> int:
    """Return how many steps a node of the tree takes at most."""
    if isinstance(item, Branch):
        return 2 * (len(instance) + len(node.rows) + len(item.members))
    if node.empty:
        return len(instance)
    rows = [0] * len(instance)
    for row in node.rows:
        for member in row.members:
            rows[member] += 1
    return len(item.memory) + sum(
        (len(_near_starts(node, item, i)) + count) * (1 + count) for i, count in enumerate(rows)
    )


def tokens_paid(prompt: int, start: Any, low: Any, high: Any, sums: Any, moments: Any) -> Any:
    """Return what prompt + t − start tokens pay at each time t of low..high − 1.

    ``sums`` and ``moments`` add up λ_t and t·λ_t over the times before each; starts may be many.
    """
    return (prompt - start) * (sums[high] - sums[low]) + moments[high] - moments[low]


def _narrowed(instance: Instance, value: int, node: Node, row: Row) -> Node:
    """Return a node with one more count."""
    earliest, latest = list(node.earliest), list(node.latest)
    if row.at_least and row.count == len(row.members):
        for i in row.members:
            latest[i] = min(latest[i], row.by)
    elif not row.at_least and row.count == 0:
        for i in row.members:
            earliest[i] = max(earliest[i], row.by + 1)
    else:
        return replace(node, rows=(*node.rows, row))
    return _closed(instance, value, earliest, latest, node.rows)


def _closed(
    instance: Instance, value: int, earliest: list[int], latest: list[int], rows: tuple[Row, ...]
) -> Node:
    """Return a node whose windows follow from equal requests and from the TEL below ``value``."""
    equal: dict[tuple[float, int, int], list[int]] = {}
    for i, request in enumerate(instance.requests):
        equal.setdefault((request.arrival, request.prompt, request.output), []).append(i)
    for group in equal.values():
        for before, after in pairwise(group):
            earliest[after] = max(earliest[after], earliest[before])
    slack = (
        value
        - 1
        - sum(
            first + request.output - int(request.arrival)
            for first, request in zip(earliest, instance.requests, strict=True)
        )
    )
    latest = [min(last, first + slack) for first, last in zip(earliest, latest, strict=True)]
    for group in equal.values():
        for after, before in pairwise(reversed(group)):
            latest[before] = min(latest[before], latest[after])
    return Node(tuple(earliest), tuple(latest), rows)
