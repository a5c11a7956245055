"""A_max and A_random: a random order, all outputs at their upper ends or as they are.

Lines as in ``heuristics.reference.h_sf``, whose loop this is.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from heuristics.reference.h_sf import largest_batches
from heuristics.reference.tokens_held import outputs_of
from instances import Instance
from schedules import Schedule, make_schedule


def a_max(
    instance: Instance, upper: Sequence[int], draw: Callable[[], float], order: str
) -> Schedule:
    """C Algorithm 1, A_max: take all o_i = u, as many as fit, drawn at random.

    C draws anew in each round among requests that are alike; this is one random order of all, or
    with ``order="upper"`` one in which smaller u_i come first.
    """
    by_number = permutation(len(instance), draw)
    queue = sorted(by_number, key=upper.__getitem__) if order == "upper" else by_number
    starts = largest_batches(instance, queue, upper)
    return make_schedule(instance, starts, "a-max")


def a_random(instance: Instance, draw: Callable[[], float]) -> Schedule:
    """C Algorithm 4, A_random: each round takes what fits of a permutation of all."""
    starts = largest_batches(instance, permutation(len(instance), draw), outputs_of(instance))
    return make_schedule(instance, starts, "a-random")


def permutation(n: int, draw: Callable[[], float]) -> list[int]:
    """Return 0..n−1 in the order of n random numbers."""
    numbers = [draw() for _ in range(n)]
    return sorted(range(n), key=numbers.__getitem__)
