"""Integer program with start and running variables, memory made linear (J1 App. B.1)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyomo.environ as pyo

from formulations.mip import _parts
from formulations.valid.windows import Windows
from instances import Instance

RELAXATION = False


def model_size(instance: Instance, windows: Windows) -> int:
    """Return the number of matrix entries, o_i + 9 for each start at most, and of rows."""
    entries = _parts.entries_per_start(instance, windows, lambda request: request.output + 9)
    return entries + windows.horizon


def build_model(instance: Instance, windows: Windows) -> _parts.Model:
    """Return the model of jaillet2025_v1 with its memory row replaced by a linear equivalent.

    ``y[i, t]`` tells whether request i holds memory at time t, and ``p[i]`` is its start round.
    The printed memory row Σ (s + t − p_i) y[i,t] ≤ M multiplies two variables.  Here the tokens
    that request i holds at time t are a variable ``held[i, t]`` ≥ 0 with

        held[i, t] ≥ s_i + t − p_i − (s_i + t − a_i)(1 − y[i, t]).

    Proof of equivalence at integer points.  If y = 1 the row reads held ≥ s_i + t − p_i, the
    printed term.  If y = 0 it reads held ≥ a_i − p_i ≤ 0, so held may be 0, the printed term.
    Memory bounds only the sum from above, so held can always take the least value, and no more
    than s + o.  Times are those of this suite: a request started at p holds memory at p + 1..p + o
    (printed: p..p+o−1).
    """
    model = _parts.start_model("ilp-xy", instance, windows)
    requests = instance.requests
    live = [
        (i, t)
        for i, request in enumerate(requests)
        for t in range(windows.earliest[i] + 1, windows.latest[i] + request.output + 1)
    ]
    model.y = pyo.Var(live, domain=pyo.Binary)
    model.held = pyo.Var(live, bounds=lambda _, i, __: (0, requests[i].peak))
    model.p = pyo.Var(model.I, bounds=lambda _, i: (0, windows.latest[i]))

    def window(i: int) -> range:
        return range(windows.earliest[i], windows.latest[i] + 1)

    def start_round(m: _parts.Model, i: int) -> Any:
        rounds = window(i)
        return (
            _parts.linear([*rounds, -1], [*(m.x[i, t] for t in rounds), m.p[i]]),
            0,
        )

    def running(m: _parts.Model, i: int, t: int) -> Any:
        rounds = [k for k in window(i) if k < t <= k + requests[i].output]
        return (
            _parts.linear([1] * len(rounds) + [-1], [*(m.x[i, k] for k in rounds), m.y[i, t]]),
            0,
        )

    def tokens(m: _parts.Model, i: int, t: int) -> Any:
        most = requests[i].prompt + t - windows.earliest[i]
        return (
            requests[i].prompt + t - most,
            _parts.linear([1, 1, -most], [m.held[i, t], m.p[i], m.y[i, t]]),
            None,
        )

    holders: list[list[Any]] = [[] for _ in range(windows.horizon + 1)]
    for (_, t), variable in model.held.items():
        holders[t].append(variable)

    def memory(_: _parts.Model, t: int) -> Any:
        if not holders[t]:
            return pyo.Constraint.Skip
        return (None, _parts.linear([1] * len(holders[t]), holders[t]), instance.memory)

    model.start_round = pyo.Constraint(model.I, rule=start_round)
    model.running = pyo.Constraint(live, rule=running)
    model.held_at = pyo.Constraint(live, rule=tokens)
    model.memory = pyo.Constraint(model.T, rule=memory)
    return model


def set_starts(model: _parts.Model, instance: Instance, starts: Sequence[int]) -> None:
    """Give every variable the value of a schedule, as a warm start."""
    _parts.set_starts(model, starts)
    for i, start in enumerate(starts):
        model.p[i].set_value(start)
    for (i, t), variable in model.y.items():
        request = instance.requests[i]
        runs = starts[i] < t <= starts[i] + request.output
        variable.set_value(1 if runs else 0)
        model.held[i, t].set_value(request.prompt + t - starts[i] if runs else 0)
