"""Compiled kernels of the master over patterns: its columns, and the matrix of its Newton steps.

Imported only where the compiler is needed.  All of it is floating point: any prices certify.
"""

from __future__ import annotations

import numpy as np

from support.compiling import njit


@njit(cache=True, nogil=True)
def start_use(starts, outputs, first, of, points, shares, knot, ahead, block):
    """Return what starts use of the points of knots and states, as rows of a CSR matrix.

    The entries of a row come in no order: sorting here would double what this takes to compile.

    Parameters
    ----------
    starts, outputs, first : int64 arrays, shape (columns,)
        Start round, output (tokens), and place in ``of`` of the first state of each column.
    of
        States in the order in which requests pass through them.
    points, shares : arrays, shape (states, 4)
        Points of tokens held and rounds left around each state, and their weights.
    knot, ahead : arrays, shape (T + 1,)
        The time t counts with 1 − ``ahead[t]`` for ``knot[t]``, with the rest for the next one.
    block
        Points of one knot.
    """
    rows = np.zeros(len(starts) + 1, dtype=np.int64)
    index = np.empty(1 << 12, dtype=np.int64)
    value = np.empty(1 << 12)
    sums = np.zeros((knot[-1] + 2) * block)
    seen = np.zeros(len(sums), dtype=np.bool_)
    touched = np.empty(len(sums), dtype=np.int64)
    filled = 0
    for c in range(len(starts)):
        count = 0
        for j in range(1, min(outputs[c], len(knot) - 1 - starts[c]) + 1):
            t = starts[c] + j
            q = of[first[c] + j - 1]
            for side in range(2):
                here = ahead[t] if side else 1.0 - ahead[t]
                for e in range(4):
                    if here * shares[q, e] <= 0.0:
                        continue
                    at = (knot[t] + side) * block + points[q, e]
                    if not seen[at]:
                        seen[at] = True
                        touched[count] = at
                        count += 1
                    sums[at] += here * shares[q, e]
        while filled + count > len(index):
            index = np.concatenate((index, np.empty_like(index)))
            value = np.concatenate((value, np.empty_like(value)))
        for x in range(count):
            at = touched[x]
            index[filled] = at
            value[filled] = sums[at]
            sums[at] = 0.0
            seen[at] = False
            filled += 1
        rows[c + 1] = filled
    return value[:filled].copy(), index[:filled].copy(), rows


@njit(cache=True, nogil=True, fastmath=True)
def add_normal(rows, index, value, weights, owner, panels, border, own):
    """Add up weight · a aᵀ over columns (a, −e_i), in the parts that are kept of it.

    Parameters
    ----------
    rows, index, value
        The columns a as rows of a CSR matrix, ``index`` growing within each.
    weights : float64 array, shape (columns,)
    owner : int64 array, shape (columns,)
        i of each column, below 0 where it has none.
    panels : float64 array, shape (panels, height, width)
        Panel p has the lower triangle's entries of columns p·width ... (p + 1)·width − 1, from
        row p·width on.
    border, own
        Rows of a against e_i, and e_i against itself; shapes (points, owners) and (owners,).
    """
    width = panels.shape[2]
    for c in range(len(weights)):
        i = owner[c]
        if i >= 0:
            own[i] += weights[c]
        for x in range(rows[c], rows[c + 1]):
            part = weights[c] * value[x]
            if i >= 0:
                border[index[x], i] -= part
            panel = index[x] // width
            top = panel * width
            column = index[x] - top
            for y in range(x, rows[c + 1]):
                panels[panel, index[y] - top, column] += part * value[y]
