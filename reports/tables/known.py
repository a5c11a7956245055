"""Ratios to optima that are known by construction (3-Partition, planted), by size."""

from __future__ import annotations

import pandas as pd

from reports.table import Column, Table

_NOTE = (
    "Instances whose optimum follows from their construction (3-Partition with a solution, "
    "planted waves), or is stated by a file of your own; solvers have no part in it. TEL / OPT by "
    "family and n, seeds averaged; none where an instance has no schedule."
)


def known_optima(
    averaged: pd.DataFrame, constructed: frozenset[str], *, engines: bool = False
) -> Table:
    """Return mean and worst ratio per family, number of requests and policy, or solver.

    Parameters
    ----------
    averaged
        From :func:`reports.per_instance.per_instance`.
    constructed
        The ``id`` of every instance whose optimum is known by construction.
    """
    frame = averaged[averaged["engine"].eq(engines)]
    frame = frame[frame["id"].isin(constructed) & frame["known"]]
    frame = frame.assign(optimal=frame["ratio_low"].eq(1).fillna(False) & ~frame["kept"])
    table = (
        frame.groupby(["family", "n", "label"], sort=True)
        .agg(
            instances=("id", "nunique"),
            unsolved=("failed", "sum"),
            mean=("ratio_low", "mean"),
            worst=("ratio_low", "max"),
            optimal=("optimal", "sum"),
        )
        .reset_index()
        .sort_values(["family", "n", "mean", "label"])
    )
    # A mean over those with a schedule would hide the others, and the worst is not known.
    for column in ("mean", "worst"):
        table[column] = table[column].mask(table["unsolved"].gt(0))
    columns = (
        Column("family", "family", "name"),
        Column("n", "n", "count"),
        Column("label", "solver" if engines else "policy", "name"),
        Column("instances", "instances", "count"),
        Column("unsolved", "no schedule", "count"),
        Column("optimal", "optimal", "count"),
        Column("mean", "mean ratio", "ratio"),
        Column("worst", "worst ratio", "ratio"),
    )
    made = Table("known-optima", "Against optima known by construction", _NOTE, columns, table)
    return made.of_solvers() if engines else made
