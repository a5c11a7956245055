"""Compiled kernels of the pattern bound: the best pattern, the cost of every start; integers."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit


@njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def best_patterns(tokens: Any, left: Any, values: Any, memory: int, most: int) -> Any:
    """Return the most valuable pattern of each size and how it is made up.

    States come in order of falling ``left``.  The search adds them one after the other, a state
    any number of times.  When (w, r) is added to k requests that hold W tokens now, all of these
    are left with at least r rounds, so memory suffices at its completion if and only if
    W + w + (k + 1)·r ≤ M: the condition of ``formulations.valid.states.is_pattern``, and all that
    matters of what was added before is k and W.  So the best value for each (k, W) is exact over
    all patterns that may repeat a state; a schedule's patterns are among them.

    Returns
    -------
    Values, shape (most + 1,), −1 where there is none; last step of each; and of each step the
    step before it and its state.
    """
    best = np.full((most + 1, memory + 1), -1, dtype=np.int64)
    step = np.full((most + 1, memory + 1), -1, dtype=np.int64)
    best[0, 0] = 0
    before = np.empty(1 << 14, dtype=np.int64)
    state = np.empty(1 << 14, dtype=np.int64)
    steps = 0
    reached = 0
    for k in range(len(tokens)):
        value = values[k]
        if value <= 0:
            continue
        held = tokens[k]
        rounds = left[k]
        # ``reached`` grows while the same state is added again.
        n = 0
        while n <= reached and n < most:
            room = memory - held - (n + 1) * rounds
            if room < 0:
                break
            for now in range(room + 1):
                if best[n, now] < 0 or best[n, now] + value <= best[n + 1, now + held]:
                    continue
                best[n + 1, now + held] = best[n, now] + value
                if steps == len(before):
                    before = np.concatenate((before, np.empty_like(before)))
                    state = np.concatenate((state, np.empty_like(state)))
                before[steps] = step[n, now]
                state[steps] = k
                step[n + 1, now + held] = steps
                steps += 1
                reached = max(reached, n + 1)
            n += 1
    found = np.full(most + 1, -1, dtype=np.int64)
    last = np.full(most + 1, -1, dtype=np.int64)
    for n in range(reached + 1):
        for now in range(memory + 1):
            if best[n, now] > found[n]:
                found[n] = best[n, now]
                last[n] = step[n, now]
    return found, last, before[:steps], state[:steps]


@njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def priced_starts(
    arrivals: Any,
    latest: Any,
    outputs: Any,
    offsets: Any,
    of: Any,
    values: Any,
    knots: Any,
    unit: int,
    places: Any,
    costs: Any,
) -> None:
    """Fill ``unit``·start + priced states of every start arrivals_i..latest_i.

    The price of state q at time t between knots a ≤ t < b is
    ⌊((b − t)·values[a, q] + (t − a)·values[b, q]) / (b − a)⌋; before the first knot and past the
    last one it is 0.

    Parameters
    ----------
    of, offsets
        States of request i: of[offsets[i]:offsets[i] + outputs[i]].
    values : int64 array, shape (knots, states)
    places, costs
        Cost of start p of request i: costs[places[i] + p − arrivals[i]].
    """
    last = knots[-1]
    span = np.zeros(last + 1, dtype=np.int64)
    for k in range(len(knots) - 1):
        for t in range(knots[k], knots[k + 1]):
            span[t] = k
    span[last] = len(knots) - 2
    for i in range(len(arrivals)):
        for start in range(arrivals[i], latest[i] + 1):
            cost = unit * start
            for j in range(1, outputs[i] + 1):
                t = start + j
                if t < knots[0]:
                    continue
                if t > last:
                    break
                k = span[t]
                q = of[offsets[i] + j - 1]
                low = knots[k]
                high = knots[k + 1]
                cost += ((high - t) * values[k, q] + (t - low) * values[k + 1, q]) // (high - low)
            costs[places[i] + start - arrivals[i]] = cost
