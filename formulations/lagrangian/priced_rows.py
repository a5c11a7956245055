"""Look-ahead rows with prices, as the search writes them and as compiled kernels take them."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from formulations.lagrangian.start_costs import Ints, price_sums
from formulations.valid.lookahead_row import LookAheadRow
from instances import Instance


@dataclass(frozen=True)
class PricedRow:
    """A look-ahead row and its price on an M-th of a token, at increasing times of at least 0.

    Between the times prices are linear and rounded down, before and after them 0.
    """

    row: LookAheadRow
    times: Sequence[int]
    prices: Sequence[Any]

    def by_time(self) -> tuple[int, NDArray[Any]]:
        """Return the first time, and the prices from there on, rounded down where integers."""
        times, prices = np.asarray(self.times), np.asarray(self.prices)
        if prices.dtype.kind == "f":
            whole: NDArray[Any] = np.interp(np.arange(times[0], times[-1] + 1), times, prices)
            return int(times[0]), whole
        spans = [
            (low * (b - np.arange(a, b)) + high * (np.arange(a, b) - a)) // (b - a)
            for a, b, low, high in zip(times, times[1:], prices, prices[1:], strict=False)
        ]
        return int(times[0]), np.concatenate([*spans, prices[-1:]])


class RowSums(NamedTuple):
    """Priced rows in the order of ``formulations.lagrangian.lookahead_kernels``."""

    rows: tuple[Ints, Ints, Ints, Ints, Ints]
    prefix: tuple[NDArray[Any], NDArray[Any]]
    core: NDArray[np.uint8]


def row_sums(
    instance: Instance, priced: Sequence[PricedRow], class_of: Ints, kind: type
) -> RowSums:
    """Return the sums of prices by row; ``class_of`` are the classes of the requests, all in it."""
    columns = [(each.row.share, each.row.rounds, each.row.weight(instance)) for each in priced]
    shares, rounds, weights = np.array(columns, dtype=np.int64).reshape(-1, 3).T.copy()
    begins, places, sums, moments = [], [0], [], []
    core = np.zeros((len(priced), int(class_of.max()) + 1), dtype=np.uint8)
    for number, each in enumerate(priced):
        begin, prices = each.by_time()
        part = price_sums(prices.astype(kind), 1)
        begins.append(begin)
        sums.append(part.tokens)
        moments.append(part.moments)
        places.append(places[-1] + len(part.tokens))
        core[number, class_of[list(each.row.core)]] = 1
    nothing: NDArray[Any] = np.zeros(0, dtype=kind)
    found = (np.concatenate([nothing, *sums]), np.concatenate([nothing, *moments]))
    where = (np.array(begins, dtype=np.int64), np.array(places, dtype=np.int64))
    return RowSums((shares, rounds, weights, *where), found, core)
