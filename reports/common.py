"""The instances that methods share: only on those may they be compared."""

from __future__ import annotations

from dataclasses import dataclass

import pandas as pd

from support.text import counted

#: Share of the remaining methods' instances that they must have in common.
LEAST_SHARED = 0.5


@dataclass(frozen=True)
class Common:
    """Costs on shared instances (rows) of comparable methods (columns), and who was left out."""

    costs: pd.DataFrame
    left_out: tuple[str, ...]

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
    with the fewest instances is left out (of several, the last by name).

    Parameters
    ----------
    frame
        One line per instance (``id``) and method (``label``) that was run.
    cost
        The column with the costs; missing means that the method failed there.
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
