"""Start-time integer program with dense memory rows and window cliques of exclusive requests."""

from __future__ import annotations

from typing import Any

import pyomo.environ as pyo

from formulations.conflicts import window_cliques
from formulations.mip import _parts, ilp
from formulations.mip.ilp import model_size, set_starts
from formulations.windows import Windows
from instances import Instance

RELAXATION = False

__all__ = ["RELAXATION", "build_model", "model_size", "set_starts"]


def build_model(instance: Instance, windows: Windows) -> _parts.Model:
    """Return the model of ``ilp`` with one row a round and group: at most one window holds it.

    The groups and the proof that every feasible schedule satisfies the rows are in
    ``formulations.conflicts.window_cliques``.
    """
    model = ilp.build_model(instance, windows)
    model.clique = pyo.ConstraintList()
    for group in window_cliques(instance):
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
