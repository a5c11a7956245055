"""The LP relaxation with cliques as arrays, and its prices by HiGHS."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from formulations.bounds.highs import LP, run_highs
from formulations.valid.groups import WindowGroup
from formulations.valid.windows import Windows
from instances import Instance

#: From this many columns on interior point beats simplex.
INTERIOR_FROM = 4_000
#: Up to this many starts the LP takes seconds.
STARTS_UP_TO = 20_000


@dataclass(frozen=True)
class CliqueLP:
    """The LP min cost·v over matrix·v = sides, 0 ≤ v ≤ upper.

    The first ``starts`` columns are starts, the others come in blocks of ``rounds``: running
    requests, tokens, and open windows of each group.
    """

    cost: NDArray[np.float64]
    matrix: Any
    sides: NDArray[np.float64]
    upper: NDArray[np.float64]
    starts: int
    rounds: int

    def prices(
        self, reduced: NDArray[np.float64]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return λ, shape (T + 1,), and μ, shape (groups, T + 1), from reduced costs.

        The price of an upper bound on a variable is the negative of its reduced cost.
        """
        priced = np.maximum(np.nan_to_num(-reduced[self.starts + self.rounds :], posinf=0.0), 0.0)
        priced = priced.reshape(-1, self.rounds)
        return priced[0], priced[1:]


def clique_lp(instance: Instance, windows: Windows, groups: list[WindowGroup]) -> CliqueLP:
    """Return the LP with the rows of ``ilp-sparse(groups=yes)``.

    A start for each request, balances of running requests, tokens and open windows, the last two
    with an upper bound on the variable.
    """
    from scipy.sparse import coo_matrix  # beside Pyomo SciPy takes two seconds to load

    requests = instance.requests
    rounds = windows.horizon + 2
    starts = [
        np.arange(first, last + 1)
        for first, last in zip(windows.earliest, windows.latest, strict=True)
    ]
    owner = np.repeat(np.arange(len(requests)), [len(each) for each in starts])
    start = np.concatenate(starts)
    column = np.arange(len(start))
    prompt = np.array([r.prompt for r in requests])[owner]
    output = np.array([r.output for r in requests])[owner]
    arrival = np.array([int(r.arrival) for r in requests])[owner]
    entries: list[tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]] = []

    def add(rows: NDArray[np.int64], columns: NDArray[np.int64], value: object) -> None:
        entries.append((rows, columns, np.broadcast_to(np.asarray(value, float), rows.shape)))

    n, x = len(requests), len(start)
    time = np.arange(rounds)
    blocks = 2 + len(groups)
    for block in range(blocks):
        add(n + block * rounds + time, x + block * rounds + time, 1.0)
        add(n + block * rounds + time[1:], x + block * rounds + time[:-1], -1.0)
    add(owner, column, 1.0)
    add(n + start + 1, column, -1.0)
    add(n + start + output + 1, column, 1.0)
    add(n + rounds + time[1:], x + time[:-1], -1.0)
    add(n + rounds + start + 1, column, -(prompt + 1.0))
    add(n + rounds + start + output + 1, column, prompt + output + 1.0)
    upper = np.full(x + blocks * rounds, np.inf)
    upper[x + rounds : x + 2 * rounds] = instance.memory
    for g, group in enumerate(groups):
        base = n + (2 + g) * rounds
        upper[x + (2 + g) * rounds : x + (3 + g) * rounds] = group.most
        for member in group.members:
            own = column[owner == member.request]
            opens = np.maximum(start[own] - member.before, 0)
            closes = start[own] + member.after
            own, opens, closes = (each[closes > opens] for each in (own, opens, closes))
            add(base + opens, own, -1.0)
            add(base + closes, own, 1.0)
    rows, columns, values = (np.concatenate(each) for each in zip(*entries, strict=True))
    height = n + blocks * rounds
    matrix = coo_matrix((values, (rows, columns)), shape=(height, len(upper))).tocsc()
    sides = np.zeros(height)
    sides[:n] = 1.0
    cost = np.concatenate((start + output - arrival, np.zeros(len(upper) - x)))
    return CliqueLP(cost, matrix, sides, upper, x, rounds)


def lp_prices(
    instance: Instance, windows: Windows, groups: list[WindowGroup], seconds: float
) -> tuple[NDArray[np.float64], NDArray[np.float64]] | None:
    """Return λ, shape (T + 1,), and μ, shape (groups, T + 1); None if there are none in time.

    Whatever the numbers are, they are only used as prices, which certify a bound after exact
    evaluation.
    """
    lp = clique_lp(instance, windows, groups)
    reduced = _reduced_costs(lp, seconds)
    return None if reduced is None else lp.prices(reduced)


def _reduced_costs(made: CliqueLP, seconds: float) -> NDArray[np.float64] | None:
    """Return the reduced costs that HiGHS finds: simplex, or interior point if it is large."""
    solver = "ipm" if made.starts >= INTERIOR_FROM else "choose"
    lp = LP(made.cost, made.matrix, made.sides, made.sides, made.upper)
    engine = run_highs(lp, seconds, solver)
    solution = engine.getSolution()
    # HiGHS refuses another number of threads as long as this run's threads are there.
    engine.resetGlobalScheduler(True)
    return np.asarray(solution.col_dual) if solution.dual_valid else None
