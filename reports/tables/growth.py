"""How ratios grow with the size: every ratio of a series, and the exponents fitted to them."""

from __future__ import annotations

from typing import Any

import pandas as pd

from reports.interval import interval_text
from reports.metrics import LEAST_SIZES, fit_exponent
from reports.series import with_series
from reports.table import Column, Table

_NOTE_RATIOS = (
    "A series is one construction at several sizes. Ratio = TEL / OPT, an interval where OPT is "
    "open, seeds averaged; traps first."
)
_NOTE_EXPONENTS = (
    "Least squares on logarithms, ratio ≈ c · M^x and ratio ≈ c · n^x, from "
    f"{LEAST_SIZES} sizes on; lower is fitted to TEL / UB and upper to TEL / LB, which differ only "
    "where an optimum is open. A few sizes show a tendency, not an order of growth: an exponent "
    "proves nothing about sizes beyond the largest."
)


def ratios_by_size(series: pd.DataFrame) -> Table:
    """Return the ratio of every policy on every instance of a series.

    ``series`` is from :func:`series_of`.
    """
    frame = series.copy()
    frame["ratio"] = interval_text(frame["ratio_low"], frame["ratio_high"], frame["known"])
    columns = (
        Column("series", "series", "name"),
        Column("label", "policy", "name"),
        Column("n", "n", "count"),
        Column("memory", "M", "count"),
        Column("ratio", "ratio", "ratio", sort="ratio_low"),
        Column("instance", "instance", "name"),
    )
    return Table("growth", "Ratio against n and M", _NOTE_RATIOS, columns, frame)


def exponents(series_runs: pd.DataFrame) -> Table:
    """Return the exponents of the ratio in M and in n, per series and policy.

    ``series_runs`` is from :func:`series_of`.
    """
    lines: list[dict[str, Any]] = []
    for (family, series, label), group in series_runs.groupby(
        ["family", "series", "label"], sort=True
    ):
        line: dict[str, Any] = {"family": family, "series": series, "label": label}
        line["sizes"] = len(group[["n", "memory"]].drop_duplicates())
        line["from"], line["to"] = group["memory"].min(), group["memory"].max()
        for size in ("memory", "n"):
            for end in ("low", "high"):
                fit = fit_exponent(group[size], group[f"ratio_{end}"])
                line[f"{size}_{end}"] = fit.exponent if fit else None
        fit = fit_exponent(group["memory"], group["ratio_low"])
        line["r_squared"] = fit.r_squared if fit else None
        if any(line[f"{size}_{end}"] is not None for size in ("memory", "n") for end in ENDS):
            lines.append(line)
    columns = (
        Column("series", "series", "name"),
        Column("label", "policy", "name"),
        Column("sizes", "sizes", "count"),
        Column("from", "least M", "count"),
        Column("to", "largest M", "count"),
        Column("memory_low", "exponent of M, lower", "number"),
        Column("memory_high", "exponent of M, upper", "number"),
        Column("r_squared", "R² (M, lower)", "number"),
        Column("n_low", "exponent of n, lower", "number"),
        Column("n_high", "exponent of n, upper", "number"),
    )
    frame = pd.DataFrame(lines, columns=["family", *(column.key for column in columns)])
    return Table("exponents", "Fitted exponents", _NOTE_EXPONENTS, columns, frame)


ENDS = ("low", "high")


def series_of(averaged: pd.DataFrame) -> pd.DataFrame:
    """Return the policies' ratios on instances that are of a series, in the order of tables."""
    frame = with_series(averaged[~averaged["engine"]])
    frame = frame[frame["ratio_low"].notna() | frame["ratio_high"].notna()]
    return frame.sort_values(["family", "series", "label", "memory", "n", "instance", "id"])
