"""The LP relaxation with cliques as arrays, and its prices by HiGHS."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from formulations.bounds.highs_lp import Floats, LinearProgram, run_highs
from formulations.valid.window_groups import WindowGroup
from formulations.valid.windows import Windows
from instances import Instance

#: From this many columns on interior point beats simplex.
INTERIOR_FROM = 4_000
#: Up to this many starts the LP takes seconds.
STARTS_UP_TO = 20_000


def clique_lp(instance: Instance, windows: Windows, groups: list[WindowGroup]) -> LinearProgram:
    """Return the LP with the rows of ``ilp-sparse(groups=yes)``.

    The first columns are starts.  Blocks of T + 2 rounds follow: running requests, tokens, and open
    windows of each group, the last two with an upper bound on the variable.
    """
    from scipy.sparse import coo_matrix  # takes two seconds to load

    rounds = windows.horizon + 2
    counts = np.array(windows.latest) - np.array(windows.earliest) + 1
    n, x = len(instance), int(counts.sum())
    owner = np.repeat(np.arange(n), counts)
    column = np.arange(x)
    start = column + np.repeat(np.array(windows.earliest) - np.cumsum(counts) + counts, counts)
    prompt, output = instance.prompts[owner], instance.outputs[owner]
    entries: list[tuple[NDArray[np.int64], NDArray[np.int64], Floats]] = []

    def add(rows: NDArray[np.int64], columns: NDArray[np.int64], value: object) -> None:
        entries.append((rows, columns, np.broadcast_to(np.asarray(value, float), rows.shape)))

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
    sides = np.zeros(n + blocks * rounds)
    matrix = coo_matrix((values, (rows, columns)), shape=(len(sides), len(upper))).tocsc()
    sides[:n] = 1.0
    cost = np.zeros(len(upper))
    cost[:x] = start + output - instance.arrivals[owner]
    return LinearProgram(cost, matrix, sides, sides, upper)


def lp_prices(
    instance: Instance, windows: Windows, groups: list[WindowGroup], seconds: float
) -> tuple[Floats, Floats] | None:
    """Return λ, shape (T + 1,), and μ, shape (groups, T + 1); None if there are none in time.

    Any numbers are prices that certify a bound after exact evaluation.
    """
    lp = clique_lp(instance, windows, groups)
    solver = "ipm" if windows.starts >= INTERIOR_FROM else "choose"
    engine: Any = run_highs(lp, seconds, solver)
    solution = engine.getSolution()
    # HiGHS refuses another number of threads as long as this run's threads are there.
    engine.resetGlobalScheduler(True)
    if not solution.dual_valid:
        return None
    # The price of an upper bound on a variable is the negative of its reduced cost.
    rounds = windows.horizon + 2
    bounded = np.asarray(solution.col_dual)[windows.starts + rounds :].reshape(-1, rounds)
    priced = np.maximum(np.nan_to_num(-bounded, posinf=0.0), 0.0)
    return priced[0], priced[1:]
