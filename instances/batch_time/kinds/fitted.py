"""Fitted to a CSV of measured rounds (prefill, decode, kv, seconds[, square]), robustly.

Logs have rounds that took longer than the batch explains: kernels compile at first use, a host is
paused.  So the fit is a reweighted one (Rousseeuw and Leroy, Robust Regression and Outlier
Detection, 1987, section 1.2).  A start minimizes the sum of |log(measured / predicted)|, which one
slow round raises by little.  Rows far from it, on the scale of the median deviation, are left out
and named.  The others are fitted by least squares of relative errors, without negative coefficients
(Lawson and Hanson's method).

Every fifth row is first held out: the model of the others predicts it, and the mean absolute error,
relative to what was measured, is told; rows that are left out do not count.  The numbers themselves
come from all other rows, in whole picoseconds, and the model is named by them: ``linear(...)``, so
that a schedule does not depend on the file.
"""

from __future__ import annotations

import csv
import io
import math

import numpy as np
from numpy.typing import NDArray

from instances.batch_time.batch_time_kind import BatchTimeKind
from instances.batch_time.kinds.linear import linear
from instances.batch_time.model import MOST_PICOSECONDS, BatchTime, BatchTimeError, Range
from support.inputs import read_text
from support.text import counted, printable

_NAME = "fitted"
_NEEDED = ("prefill", "decode", "kv", "seconds")
_SQUARE = "square"
#: One row in so many is held out.
_FOLD = 5
_FEWEST = 10
_LARGEST = 1e15
#: Bytes of a file; a million rows have half as many.
_LARGEST_FILE = 10**8
_PICOSECONDS = 10**12
#: The start's loss is nearly linear beyond this deviation, as logarithm.
_NEARLY_EXACT = 0.01
#: Rows that the start looks at, drawn where there are more.
_START_ROWS = 20_000
#: The standard deviation of normal errors, of their median absolute deviation.
_OF_MAD = 1.4826
#: A row is left out that is off by so many standard deviations (Iglewicz and Hoaglin, How to Detect
#: and Handle Outliers, 1993) and by this factor.
_DEVIATIONS, _LEAST_FACTOR = 3.5, 1.25
#: Smallest share of rows that a fit must be of.
_FEWEST_KEPT = 0.75
#: Largest held-out error.  A time that is computed without any measurement may be off by a third
#: (docs/serving.md), so a fit that is off by more is worth less than none.
_MOST_ERROR = 1 / 3
#: Rows that a message names, and how many are too few for a coefficient to rest on.
_NAMED = _FEW = 5

Rows = NDArray[np.float64]


class UnfitError(BatchTimeError):
    """No batch time of this form fits the rows that were measured."""


def _build(path: str) -> BatchTime:
    where = f"batch time {_NAME}, {printable(path, 200)}"
    rows = _read(where, path)
    if len(rows) < _FEWEST:
        raise BatchTimeError(f"{where}: expected at least {_FEWEST} rows, found {len(rows)}")
    rows[:, 3] = np.maximum(rows[:, 3], 0.1 / _PICOSECONDS)
    coefficients, off = _solve(rows)
    if max(coefficients) > MOST_PICOSECONDS:
        raise BatchTimeError(f"{where}: expected rounds of at most 10^6 seconds")
    if not any(coefficients):
        raise BatchTimeError(f"{where}: expected rounds that take picoseconds at least")
    held_out = np.arange(len(rows)) % _FOLD == _FOLD - 1
    judged = rows[held_out & ~off]
    others, _ = _solve(rows[~held_out])
    error = float(np.mean(np.abs(_seconds(judged, others) / judged[:, 3] - 1)))
    kept = len(rows) - int(off.sum())
    told = f"fitted to {len(rows)} rows"
    if kept < len(rows):
        told = f"fitted to {kept} of {len(rows)} rows"
    told += f", held-out error {100 * error:.1f} %{_left_out(rows, off, coefficients)}"
    if kept < _FEWEST_KEPT * len(rows) or error > _MOST_ERROR:
        raise UnfitError(
            f"{where}: no batch time fits (expected {100 * _FEWEST_KEPT:.0f} % of the rows with "
            f"an error of at most {100 * _MOST_ERROR:.0f} %): {told}"
        )
    for name, column in zip(("prompts", "decoding requests"), rows[~off].T, strict=False):
        if (seen := int(np.count_nonzero(column))) < _FEW:
            told += f"; {name} in {counted(seen, 'row')} only"
    largest = rows.max(axis=0)
    measured_to = Range(*(math.ceil(value) for value in largest[:3]))
    return linear(coefficients, measured_to, told)


def _factors(rows: Rows) -> Rows:
    """Return what the coefficients multiply: 1, prefill, square, decode, kv; shape (rows, 5)."""
    return np.stack([np.ones(len(rows)), rows[:, 0], rows[:, 4], rows[:, 1], rows[:, 2]], axis=1)


def _seconds(rows: Rows, coefficients: tuple[int, ...]) -> Rows:
    """Return what the model predicts of each row; a tenth of a picosecond at least."""
    picoseconds: Rows = np.maximum(_factors(rows) @ np.array(coefficients, dtype=float), 0.1)
    return picoseconds / _PICOSECONDS


def _left_out(rows: Rows, off: NDArray[np.bool_], coefficients: tuple[int, ...]) -> str:
    """Return the rows that are left out in words, the farthest first; empty without one."""
    predicted, measured = _seconds(rows, coefficients), rows[:, 3]
    farthest = np.argsort(-np.abs(np.log(measured / predicted)), kind="stable")
    named = [
        f"row {k + 1} ({1000 * measured[k]:.6g} ms, predicted {1000 * predicted[k]:.3g})"
        for k in farthest
        if off[k]
    ]
    more = [f"{len(named) - _NAMED} more"] if len(named) > _NAMED else []
    return f"; left out: {', '.join(named[:_NAMED] + more)}" if named else ""


def _solve(rows: Rows) -> tuple[tuple[int, ...], NDArray[np.bool_]]:
    """Return the five coefficients (picoseconds) and which rows are left out."""
    from scipy.optimize import least_squares, nnls

    factors = _factors(rows)
    # Columns of one size, since squares are a million times a count of requests.
    sizes = np.maximum(factors.max(axis=0), 1.0)
    scaled, measured = factors / sizes, rows[:, 3]
    drawn = np.random.default_rng(0).permutation(len(rows))[:_START_ROWS]
    some, seconds = scaled[drawn], measured[drawn]
    size = np.median(seconds / some.sum(axis=1))
    start = least_squares(
        lambda x: np.log(size * (some @ x) / seconds),
        np.ones(some.shape[1]),
        jac=lambda x: some / (some @ x)[:, None],
        bounds=(0, np.inf),
        loss="soft_l1",
        f_scale=_NEARLY_EXACT,
    )
    predicted = size * (scaled @ start.x)
    deviations = np.abs(np.log(measured / predicted))
    limit = max(_DEVIATIONS * _OF_MAD * np.median(deviations), math.log(_LEAST_FACTOR))
    off = deviations > limit
    found, _ = nnls((scaled / predicted[:, None])[~off], (measured / predicted)[~off])
    return tuple(round(float(value) * _PICOSECONDS) for value in found / sizes), off


def _read(where: str, path: str) -> Rows:
    """Return prefill, decode, kv, seconds and square of each row, shape (rows, 5)."""
    try:
        text = read_text(path, _LARGEST_FILE)
        with io.StringIO(text, newline="") as file:
            reader = csv.reader(file, strict=True)
            header = [name.strip().casefold() for name in next(reader, [])]
            missing = [name for name in _NEEDED if name not in header]
            if missing:
                raise BatchTimeError(
                    f"{where}: expected the columns {', '.join(_NEEDED)}, found no {missing[0]}"
                )
            for name in (*_NEEDED, _SQUARE):
                if header.count(name) > 1:
                    raise BatchTimeError(f"{where}: the column {name} occurs twice")
            places = [header.index(name) for name in _NEEDED]
            if _SQUARE in header:
                places.append(header.index(_SQUARE))
            rows = []
            for row in reader:
                if row and len(row) != len(header):
                    raise BatchTimeError(
                        f"{where}: line {reader.line_num}: expected {len(header)} fields, found "
                        f"{len(row)}"
                    )
                if row:
                    rows.append(_numbers(where, reader.line_num, row, places))
    except (OSError, ValueError, csv.Error) as error:
        if isinstance(error, BatchTimeError):
            raise
        reason = getattr(error, "strerror", None) or str(error)
        raise BatchTimeError(f"{where}: cannot be read: {printable(reason, 160)}") from None
    return np.array(rows, dtype=np.float64).reshape(-1, 5)


def _numbers(where: str, line: int, row: list[str], places: list[int]) -> list[float]:
    values = []
    for place in places:
        text = row[place]
        try:
            # Python reads 1_0 as 10.
            value = math.nan if "_" in text else float(text)
        except ValueError:
            value = math.nan
        if not 0 <= value <= _LARGEST:
            raise BatchTimeError(
                f"{where}: line {line}: expected a number of at least 0, found "
                f"{printable(text, 60)!r}"
            )
        values.append(value)
    if values[3] == 0:
        raise BatchTimeError(f"{where}: line {line}: expected more than 0 seconds")
    # Without the column nothing is known of squares, so they are given no time.
    return values if len(values) == 5 else [*values, 0.0]


KIND = BatchTimeKind(_NAME, _build, takes_file=True)
