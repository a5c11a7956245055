"""Evaluation of prices on states of running requests, without the kernels that found them.

Proof: docs/proofs/configurations.md (P2).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from formulations.lagrangian import certificate_limits as limits
from formulations.lagrangian.budget import Budget
from formulations.lagrangian.certificate_file import Certificate, CertificateError
from formulations.lagrangian.exact import SAFE
from formulations.lagrangian.priced_states import (
    PricedStates,
    interpolated,
    times_at_once,
    worths,
)
from formulations.valid.states import searchable_states
from instances import Instance, Request

#: Steps of one interpolation between prices of states, and of a call that adds many numbers.
_STEPS_OF_A_PRICE, _STEPS_OF_A_CALL = 100, 300
#: Divisions and products for a price at a time between knots.
_STEPS_OF_A_TIME = 4


def evaluate_states(
    instance: Instance,
    certificate: Certificate,
    states: PricedStates,
    latest: Sequence[int] | None,
    budget: Budget,
) -> int:
    """Return the bound of prices on states, without the compiled kernels that searched for them."""
    knots = states.knots
    for name, grid in (("knots", knots), ("tokens", states.tokens), ("left", states.left)):
        if len(grid) < 2 or any(low >= high for low, high in pairwise(grid)):
            raise CertificateError(f"states.{name}: expected two or more, increasing")
    shape = (len(knots), len(states.tokens), len(states.left))
    if len(states.table) != math.prod(shape) or knots[0] < 1:
        raise CertificateError("states: expected a price for each point, and times from 1 on")
    lasts, kind = measured(instance, certificate, states, latest, budget)
    seen = {
        (request.prompt + j, (request.output - j) * states.lookahead)
        for request in instance.requests
        for j in range(1, request.output + 1)
    }
    for name, grid, values in (
        ("tokens", states.tokens, [held for held, _ in seen]),
        ("left", states.left, [rounds for _, rounds in seen]),
    ):
        if min(values) < grid[0] or max(values) > grid[-1]:
            raise CertificateError(f"states.{name}: expected to hold all states")
    table = np.array(states.table, dtype=object).reshape(shape)
    order = sorted(seen, key=lambda state: -state[1])
    priced = {state: interpolated(table, states, *state) for state in order}
    known: dict[tuple[int, int, int, int], int] = {}
    total = 0
    for request, last in zip(instance.requests, lasts, strict=True):
        like = (int(request.arrival), request.prompt, request.output, last)
        if like not in known:
            known[like] = _least_state_cost(request, priced, certificate, states, last, kind)
        total += known[like]
    best = worths(order, priced, instance.memory, len(knots), kind)
    for (low, high), (here, there) in zip(pairwise(knots), pairwise(best), strict=True):
        total -= _interpolated_sum(high - low, here, there)
    return -(-(total - best[-1]) // certificate.denominator)


def measured(
    instance: Instance,
    certificate: Certificate,
    states: PricedStates,
    latest: Sequence[int] | None,
    budget: Budget,
) -> tuple[list[int], type]:
    """Return the last start of each request to be looked at, and the kind of number that does.

    Refuses what would take too long, and takes its steps of the budget.
    """
    knots = states.knots
    outputs = [request.output for request in instance.requests]
    lasts = _last_starts(instance, knots[-1], latest)
    most = instance.memory // (1 + min(request.prompt for request in instance.requests))
    # No number is larger: of patterns, of interpolations between knots, of a start's cost.
    highest = max(states.table) + 1
    far = max(knots[-1], *lasts) + max(outputs)
    payers = max(4 * (most + 1), max(b - a for a, b in pairwise(knots)) + max(outputs))
    largest = highest * payers + certificate.denominator * far
    kind: type = np.int64 if max(largest, knots[-1]) < SAFE else object
    weight = 1 if kind is np.int64 else largest.bit_length()
    _refuse_long_states(instance, states, lasts, weight, budget)
    return lasts, kind


def _last_starts(instance: Instance, end: int, latest: Sequence[int] | None) -> list[int]:
    """Return the last start of each request to be looked at where no time past ``end`` is priced.

    A start at ``end`` or later holds its first token after it, so it costs its latency alone.
    """
    arrivals = [int(request.arrival) for request in instance.requests]
    ends = [end] * len(instance) if latest is None else [min(end, last) for last in latest]
    return [max(arrival, last) for arrival, last in zip(arrivals, ends, strict=True)]


def _refuse_long_states(
    instance: Instance, states: PricedStates, lasts: Sequence[int], weight: int, budget: Budget
) -> None:
    """Refuse prices on states whose evaluation takes too many steps or too much memory.

    A step of numbers beyond 64 bits counts ``weight`` times.
    """
    knots = len(states.knots)
    starts = sum(
        (limits.STEPS_OF_A_START + request.output * _STEPS_OF_A_TIME)
        * (last - int(request.arrival) + 1)
        for request, last in zip(instance.requests, lasts, strict=True)
    )
    limits.refuse_long(budget, starts * weight)
    left = budget.left("steps", limits.MOST_STEPS) // (knots * weight)
    found = searchable_states(instance, left, lookahead=states.lookahead)
    if found is None:
        return limits.refuse_long(budget, limits.MOST_STEPS + 1)
    room = instance.memory - found.tokens - found.left
    times = np.where(found.left > 0, room // np.maximum(found.left, 1) + 1, found.most)
    calls = int(np.minimum(times, found.most).sum())
    entries = (found.most + 1) * (instance.memory + 1)
    blocks = -(-knots // times_at_once(entries))
    steps = found.work * knots * weight
    steps += calls * blocks * _STEPS_OF_A_CALL + len(found) * knots * _STEPS_OF_A_PRICE
    return limits.refuse_long(budget, steps, entries * weight)


def _interpolated_sum(width: int, here: int, there: int) -> int:
    """Return Σ ⌈(here·(width − e) + there·e) / width⌉ over e = 0..width − 1, in closed form.

    Proof.  With n = there − here the terms are here + ⌈n·e / width⌉.  Without rounding up they sum
    to here·width + n·(width − 1)/2.  Rounding up adds (−n·e mod width) / width; with
    d = gcd(n, width) these residues are the multiples of d below width, each d times, which sum to
    d·d·(width/d)·(width/d − 1)/2 = width·(width − d)/2.  So it adds (width − d)/2 in all.
    """
    slope = there - here
    return here * width + (slope * (width - 1) + width - math.gcd(slope, width)) // 2


def _least_state_cost(
    request: Request,
    priced: dict[tuple[int, int], list[int]],
    certificate: Certificate,
    states: PricedStates,
    last: int,
    kind: type,
) -> int:
    """Return denominator times the least priced latency of a request, starts up to ``last``."""
    arrival, output = int(request.arrival), request.output
    knots: NDArray[Any] = np.array(states.knots, dtype=kind)
    prices: list[NDArray[Any]] = [
        np.array(priced[request.prompt + j, (output - j) * states.lookahead], dtype=kind)
        for j in range(1, output + 1)
    ]
    least = []
    for first in range(arrival, last + 1, limits.STARTS):
        stop = min(first + limits.STARTS, last + 1)
        times = np.arange(first + 1, stop + output)
        knot = np.clip(np.searchsorted(knots, times, side="right") - 1, 0, len(knots) - 2)
        inside = (knots[0] <= times) & (times <= knots[-1])
        width = knots[knot + 1] - knots[knot]
        # Weights of the knot before and of the one after; before the first and past the last none.
        ahead = np.where(inside, times - knots[knot], 0)
        back = np.where(inside, width - ahead, 0)
        starts: NDArray[Any] = np.arange(first, stop).astype(kind)
        cost = (starts + (output - arrival)) * certificate.denominator
        for j, price in enumerate(prices):
            at = slice(j, j + stop - first)
            paid = price[knot[at]] * back[at] + price[knot[at] + 1] * ahead[at]
            cost += paid // width[at]
        least.append(int(cost.min()))
    return min(least)
