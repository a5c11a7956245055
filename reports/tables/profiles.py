"""Performance profiles as tables, and the data that their figures draw."""

from __future__ import annotations

import pandas as pd

from reports.common import Common, common_costs
from reports.metrics.profile import performance_ratios, profile
from reports.table import Column, Table

#: Factors of the printed table.
TEL_TAUS = (1.0, 1.01, 1.02, 1.05, 1.1, 1.2, 1.5, 2.0, 5.0)
TIME_TAUS = (1.0, 1.5, 2.0, 5.0, 10.0, 50.0, 100.0)
#: Times below this are not told apart, seconds.
LEAST_SECONDS = 0.01

_NOTE = (
    "Dolan & Moré (2002): the share of instances on which a method is within the factor τ of the "
    "best of the methods shown. At τ = 1 that is how often it is the best. Compare each curve with "
    "the best method, not two curves with each other: the second place depends on the methods "
    "shown (Gould & Scott 2016)."
)


def tel_costs(averaged: pd.DataFrame) -> Common:
    """Return the TEL of the policies on shared instances, seeds averaged.

    Engines are left out: they begin with the policies' schedules, and with them among the best no
    policy would be seen.
    """
    return common_costs(averaged[~averaged["engine"]], "tel")


def time_costs(runs: pd.DataFrame) -> Common:
    """Return the seconds of engines on shared instances, missing where not solved.

    Several seeds are averaged; one that is not solved makes the instance a failure.
    """
    engines = runs[runs["engine"]]
    seconds = engines["seconds"].clip(lower=LEAST_SECONDS).where(engines["solved"])
    groups = engines.assign(cost=seconds).groupby(["id", "label"], sort=True)["cost"]
    frame = groups.mean().where(groups.count().eq(groups.size())).reset_index()
    return common_costs(frame, "cost")


def tel_profile(common: Common) -> Table:
    """Return ρ(τ) of the TEL."""
    title = "Performance profile of the policies' TEL"
    return _table("profile-tel", title, "policy", common, TEL_TAUS)


def time_profile(common: Common) -> Table:
    """Return ρ(τ) of the seconds to a proof."""
    title = "Performance profile of time to a proof"
    return _table("profile-time", title, "solver", common, TIME_TAUS)


def _table(slug: str, title: str, what: str, common: Common, taus: tuple[float, ...]) -> Table:
    values = profile(performance_ratios(common.costs), taus)
    frame = values.T.set_axis([f"tau_{tau:g}" for tau in taus], axis=1)
    frame = frame.rename_axis("label").reset_index()
    if common.costs.empty:
        frame = frame.iloc[:0]
    columns = (
        Column("label", what, "name"),
        *(Column(f"tau_{tau:g}", f"τ = {tau:g}", "share") for tau in taus),
    )
    return Table(slug, title, f"{_NOTE} {common.note()}", columns, frame)
