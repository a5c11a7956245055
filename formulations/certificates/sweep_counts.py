"""The rest of a sweep gone through with how many of each kind have completed.

Whole levels are NumPy matrices, compared by sorting their rows.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from formulations.certificates.budget import Budget
from formulations.certificates.sweep_levels import Step
from formulations.certificates.sweep_tables import FAR, BackwardError, Ints, Network, refuse_large

#: Steps for a path that is counted, and for each kind of it; numbers held for a path.
STEPS_OF_A_PATH, STEPS_OF_A_KIND, HELD_OF_A_PATH = 200, 20, 12
#: Bits of a number that several places of a row are told by.
WORD = 59


def _words(places: NDArray[Any], end: int) -> Ints:
    """Return whole numbers of 64 bits, (numbers, rows), that are equal where the rows are.

    Every place is below ``end``, so as many places as fit are the digits of one number.
    """
    digits = max(1, WORD // max(1, (end - 1).bit_length()))
    words = np.zeros((-(-len(places) // digits), len(places[0])), dtype=np.int64)
    for place, digit in enumerate(places):
        words[place // digits] *= end
        words[place // digits] += digit
    return words


def _different(words: Ints) -> tuple[Ints, Ints]:
    """Return a place of each different column, and for every column which of them it equals."""
    order = np.lexsort(words)
    ordered = words[:, order]
    new = np.ones(len(order), dtype=bool)
    new[1:] = (ordered[:, 1:] != ordered[:, :-1]).any(axis=0)
    to = np.empty(len(order), dtype=np.int64)
    to[order] = np.cumsum(new) - 1
    return order[new], to


def count(
    network: Network, steps: list[Step], multipliers: Ints, value: int, budget: Budget
) -> None:
    """Go through the paths left with how many of each kind have completed.

    Raises
    ------
    BackwardError
        If a path is a schedule.
    """
    counts = network.kinds.counts
    largest = max(abs(int(each)) for each in multipliers) * (len(steps) + 1) * int(counts.sum())
    refuse_large(2 * largest + network.window)
    limit = network.window + int(multipliers @ counts)
    # The least that is paid from each node of each level to the end.
    rest = [np.zeros(1, dtype=np.int64)]
    costs = [step.slack + step.entered.astype(np.int64) @ multipliers for step in steps]
    sizes = [1, *(int(step.to.max()) + 1 for step in steps)]
    for step, cost, size in zip(steps[::-1], costs[::-1], sizes[-2::-1], strict=True):
        least = np.full(size, FAR)
        np.minimum.at(least, step.origin, cost + rest[-1][step.to])
        rest.append(least)
    rest.reverse()
    node, paid = np.zeros(1, dtype=np.int64), np.zeros(1, dtype=np.int64)
    done = np.zeros((1, len(counts)), dtype=network.kinds.counter)
    for step, cost, least in zip(steps, costs, rest[1:], strict=True):
        order = np.argsort(step.origin, kind="stable")
        begins = np.searchsorted(step.origin[order], np.arange(int(step.origin.max()) + 2))
        known = node < len(begins) - 1
        node, paid, done = node[known], paid[known], done[known]
        number = begins[node + 1] - begins[node]
        paths = int(number.sum())
        budget.take(paths * (STEPS_OF_A_PATH + STEPS_OF_A_KIND * len(counts)))
        budget.hold(paths * (HELD_OF_A_PATH + len(counts) // 2))
        state = np.repeat(np.arange(len(node)), number)
        within = np.arange(len(state)) - np.repeat(np.cumsum(number) - number, number)
        way = order[begins[node[state]] + within]
        longer = paid[state] + cost[way]
        fine = longer + least[step.to[way]] <= limit
        state, way, longer = state[fine], way[fine], longer[fine]
        counted = done[state] + step.entered[way]
        fine = (counted <= counts).all(axis=1)
        counted, way, longer = counted[fine], way[fine], longer[fine]
        words = _words(counted.T, int(counts.max()) + 1)
        first, to = _different(np.concatenate((words, step.to[way][None])))
        paid = np.full(len(first), FAR)
        np.minimum.at(paid, to, longer)
        node, done = step.to[way][first], counted[first]
        if not len(node):
            return
    if (done == counts).all(axis=1).any():
        raise BackwardError(f"a schedule has a TEL below {value}")
