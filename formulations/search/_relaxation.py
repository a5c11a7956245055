"""Prices for the search: the LP of ``lp-cliques`` handed to HiGHS as arrays, without Pyomo."""

from __future__ import annotations

import highspy
import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_matrix

from formulations.groups import WindowGroup
from formulations.windows import Windows
from instances import Instance

#: From this many columns on interior point beats simplex.
INTERIOR_FROM = 4_000


def lp_prices(
    instance: Instance, windows: Windows, groups: list[WindowGroup], seconds: float
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return λ, shape (T + 1,), and μ, shape (groups, T + 1); zeros if HiGHS has no duals in time.

    The rows are those of ``ilp-cliques``: a start for each request, balances of running requests,
    tokens and open windows, the last two with an upper bound on the variable.  The price of such a
    bound is the negative of the variable's reduced cost.  Whatever the numbers are, they are
    only used as prices, which certify a bound after exact evaluation.
    """
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
    upper = np.full(x + blocks * rounds, highspy.kHighsInf)
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
    lp = highspy.HighsLp()
    lp.num_row_, lp.num_col_ = matrix.shape
    lp.col_cost_ = np.concatenate((start + output - arrival, np.zeros(len(upper) - x)))
    lp.col_lower_, lp.col_upper_ = np.zeros(len(upper)), upper
    sides = np.zeros(height)
    sides[:n] = 1.0
    lp.row_lower_, lp.row_upper_ = sides, sides
    lp.a_matrix_.format_ = highspy.MatrixFormat.kColwise
    lp.a_matrix_.start_, lp.a_matrix_.index_ = matrix.indptr, matrix.indices
    lp.a_matrix_.value_ = matrix.data
    engine = highspy.Highs()
    engine.setOptionValue("output_flag", False)
    engine.setOptionValue("threads", 1)
    engine.setOptionValue("time_limit", max(seconds, 0.01))
    if x >= INTERIOR_FROM:
        engine.setOptionValue("solver", "ipm")
        engine.setOptionValue("run_crossover", "off")
    engine.passModel(lp)
    engine.run()
    solution = engine.getSolution()
    reduced = np.zeros(len(upper))
    if solution.dual_valid:
        reduced = np.maximum(-np.asarray(solution.col_dual), 0.0)
    priced = np.nan_to_num(reduced[x + rounds :], posinf=0.0).reshape(blocks - 1, rounds)
    return priced[0], priced[1:]
