"""``ilp-sparse`` with clique and cover inequalities as occupancy balances."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any

from formulations.mip import ilp_sparse
from formulations.mip.integer_program import Model, weighted
from formulations.valid.window_groups import WindowMember, window_groups
from formulations.valid.windows import Windows
from instances import Instance


@dataclass(frozen=True)
class IlpSparseOptions:
    """Options: strengthenings of ``ilp-sparse``."""

    groups: Annotated[bool, "clique and cover inequalities of two and three requests"] = False


def build_model(instance: Instance, windows: Windows, options: IlpSparseOptions) -> Model:
    """Return ``ilp-sparse``, with ``groups`` and at most ``most`` open windows of each group.

    ``open[g, t]`` counts the windows of group g that hold round t: those of round t − 1, plus the
    ones that begin at t, less the ones that end there; two entries a column, where one row a round
    would have one entry for each round of the window.  Windows are cut at round 0.  That the
    counts stay within ``most`` in every feasible schedule is proved in
    ``formulations.valid.window_groups``.
    """
    import pyomo.environ as pyo

    model = ilp_sparse.build_model(instance, windows)
    model.window_groups = groups = window_groups(instance) if options.groups else []
    model.G = pyo.RangeSet(0, len(groups) - 1)
    # Above the row's side, so that the price is the row's.
    model.open = pyo.Var(model.G, model.T, bounds=lambda _, g, __: (0, groups[g].most + 1))

    def open_balance(m: Model, g: int, t: int) -> Any:
        opened: dict[tuple[int, int], int] = {}
        closed: dict[tuple[int, int], int] = {}
        for member in groups[g].members:
            i = member.request
            opened |= {(i, k): 1 for k in _opening(member, t) if k in windows.rounds(i)}
            if t and (k := t - member.after) in windows.rounds(i):
                closed[i, k] = -1
        counted = [(-1, m.open[g, t]), *([(1, m.open[g, t - 1])] if t else [])]
        return weighted(opened | closed, m.x, *counted) == 0

    def most_open(m: Model, g: int, t: int) -> Any:
        return m.open[g, t] <= groups[g].most

    model.open_balance = pyo.Constraint(model.G, model.T, rule=open_balance)
    model.group = pyo.Constraint(model.G, model.T, rule=most_open)
    return model


def _opening(member: WindowMember, t: int) -> range:
    """Return the start rounds whose windows begin at round t; at 0 also those open before."""
    if t:
        return range(t + member.before, t + member.before + 1)
    return range(max(1 - member.after, 0), member.before + 1)


def set_starts(model: Model, instance: Instance, starts: Sequence[int]) -> None:
    """Give every variable the value of a schedule, as a warm start."""
    ilp_sparse.set_starts(model, instance, starts)
    for (g, t), variable in model.open.items():
        variable.set_value(
            sum(
                starts[member.request] - member.before <= t < starts[member.request] + member.after
                for member in model.window_groups[g].members
            )
        )


def model_size(instance: Instance, windows: Windows) -> int:
    """Return the number of matrix entries: two more for each start and group."""
    groups = window_groups(instance)
    return (
        ilp_sparse.model_size(instance, windows)
        + windows.entries(2 * len(groups) for _ in instance.requests)
        + 3 * len(groups) * windows.horizon
    )


FORMULATION = replace(
    ilp_sparse.FORMULATION,
    build=build_model,
    size=model_size,
    set_starts=set_starts,
    options=IlpSparseOptions,
    strengthens=ilp_sparse.FORMULATION,
)
