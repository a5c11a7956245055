"""Batch times from measured requests: fitted to the times from first to last tokens."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from instances.batch_time import PICOSECONDS, BatchTime
from serving.batch_time.kinds.linear import linear

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


def over_spans(rounds: Floats, first: Ints, last: Ints) -> Floats:
    """Return what the coefficients multiply between two tokens of each request, shape (n, 5).

    That is the sum over the rounds after that of the first token, up to that of the last.
    """
    sums = np.concatenate([np.zeros((1, 5)), np.cumsum(rounds, axis=0)])
    found: Floats = sums[last + 1] - sums[first + 1]
    return found


def fit_spans(factors: Floats, seconds: Floats) -> BatchTime:
    """Return the batch time with which spans take the seconds that were measured.

    The sum of squared relative errors is least, and no coefficient is negative.
    """
    found = nonnegative(factors, seconds, 1 / seconds)
    return linear(tuple(round(float(value) * PICOSECONDS) for value in found))


def nonnegative(factors: Floats, measured: Floats, weights: Floats) -> Floats:
    """Return coefficients, none negative, of the least sum of squared weighted errors."""
    from scipy.optimize import nnls

    # Columns of one size, since squares are a million times a count of requests.
    sizes = np.maximum(factors.max(axis=0), np.finfo(float).tiny)
    found: Floats = nnls(factors / sizes * weights[:, None], measured * weights)[0] / sizes
    return found
