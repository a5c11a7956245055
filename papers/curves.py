"""Tables of pages, and curves of mean latency against the number of requests."""

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd
from matplotlib.axes import Axes

from papers.latency import latencies
from reports.figures.figure_parts import styles
from reports.table import Column, Kind, Table

#: Column keys of a table by kind.
Kinds = Mapping[Kind, Sequence[str]]


def plain_table(
    slug: str,
    title: str,
    note: str,
    keys: list[Any],
    lines: Sequence[Sequence[object]] | pd.DataFrame,
    kinds: Kinds,
    other: Kind = "number",
) -> Table:
    """Return a table titled by its column keys; ``other`` is the kind of unlisted columns."""
    kind_of = {key: kind for kind, those in kinds.items() for key in those}
    columns = tuple(Column(key, key, kind_of.get(key, other)) for key in keys)
    return Table(slug, title, note, columns, pd.DataFrame(lines, columns=keys))


def by_size(rows: pd.DataFrame, method: str) -> pd.Series:
    """Return a method's mean latency (seconds) by n, over instances."""
    latency = latencies(rows, method)
    size = rows.groupby("instance_sha256")["n"].first().reindex(latency.index).astype(int)
    found: pd.Series = latency.groupby(size).mean()
    return found


def latency_table(rows: pd.DataFrame, labels: Mapping[str, str]) -> Table:
    """Return mean latencies (seconds): a line per n, a column per method."""
    columns = {label: by_size(rows, method) for method, label in labels.items()}
    frame = pd.DataFrame(columns).rename_axis("n").reset_index()
    runs = rows.groupby("n")["instance_sha256"].nunique()
    frame["instances"] = frame["n"].map(runs)
    note = "Seconds, mean over the instances; the paper prints its curves without numbers."
    counts: Kinds = {"count": ["n", "instances"]}
    return plain_table("latencies", "Mean latency", note, list(frame), frame, counts, "seconds")


def draw_points(axes: Axes, x: pd.Series, y: pd.Series, colour: str, label: str) -> None:
    """Draw one point per draw."""
    axes.plot(x, y, "o", ms=4, alpha=0.7, color=colour, label=label)


def draw_curves(
    axes: Axes, rows: pd.DataFrame, labels: Mapping[str, str], beside: Sequence[str] = ()
) -> None:
    """Draw mean latencies against n; labels of the figure ``beside`` keep their colours."""
    looks = styles([*dict.fromkeys((*beside, *labels.values()))])
    for method, label in labels.items():
        axes.plot(by_size(rows, method), marker="o", ms=3, label=label, **looks[label])
    axes.set(xlabel="requests", ylim=(0, None))
    axes.legend(loc="upper left", bbox_to_anchor=(0, -0.16))
