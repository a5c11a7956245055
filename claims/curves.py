"""Mean latencies against the number of requests: a table, and a panel of a figure."""

from __future__ import annotations

from collections.abc import Mapping

import pandas as pd
from matplotlib.axes import Axes

from claims.latency import latencies
from reports.figures.style import styles
from reports.table import Column, Table


def by_size(rows: pd.DataFrame, method: str) -> pd.Series:
    """Return the mean over instances of a method's mean latency (seconds), by n."""
    latency = latencies(rows, method)
    size = rows.groupby("instance_sha256")["n"].first().reindex(latency.index).astype(int)
    found: pd.Series = latency.groupby(size).mean()
    return found


def latency_table(rows: pd.DataFrame, labels: Mapping[str, str]) -> Table:
    """Return mean latencies (seconds), a line for each n and a column for each method."""
    columns = {label: by_size(rows, method) for method, label in labels.items()}
    frame = pd.DataFrame(columns).rename_axis("n").reset_index()
    runs = rows.groupby("n")["instance_sha256"].nunique()
    frame["instances"] = frame["n"].map(runs)
    kinds = tuple(Column(label, label, "seconds") for label in columns)
    ends = (Column("n", "n", "count"), *kinds, Column("instances", "instances", "count"))
    note = "Seconds, mean over the instances; the paper prints its curves without numbers."
    return Table("latencies", "Mean latency", note, ends, frame)


def draw_curves(axes: Axes, rows: pd.DataFrame, labels: Mapping[str, str]) -> None:
    """Draw every method's mean latency against n, with a legend below."""
    for (method, label), look in zip(
        labels.items(), styles(list(labels.values())).values(), strict=True
    ):
        curve = by_size(rows, method)
        axes.plot(curve.index, curve, marker="o", ms=3, label=label, **look)
    axes.set_xlabel("requests")
    axes.set_ylim(bottom=0)
    axes.legend(loc="upper left", bbox_to_anchor=(0, -0.16))
