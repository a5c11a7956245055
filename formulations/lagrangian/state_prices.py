"""Prices on states of running requests: costs of starts, and worths of patterns."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from formulations.lagrangian.exact_integers import SAFE, exact_sum, largest_denominator, state_cost
from formulations.valid.running_states import Ints, States
from instances import Instance

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Grids:
    """Points of time, of tokens held and of rounds left at which prices are free, increasing.

    ``knots`` are times from 1 on; before the first and after the last one prices are 0.  ``tokens``
    and ``left`` contain the states between their ends.
    """

    knots: Ints
    tokens: Ints
    left: Ints

    @property
    def shape(self) -> tuple[int, int, int]:
        """Number of points of each."""
        return len(self.knots), len(self.tokens), len(self.left)


@dataclass(frozen=True)
class StatePrices(Grids):
    """Prices π_t(w, r) ≥ 0 on states and times, linear between the points of a grid.

    ``numerators`` are the prices at the points times ``denominator``, at least 0, in the shape of
    the grids.
    """

    numerators: Ints
    denominator: int

    def at_knots(self, states: States) -> Ints:
        """Return the numerators of all states at the knots, rounded down, (knots, states)."""
        a, b, width = spans(self.tokens, states.tokens)
        c, d, height = spans(self.left, states.left)
        table = self.numerators
        # Weights of the lower point and of the upper one.
        w0, w1 = self.tokens[a + 1] - states.tokens, states.tokens - self.tokens[a]
        r0, r1 = self.left[c + 1] - states.left, states.left - self.left[c]
        low = r0 * table[:, a, c] + r1 * table[:, a, d]
        high = r0 * table[:, b, c] + r1 * table[:, b, d]
        found: Ints = (w0 * low + w1 * high) // (width * height)
        return np.ascontiguousarray(found)


def spans(grid: Ints, values: Ints) -> tuple[Ints, Ints, Ints]:
    """Return the grid's points below and above each value, and their distance."""
    below = np.clip(np.searchsorted(grid, values, side="right") - 1, 0, len(grid) - 2)
    return below, below + 1, grid[below + 1] - grid[below]


def over_time(knots: Ints, values: Ints) -> Ints:
    """Return values at the knots, shape (knots, ...), at the times 0..T, rounded down.

    Before the first knot they are 0.
    """
    times = np.arange(int(knots[-1]) + 1)
    below, above, width = (
        each.reshape(-1, *[1] * (values.ndim - 1)) for each in spans(knots, times)
    )
    ahead = times.reshape(below.shape) - knots[below]
    found: Ints = (width - ahead) * values[below.ravel()] + ahead * values[above.ravel()]
    found //= width
    found[: knots[0]] = 0
    return found


@dataclass(frozen=True)
class EvaluatedStatePrices:
    """State prices with the Lagrangian value, ``total`` / their denominator (rounds)."""

    total: int
    table: StatePrices

    @property
    def value(self) -> float:
        """The Lagrangian value (rounds)."""
        return self.total / self.table.denominator

    @property
    def bound(self) -> int:
        """The certified lower bound on the TEL (rounds)."""
        return -(-self.total // self.table.denominator)


def evaluate_table(
    instance: Instance, states: States, table: StatePrices, pool: ThreadPoolExecutor | None = None
) -> EvaluatedStatePrices:
    """Evaluate the Lagrangian of ``bound-patterns`` exactly, as an integer times 1/denominator.

    It needs the best patterns of the knots, and no starts past the last one, which pay nothing.
    Equal requests are priced once.

    Proof: docs/proofs/configurations.md (P2).
    """
    from formulations.lagrangian.price_kernels import least_costs, most_worth  # loads the compiler

    values, outputs = table.at_knots(states), instance.outputs
    rows = np.stack([instance.arrivals, instance.prompts, outputs], axis=1)
    one, counts = np.unique(rows, axis=0, return_index=True, return_counts=True)[1:]
    arrivals = instance.arrivals[one]
    latest = np.maximum(arrivals, table.knots[-1])
    offsets = (np.cumsum(outputs) - outputs)[one]
    least = least_costs(
        *(arrivals, latest, outputs[one], offsets, states.of, values, table.knots),
        table.denominator,
    )

    def worth(at_knot: Ints) -> int:
        return int(most_worth(states.tokens, states.left, at_knot, states.memory, states.most))

    run = map if pool is None else pool.map
    worths = np.array(list(run(worth, values)), dtype=np.int64)
    total = sum(a * b for a, b in zip(counts.tolist(), least.tolist(), strict=True))
    total += table.denominator * int((outputs - instance.arrivals).sum())
    # At least their worth at each time.
    return EvaluatedStatePrices(total - exact_sum(-over_time(table.knots, -worths)), table)


def rounded_table(instance: Instance, states: States, grids: Grids, prices: Floats) -> StatePrices:
    """Return prices in the grids' shape as fractions of a denominator safe for 64 bits.

    Raises OverflowError if the prices are too large for exact 64-bit arithmetic.
    """
    floats = np.maximum(prices, 0.0)
    if not np.all(np.isfinite(floats)):
        raise ValueError("expected finite prices")
    widest = [int(np.diff(grid).max()) for grid in (grids.knots, grids.tokens, grids.left)]
    longest = int(instance.outputs.max())
    rounds = int(grids.knots[-1] + instance.arrivals.max()) + longest + 1
    largest = float(floats.max(initial=0.0)) + 1
    cost = state_cost(rounds, largest, max(states.most, longest), widest)
    denominator = largest_denominator(lambda trial: cost * trial < SAFE / 2, 1 << 24)
    if denominator is None:
        raise OverflowError("prices are too large for exact 64-bit arithmetic")
    numerators = np.rint(floats * denominator).astype(np.int64)
    return StatePrices(grids.knots, grids.tokens, grids.left, numerators, denominator)
