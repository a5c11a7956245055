"""Performance profiles as tables, and the data of their figures."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import pandas as pd

from reports.metrics import performance_ratios, profile
from reports.table import Column, Table, columns
from support.text import counted

#: Factors of the printed table.
TEL_TAUS = (1.0, 1.01, 1.02, 1.05, 1.1, 1.2, 1.5, 2.0, 5.0)
TIME_TAUS = (1.0, 1.5, 2.0, 5.0, 10.0, 50.0, 100.0)
#: Times below this are not told apart, seconds.
LEAST_SECONDS = 0.01
#: Share of the remaining methods' instances that they must have in common.
LEAST_SHARED = 0.5

_NOTE = (
    "Dolan & Moré (2002): the share of instances on which a method is within the factor τ of the "
    "best of the methods shown. At τ = 1 that is how often it is the best. Compare each curve with "
    "the best method, not two curves with each other: the second place depends on the methods "
    "shown (Gould & Scott 2016)."
)


@dataclass(frozen=True)
class Common:
    """Costs on shared instances (rows) of comparable methods (columns), and who was left out."""

    costs: pd.DataFrame
    left_out: tuple[str, ...]

    @cached_property
    def ratios(self) -> pd.DataFrame:
        """The costs as multiples of each instance's least."""
        return performance_ratios(self.costs)

    def note(self) -> str:
        """Return one line on what is compared."""
        methods = self.costs.shape[1]
        were = "was" if methods == 1 else "were"
        shared = f"{counted(len(self.costs), 'instance')} that {counted(methods, 'method')} {were}"
        if not self.left_out:
            return f"Over the {shared} run on."
        out = counted(len(self.left_out), "method")
        return f"Over the {shared} run on; left out, with fewer: {out}."


def common_costs(frame: pd.DataFrame, cost: str) -> Common:
    """Return the costs on the instances on which all compared methods were run.

    While the methods share less than half of the instances that any of them was run on, the one
    with the fewest (of several, the last by name) is left out. A missing cost is a failure.
    """
    table = frame.set_index(["id", "label"])[cost].astype("Float64")
    ran = pd.Series(True, index=table.index).unstack(fill_value=False)
    left_out: list[str] = []
    while ran.shape[1] > 1:
        shared, covered = ran.all(axis=1).sum(), ran.any(axis=1).sum()
        if shared >= LEAST_SHARED * covered:
            break
        counts = ran.sum()
        dropped = sorted(counts.index[counts == counts.min()])[-1]
        left_out.append(dropped)
        ran = ran.drop(columns=dropped)
    shared_ids = ran.index[ran.all(axis=1)] if ran.shape[1] else ran.index[:0]
    costs = table.unstack().reindex(index=shared_ids, columns=ran.columns)
    return Common(costs, tuple(sorted(left_out)))


def tel_profile(common: Common) -> Table:
    """Return ρ(τ) of the TEL."""
    title = "Performance profile of the policies' TEL"
    return _table("profile-tel", title, "policy", common, TEL_TAUS)


def time_profile(common: Common) -> Table:
    """Return ρ(τ) of the seconds to a proof."""
    title = "Performance profile of time to a proof"
    return _table("profile-time", title, "solver", common, TIME_TAUS)


def _table(slug: str, title: str, what: str, common: Common, taus: tuple[float, ...]) -> Table:
    values = profile(common.ratios, taus)
    frame = values.T.set_axis([f"tau_{tau:g}" for tau in taus], axis=1)
    frame = frame.rename_axis("label").reset_index()
    if common.costs.empty:
        frame = frame.iloc[:0]
    shares = columns("share", **{f"tau_{tau:g}": f"τ = {tau:g}" for tau in taus})
    shown = (Column("label", what, "name"), *shares)
    return Table(slug, title, f"{_NOTE} {common.note()}", shown, frame)
