"""Classes of equal requests, prices on a grid of times, and the cheapest starts under them."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Annotated

import numpy as np
from numpy.typing import NDArray

from formulations.bounds.highs_lp import Floats
from formulations.lagrangian.exact_integers import exact_sum
from formulations.lagrangian.priced_rows import PricedRow, RowSums
from formulations.lagrangian.start_costs import price_sums
from formulations.valid.windows import Windows
from instances import Instance

Ints = NDArray[np.int64]


@dataclass(frozen=True)
class DualOptions:
    """Options of ``bound-dual``: its multipliers, and the order of columns and grids."""

    lookahead: Annotated[
        bool, "payments for the tokens that running requests are about to hold, too"
    ] = True
    knots: Annotated[int, "times of the first grid, between which multipliers are linear"] = 80
    most_knots: Annotated[int, "times of the finest grid at most"] = 2_000
    tolerance: Annotated[float, "relative gap to the LP at which the first grid is left"] = 1e-4
    last_tolerance: Annotated[float, "that of the last grid; each one halves it"] = 5e-6
    enough: Annotated[float, "relative gain of a grid below which the search ends"] = 2e-5
    smoothing: Annotated[float, "share of the best multipliers in the next ones (Wentges)"] = 0.5
    keep_factor: Annotated[float, "columns go if so many times dearer than the gap allows"] = 10.0
    split_share: Annotated[float, "share of misjudged memory whose spans are split"] = 0.95


#: Distinct requests up to which each has a convexity row; beyond, requests of similar volume share
#: one, and the master stays small.
MOST_CLUSTERS = 1500
#: Price evaluations, requests times rounds, from which threads share them.
SHARE_FROM = 20_000_000
#: Starts with look-ahead rows are a share of their round apart, or one round.
STARTS_APART = 250
#: Later than every round.
NEVER = 1 << 61


@dataclass(frozen=True)
class RequestClasses:
    """Requests that are the same in all that matters, counted; shape (classes,) each.

    ``sizes`` counts the requests of a class; ``class_of``, shape (n,), is the class of a request.
    """

    arrivals: Ints
    latest: Ints
    prompts: Ints
    outputs: Ints
    sizes: Ints
    class_of: Ints

    def __len__(self) -> int:
        return len(self.sizes)

    @property
    def span(self) -> int:
        """Rounds of arrivals within which volumes decide on the order, and on clusters."""
        return int(self.arrivals.max()) // 30 + 1

    @property
    def volumes(self) -> Ints:
        """Token-rounds that one request of each class holds over its run."""
        return self.prompts * self.outputs + self.outputs * (self.outputs + 1) // 2


def request_classes(instance: Instance, windows: Windows | None = None) -> RequestClasses:
    """Return the distinct (arrival, latest start, prompt, output) of an instance, sorted."""
    latest = np.full(len(instance), NEVER) if windows is None else np.array(windows.latest)
    rows = np.stack([instance.arrivals, latest, instance.prompts, instance.outputs], axis=1)
    distinct, class_of, sizes = np.unique(rows, axis=0, return_inverse=True, return_counts=True)
    arrivals, latest, prompts, outputs = np.ascontiguousarray(distinct.T)
    return RequestClasses(
        arrivals, latest, prompts, outputs, sizes.astype(np.int64), class_of.ravel()
    )


class PriceGrid:
    """Prices that are linear between increasing knots from 1 to the horizon; past it they are 0."""

    def __init__(self, knots: Ints) -> None:
        self.knots = knots
        self.times = np.arange(knots[-1] + 1)
        last = max(len(knots) - 2, 0)
        self.knot = np.clip(np.searchsorted(knots, self.times, side="right") - 1, 0, last)
        widths = np.maximum(knots[np.minimum(self.knot + 1, len(knots) - 1)] - knots[self.knot], 1)
        self.share = np.clip((self.times - knots[self.knot]) / widths, 0.0, 1.0)
        # Nothing is held at time 0.
        below, share, size = self.knot[1:], self.share[1:], len(knots) + 1
        weights = np.bincount(below, 1 - share, size) + np.bincount(below + 1, share, size)
        self.weights = weights[: len(knots)]

    def __len__(self) -> int:
        return len(self.knots)

    def prices(self, at_knots: Floats) -> Floats:
        """Return λ_t for t = 0..T from its values at the knots; nothing is held at time 0."""
        prices = np.interp(self.times, self.knots, at_knots)
        prices[0] = 0.0
        return prices


@dataclass(frozen=True)
class MasterRows:
    """Look-ahead rows of the master, each weighted over time by the hat function of a knot.

    ``hats`` are the rows with hats as prices, ``sums`` the same for the kernels, ``weights`` the
    sum of each hat, shape (rows,).
    """

    hats: tuple[PricedRow, ...]
    sums: RowSums
    weights: Floats

    def __len__(self) -> int:
        return len(self.hats)

    def priced(self, payments: Floats) -> list[PricedRow]:
        """Return the rows with prices on an M-th of a token."""
        return [
            replace(hat, prices=np.asarray(hat.prices) * price)
            for hat, price in zip(self.hats, payments, strict=True)
            if price > 0
        ]

    def sums_at(self, payments: Floats) -> RowSums:
        """Return the sums of prices on an M-th of a token, given payments on tokens."""
        chosen = np.flatnonzero(payments > 0)
        shares, rounds, weights, begins, places = self.sums.rows
        sizes = np.diff(places)
        of_entry = np.repeat(payments, sizes)
        kept = of_entry > 0
        sums, moments = ((each * of_entry)[kept] for each in self.sums.prefix)
        where = np.concatenate([[0], np.cumsum(sizes[chosen])])
        columns = (shares[chosen], rounds[chosen], weights[chosen], begins[chosen], where)
        return RowSums(columns, (sums, moments), self.sums.core[chosen])


class ClassPricing:
    """The cheapest start of every class under given prices, in floating point.

    ``horizon`` is T, the last priced time; ``threads`` share the work where there is much of it.
    """

    def __init__(
        self, instance: Instance, classes: RequestClasses, horizon: int, threads: int
    ) -> None:
        self._memory, self._classes = instance.memory, classes
        # Σ (o_i − a_i), the part of the TEL that no schedule can change (rounds).
        self.constant = exact_sum(instance.outputs) - exact_sum(instance.arrivals)
        busy = threads if len(classes) * horizon >= SHARE_FROM else 1
        self._edges = np.linspace(0, len(classes), 8 * busy + 1).astype(int).tolist()
        self._pool = ThreadPoolExecutor(busy) if busy > 1 else None
        # Starts with rows: further and further apart, up to the horizon and past it.
        later = [0]
        while later[-1] <= horizon:
            later.append(later[-1] + max(1, later[-1] // STARTS_APART))
        self._later = np.array(later, dtype=np.int64)

    def __call__(
        self, prices: Floats, rows: MasterRows | None = None, payments: Floats | None = None
    ) -> tuple[float, Ints, Floats]:
        """Return the Lagrangian value (rounds), the cheapest starts and their costs by class.

        With payments, prices of look-ahead rows on M-ths of tokens, of some starts only.
        """
        from formulations.lagrangian.lookahead_kernels import cheapest_paid_starts
        from formulations.lagrangian.price_kernels import cheapest_starts  # loads the compiler

        classes = self._classes
        costs = np.zeros(len(classes))
        starts = np.zeros(len(classes), dtype=np.int64)
        sums = price_sums(prices, 1.0)
        of_rows, worth = None, 0.0
        if rows is not None and payments is not None and payments.any():
            of_rows = rows.sums_at(payments)
            worth = float(payments @ rows.weights) * self._memory**2
        sizes = (classes.prompts, classes.outputs)
        prefix = (sums.tokens, sums.moments)

        def price(first: int, stop: int) -> None:
            filled = (first, stop, costs, starts)
            arrivals, latest = classes.arrivals, classes.latest
            if of_rows is None:
                cheapest_starts(arrivals, latest, *sizes, *prefix, sums.unit, *filled)
                return
            of_prices = prefix, sums.unit, *of_rows, self._memory, self._later
            cheapest_paid_starts((arrivals, *sizes), latest, *of_prices, *filled)

        run = map if self._pool is None else self._pool.map
        list(run(price, self._edges[:-1], self._edges[1:]))
        value = float(costs @ classes.sizes) + self.constant - self._memory * float(prices.sum())
        return value - worth, starts, costs

    def near_cheapest(self, prices: Floats, count: int) -> list[Ints]:
        """Return ``count`` proposals: of each class the cheapest starts, from the best on."""
        classes, last = self._classes, len(prices) - 1
        sums = price_sums(prices, 1.0)
        proposals = np.empty((count, len(classes)), dtype=np.int64)
        for each in range(len(classes)):
            first = int(classes.arrivals[each])
            begin = np.arange(first, min(int(classes.latest[each]), max(first, last)) + 1)
            costs = sums.of_runs(classes.prompts[each], classes.outputs[each], begin)
            order = np.argsort(costs, kind="stable")[:count]
            proposals[:, each] = begin[order[np.minimum(np.arange(count), len(order) - 1)]]
        return list(proposals)
