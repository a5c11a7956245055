"""Fitted to a CSV of measured rounds (prefill, decode, kv, seconds[, square]) by least squares.

No coefficient is negative (Lawson and Hanson's method).  Every fifth row is first held out: the
model of the others predicts it, and the mean absolute error, relative to what was measured, is
told.  The numbers themselves come from all rows, in whole picoseconds, and the model is named by
them: ``linear(...)``, so that a schedule does not depend on the file.
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
from support.text import printable

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

Rows = NDArray[np.float64]


def _build(path: str) -> BatchTime:
    where = f"batch time {_NAME}, {printable(path, 200)}"
    rows = _read(where, path)
    if len(rows) < _FEWEST:
        raise BatchTimeError(f"{where}: expected at least {_FEWEST} rows, found {len(rows)}")
    held_out = np.arange(len(rows)) % _FOLD == _FOLD - 1
    predicted = _factors(rows[held_out]) @ np.array(_solve(rows[~held_out])) / _PICOSECONDS
    measured = rows[held_out, 3]
    error = float(np.mean(np.abs(predicted - measured) / measured))
    coefficients = tuple(_solve(rows))
    if max(coefficients) > MOST_PICOSECONDS:
        raise BatchTimeError(f"{where}: expected rounds of at most 10^6 seconds")
    if not any(coefficients):
        raise BatchTimeError(f"{where}: expected rounds that take picoseconds at least")
    largest = rows.max(axis=0)
    measured_to = Range(*(math.ceil(value) for value in largest[:3]))
    told = f"fitted to {len(rows)} rows, held-out error {100 * error:.1f} %"
    return linear(coefficients, measured_to, told)


def _factors(rows: Rows) -> Rows:
    """Return what the coefficients multiply: 1, prefill, square, decode, kv; shape (rows, 5)."""
    return np.stack([np.ones(len(rows)), rows[:, 0], rows[:, 4], rows[:, 1], rows[:, 2]], axis=1)


def _solve(rows: Rows) -> list[int]:
    """Return the five coefficients (picoseconds)."""
    from scipy.optimize import nnls

    factors = _factors(rows)
    # Columns of one size, since squares are a million times a count of requests.
    sizes = np.maximum(factors.max(axis=0), 1.0)
    found, _ = nnls(factors / sizes, rows[:, 3])
    return [round(float(value) * _PICOSECONDS) for value in found / sizes]


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
