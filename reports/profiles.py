"""Costs on shared instances, for performance profiles."""

from dataclasses import dataclass
from functools import cached_property

import pandas as pd

from reports.formulas import performance_ratios
from support.message_text import plural

#: Shorter times count as this, seconds.
LEAST_SECONDS = 0.01
#: Share of the remaining methods' instances that they must have in common.
LEAST_SHARED = 0.5

PROFILE_NOTE = (
    "Dolan & Moré (2002): the share of instances on which a method is within the factor τ of the "
    "best method shown; at τ = 1 the share on which it is the best. Compare curves with the best "
    "method only: the second place depends on the methods shown (Gould & Scott 2016)."
)


@dataclass(frozen=True)
class SharedCosts:
    """Costs on shared instances (rows) of comparable methods (columns), and who was left out."""

    costs: pd.DataFrame
    left_out: tuple[str, ...]

    @cached_property
    def ratios(self) -> pd.DataFrame:
        """The costs as multiples of each instance's least."""
        return performance_ratios(self.costs)

    def note(self) -> str:
        """Return one line on the instances and methods compared."""
        methods = self.costs.shape[1]
        were = "was" if methods == 1 else "were"
        shared = f"{plural(len(self.costs), 'instance')} that {plural(methods, 'method')} {were}"
        out = f"; left out, with fewer: {plural(len(self.left_out), 'method')}"
        return f"Over the {shared} run on{out if self.left_out else ''}."


def common_costs(frame: pd.DataFrame, cost: str) -> SharedCosts:
    """Return the costs on the instances on which all compared methods were run.

    While the methods share less than half of the instances that any of them was run on, the one
    with the fewest (the last by name of several) is left out. A missing cost is a failure.
    """
    table = frame.set_index(["id", "label"])[cost].astype("Float64")
    ran = pd.Series(True, index=table.index).unstack(fill_value=False)
    left_out: list[str] = []
    while ran.shape[1] > 1 and ran.all(axis=1).sum() < LEAST_SHARED * ran.any(axis=1).sum():
        counts = ran.sum()
        left_out.append(max(counts.index[counts == counts.min()]))
        ran = ran.drop(columns=left_out[-1])
    shared_ids = ran.index[ran.all(axis=1)] if ran.shape[1] else ran.index[:0]
    costs = table.unstack().reindex(index=shared_ids, columns=ran.columns)
    return SharedCosts(costs, tuple(sorted(left_out)))
