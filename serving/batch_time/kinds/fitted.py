"""Fitted to a CSV of measured rounds (prefill, decode, kv, seconds[, square]), in two stages.

Rounds that only decode give the time of a round, a request and a token read; the rest of the others
is the time of the prompts.  So no grid of large prompts moves the decoding rounds, the most of a
run.  Errors of decoding rounds are relative; with prompts they count in seconds, which add up
to the time before a first token.

Logs have slow rounds: kernels compile at first use, a host is paused.  So each stage is a
reweighted one (Rousseeuw and Leroy, Robust Regression and Outlier Detection, 1987, section 1.2).  A
start minimizes the sum of |log(measured / predicted)|, which one slow round raises by little.  Rows
far from it, on the scale of the median deviation, are left out and named.  The others are fitted by
least squares without negative coefficients (Lawson, Hanson).

Every fifth row is first held out: the model of the others predicts it, and the message has the mean
absolute error relative to the measured time; rows that are left out do not count.  The coefficients
come from all other rows, in whole picoseconds, and name the model, ``linear(...)``, so that a
schedule does not depend on the file.
"""

import math

import numpy as np
from numpy.typing import NDArray

from instances.batch_time import (
    MOST_PICOSECONDS,
    PICOSECONDS,
    BatchTime,
    BatchTimeError,
    MeasuredRange,
)
from serving.batch_time.batch_time_kind import BatchTimeKind
from serving.batch_time.kinds.linear import linear
from support.input_files import LARGEST
from support.message_text import plural, printable

_NAME = "fitted"
_NEEDED = ("prefill", "decode", "kv", "seconds")
_SQUARE = "square"
#: One row in so many is held out.
_FOLD = 5
_FEWEST = 10
_LARGEST = 1e15
#: The start's loss is nearly linear beyond this deviation, as logarithm.
_NEARLY_EXACT = 0.01
_START_ROWS = 20_000
#: The standard deviation of normal errors, of their median absolute deviation.
_OF_MAD = 1.4826
#: A row is left out that is off by so many standard deviations (Iglewicz and Hoaglin, How to Detect
#: and Handle Outliers, 1993) and by this factor.
_DEVIATIONS, _LEAST_FACTOR = 3.5, 1.25
_FEWEST_KEPT = 0.75
#: Largest held-out error: a computed batch time may be off by a third (docs/gpus.md).
_MOST_ERROR = 1 / 3
#: Rows in a message, and rows that are too few for a coefficient.
_NAMED = _FEW = 5

Rows = NDArray[np.float64]


class UnfitError(BatchTimeError):
    """No batch time of this form fits the measured rows."""


def _build(path: str) -> BatchTime:
    rows = _read(path)
    where = f"batch time {_NAME}, {printable(path, 200)}"
    if len(rows) < _FEWEST:
        raise BatchTimeError(f"{where}: expected at least {_FEWEST} rows, found {len(rows)}")
    rows[:, 3] = np.maximum(rows[:, 3], 0.1 / PICOSECONDS)
    held_out = np.arange(len(rows)) % _FOLD == _FOLD - 1
    # The final and the judged model have the same stages: two need rows with prompts and without.
    some = np.count_nonzero(rows[~held_out, 0])
    apart = bool(min(some, np.count_nonzero(~held_out) - some) >= _FEW)
    coefficients, off = _solve(rows, apart)
    if max(coefficients) > MOST_PICOSECONDS:
        raise BatchTimeError(f"{where}: expected rounds of at most 10^6 seconds")
    if not any(coefficients):
        raise BatchTimeError(f"{where}: expected rounds that take picoseconds at least")
    judged = rows[held_out & ~off]
    others, _ = _solve(rows[~held_out], apart)
    errors = np.abs(_seconds(judged, others) / judged[:, 3] - 1)
    error = float(np.mean(errors)) if len(errors) else math.inf
    kept = len(rows) - int(off.sum())
    of_all = f"{kept} of {len(rows)}" if kept < len(rows) else f"{kept}"
    origin = f"fitted to {of_all} rows, held-out error {100 * error:.1f} %"
    predicted, measured = _seconds(rows, coefficients), rows[:, 3]
    farthest = np.argsort(-np.abs(np.log(measured / predicted)), kind="stable")
    named = [
        f"row {k + 1} ({1000 * measured[k]:.6g} ms, predicted {1000 * predicted[k]:.3g})"
        for k in farthest
        if off[k]
    ]
    if len(named) > _NAMED:
        named[_NAMED:] = [f"{len(named) - _NAMED} more"]
    origin += f"; left out: {', '.join(named)}" if named else ""
    if kept < _FEWEST_KEPT * len(rows) or error > _MOST_ERROR:
        raise UnfitError(
            f"{where}: no batch time fits (expected {100 * _FEWEST_KEPT:.0f} % of the rows with "
            f"an error of at most {100 * _MOST_ERROR:.0f} %): {origin}"
        )
    for name, column in zip(("prompts", "decoding requests"), rows[~off].T, strict=False):
        if (seen := int(np.count_nonzero(column))) < _FEW:
            origin += f"; {name} in {plural(seen, 'row')} only"
    measured_to = MeasuredRange(*(math.ceil(value) for value in rows.max(axis=0)[:3]))
    return linear(coefficients, measured_to, origin)


def _factors(rows: Rows) -> Rows:
    """Return the factors of the coefficients: 1, prefill, square, decode, kv; shape (rows, 5)."""
    return np.stack([np.ones(len(rows)), rows[:, 0], rows[:, 4], rows[:, 1], rows[:, 2]], axis=1)


def _seconds(rows: Rows, coefficients: tuple[int, ...]) -> Rows:
    """Return the predicted seconds of each row; a tenth of a picosecond at least."""
    picoseconds: Rows = np.maximum(_factors(rows) @ np.array(coefficients, dtype=float), 0.1)
    return picoseconds / PICOSECONDS


def _solve(rows: Rows, apart: bool) -> tuple[tuple[int, ...], NDArray[np.bool_]]:
    """Return the five coefficients (picoseconds), in two stages or one, and the rows left out."""
    found, off = np.zeros(5), np.zeros(len(rows), bool)
    prompts = rows[:, 0] > 0
    stages = [(~prompts, [0, 3, 4]), (prompts, [1, 2])]
    if not apart:
        stages = [(np.ones(len(rows), bool), [0, 1, 2, 3, 4])]
    for some, columns in stages:
        factors = _factors(rows[some])
        before = factors @ found
        found[columns], off[some] = _stage(factors[:, columns], rows[some, 3], before)
    return tuple(round(float(value) * PICOSECONDS) for value in found), off


def _stage(factors: Rows, measured: Rows, before: Rows) -> tuple[Rows, NDArray[np.bool_]]:
    """Return the coefficients of seconds on top of those before, and the rows left out."""
    from scipy.optimize import least_squares

    scaled = factors / np.maximum(factors.max(axis=0), 1.0)
    drawn = np.random.default_rng(0).permutation(len(measured))[:_START_ROWS]
    some, seconds, known = scaled[drawn], measured[drawn], before[drawn]
    size = np.median(seconds / some.sum(axis=1))
    start = least_squares(
        lambda x: np.log((known + size * (some @ x)) / seconds),
        np.ones(some.shape[1]),
        jac=lambda x: size * some / (known + size * (some @ x))[:, None],
        bounds=(0, np.inf),
        loss="soft_l1",
        f_scale=_NEARLY_EXACT,
    )
    predicted = before + size * (scaled @ start.x)
    deviations = np.abs(np.log(measured / predicted))
    limit = max(_DEVIATIONS * _OF_MAD * np.median(deviations), math.log(_LEAST_FACTOR))
    off: NDArray[np.bool_] = deviations > limit
    weights = np.ones(len(measured)) if before.any() else 1 / predicted
    return nonnegative(factors[~off], (measured - before)[~off], weights[~off]), off


def nonnegative(factors: Rows, measured: Rows, weights: Rows) -> Rows:
    """Return coefficients, none negative, of the least sum of squared weighted errors."""
    from scipy.optimize import nnls

    # Columns of one size, since squares are a million times a count of requests.
    sizes = np.maximum(factors.max(axis=0), np.finfo(float).tiny)
    found: Rows = nnls(factors / sizes * weights[:, None], measured * weights)[0] / sizes
    return found


def _read(path: str) -> Rows:
    """Return prefill, decode, kv, seconds and square of each row, shape (rows, 5)."""
    # A batch time by numbers needs no reader of traces.
    from serving.traces.csv_reader import columns_of, header_of
    from serving.traces.exact_times import exact
    from serving.traces.trace_report import TraceError
    from serving.traces.trace_stream import TraceStream

    rows = []
    try:
        with TraceStream(path, largest=LARGEST) as stream:
            squares = [_SQUARE] if _SQUARE in header_of(stream.head) else []
            for numbers, columns in columns_of(stream, (*_NEEDED, *squares)):
                for row, *texts in zip(numbers, *columns.values(), strict=True):
                    found = [exact(text) for text in texts]
                    for value, text in zip(found, texts, strict=True):
                        if value is None or not 0 <= value <= _LARGEST:
                            shown = printable(text, 60)
                            stream.refuse(f"expected a number of at least 0, found {shown!r}", row)
                    if not found[3]:
                        stream.refuse("expected more than 0 seconds, found 0", row)
                    # Without the column squares take no time.
                    rows.append([*found, 0][:5])
    except TraceError as error:
        raise BatchTimeError(f"batch time {_NAME}, {error}") from None
    return np.array(rows, dtype=np.float64).reshape(-1, 5)


KIND = BatchTimeKind(_NAME, _build, takes_file=True)
