"""The program of ``ilp-sparse`` with window groups as occupancy balances."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyomo.environ as pyo

from formulations.groups import window_groups
from formulations.mip import _parts, ilp_sparse
from formulations.windows import Windows
from instances import Instance

RELAXATION = False


def model_size(instance: Instance, windows: Windows) -> int:
    """Return the number of matrix entries: two more for each start and group."""
    groups = window_groups(instance)
    return (
        ilp_sparse.model_size(instance, windows)
        + _parts.entries_per_start(instance, windows, lambda _: 2 * len(groups))
        + 3 * len(groups) * windows.horizon
    )


def build_model(instance: Instance, windows: Windows) -> _parts.Model:
    """Return ``ilp-sparse`` with at most ``most`` windows of each group open at any round.

    ``open[g, t]`` counts the windows of group g that hold round t: those of round t − 1, plus the
    ones that begin at t, less the ones that end there; two entries a column, where one row a round
    would have one entry for each round of the window.  Windows are cut at round 0.  That the
    counts stay within ``most`` in every feasible schedule is proved in ``formulations.groups``.
    """
    model = ilp_sparse.build_model(instance, windows)
    model.name = "ilp-cliques"
    groups = window_groups(instance)
    model.window_groups = groups
    model.G = pyo.RangeSet(0, len(groups) - 1)
    model.open = pyo.Var(model.G, model.T, bounds=(0, None))
    signs: dict[tuple[int, int], list[int]] = {}
    columns: dict[tuple[int, int], list[Any]] = {}
    for g, group in enumerate(groups):
        for member in group.members:
            i = member.request
            for start in range(windows.earliest[i], windows.latest[i] + 1):
                opens, closes = max(start - member.before, 0), start + member.after
                if closes <= opens:
                    continue
                for time, sign in ((opens, 1), (closes, -1)):
                    signs.setdefault((g, time), []).append(sign)
                    columns.setdefault((g, time), []).append(model.x[i, start])

    def balance(m: _parts.Model, g: int, t: int) -> Any:
        earlier = [m.open[g, t - 1]] if t else []
        return (
            _parts.linear(
                [*signs.get((g, t), []), *[1 for _ in earlier], -1],
                [*columns.get((g, t), []), *earlier, m.open[g, t]],
            ),
            0,
        )

    def clique(m: _parts.Model, g: int, t: int) -> Any:
        return (None, _parts.linear([1], [m.open[g, t]]), groups[g].most)

    model.open_balance = pyo.Constraint(model.G, model.T, rule=balance)
    model.clique = pyo.Constraint(model.G, model.T, rule=clique)
    return model


def set_starts(model: _parts.Model, instance: Instance, starts: Sequence[int]) -> None:
    """Give every variable the value of a schedule, as a warm start."""
    ilp_sparse.set_starts(model, instance, starts)
    for (g, t), variable in model.open.items():
        variable.set_value(
            sum(
                starts[member.request] - member.before <= t < starts[member.request] + member.after
                for member in model.window_groups[g].members
            )
        )
