"""Start-time integer program with dense memory rows, as printed (J2 (1)-(4), W (7)-(10))."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyomo.environ as pyo

from formulations.mip import _parts
from formulations.valid.windows import Windows
from instances import Instance

RELAXATION = False


def model_size(instance: Instance, windows: Windows) -> int:
    """Return the number of matrix entries, o_i + 1 for each start, and of rows."""
    entries = _parts.entries_per_start(instance, windows, lambda request: request.output + 1)
    return entries + windows.horizon


def build_model(instance: Instance, windows: Windows) -> _parts.Model:
    """Return min Σ (t + o_i − a_i) x[i,t] with one row of tokens held at every time (tokens).

    Constraint (3) of jaillet2025_v2, (9) of wang2025: Σ_i Σ_k (s_i + t − k) x[i,k] ≤ M over the
    starts k with k < t ≤ k + o_i, for every time t.
    """
    model = _parts.start_model("ilp", instance, windows)
    tokens: list[list[int]] = [[] for _ in range(windows.horizon + 1)]
    columns: list[list[Any]] = [[] for _ in range(windows.horizon + 1)]
    for (i, start), variable in model.x.items():
        request = instance.requests[i]
        for j in range(1, request.output + 1):
            tokens[start + j].append(request.prompt + j)
            columns[start + j].append(variable)

    def memory(_: _parts.Model, t: int) -> Any:
        if not columns[t]:
            return pyo.Constraint.Skip
        return (None, _parts.linear(tokens[t], columns[t]), instance.memory)

    model.memory = pyo.Constraint(model.T, rule=memory)
    return model


def set_starts(model: _parts.Model, instance: Instance, starts: Sequence[int]) -> None:
    """Give every variable the value of a schedule, as a warm start."""
    del instance
    _parts.set_starts(model, starts)
