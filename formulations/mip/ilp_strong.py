"""Start-time integer program with dense memory rows and window cliques of exclusive requests."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pyomo.environ as pyo

from formulations.bounds.clique_lp import by_highs
from formulations.conflicts import window_cliques
from formulations.fixing import priced_windows
from formulations.mip import _parts, ilp
from formulations.mip.ilp import model_size, set_starts
from formulations.windows import Windows
from formulations.windows import start_windows as windows_from_volumes
from instances import Instance

RELAXATION = False

__all__ = ["RELAXATION", "Options", "build_model", "model_size", "set_starts", "start_windows"]


@dataclass(frozen=True)
class Options:
    """Which strengthenings are added to ``ilp``, for ablation."""

    cliques: bool = True
    """window cliques of exclusive requests"""
    fixing: bool = False
    """start windows narrowed by the prices of lp-cliques (formulations.fixing)"""


def start_windows(
    instance: Instance, upper_bound: int | None = None, options: Options | None = None
) -> Windows:
    """Return the start windows of ``formulations.windows``, narrowed where ``fixing`` is on."""
    windows = windows_from_volumes(instance, upper_bound)
    if options is None or not options.fixing:
        return windows
    return priced_windows(instance, windows, upper_bound, by_highs)


def build_model(
    instance: Instance, windows: Windows, options: Options | None = None
) -> _parts.Model:
    """Return the model of ``ilp`` with one row a round and group: at most one window holds it.

    The groups and the proof that every feasible schedule satisfies the rows are in
    ``formulations.conflicts.window_cliques``.
    """
    model = ilp.build_model(instance, windows)
    model.clique = pyo.ConstraintList()
    cliques = options is None or options.cliques
    for group in window_cliques(instance) if cliques else []:
        inside: dict[int, list[Any]] = {}
        for member in group:
            i = member.request
            for start in range(windows.earliest[i], windows.latest[i] + 1):
                for time in range(start - member.before, start + member.after):
                    inside.setdefault(time, []).append(model.x[i, start])
        for time in sorted(inside):
            columns = inside[time]
            if len(columns) > 1:
                model.clique.add((None, _parts.linear([1] * len(columns), columns), 1))
    return model
