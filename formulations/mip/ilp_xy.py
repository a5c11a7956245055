"""Integer program with start and running variables, memory made linear."""

from collections.abc import Sequence
from typing import Any

from formulations.mip import ilp
from formulations.mip.integer_program import IntegerProgram, Model, weighted
from formulations.valid.windows import Windows
from instances import Instance


def build_model(instance: Instance, windows: Windows) -> Model:
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
    import pyomo.environ as pyo

    model = ilp.start_model("ilp-xy", instance, windows)
    I = range(len(instance))
    s = [request.prompt for request in instance.requests]
    o = [request.output for request in instance.requests]
    a, last = windows.earliest, windows.latest
    live = [(i, t) for i in I for t in range(a[i] + 1, last[i] + o[i] + 1)]

    model.y = pyo.Var(live, domain=pyo.Binary)
    model.held = pyo.Var(live, bounds=lambda _, i, __: (0, s[i] + o[i]))
    model.p = pyo.Var(model.I, bounds=lambda _, i: (0, last[i]))

    def start_round(m: Model, i: int) -> Any:
        return weighted({(i, t): t for t in windows.rounds(i)}, m.x, (-1, m.p[i])) == 0

    def running(m: Model, i: int, t: int) -> Any:
        since = range(max(a[i], t - o[i]), min(last[i], t - 1) + 1)
        return weighted({(i, k): 1 for k in since}, m.x, (-1, m.y[i, t])) == 0

    def held_at(m: Model, i: int, t: int) -> Any:
        most = s[i] + t - a[i]
        return m.held[i, t] + m.p[i] - most * m.y[i, t] >= s[i] + t - most

    def memory(m: Model, t: int) -> Any:
        held = {(i, t): 1 for i in I if a[i] < t <= last[i] + o[i]}
        return weighted(held, m.held) <= instance.memory if held else pyo.Constraint.Skip

    model.start_round = pyo.Constraint(model.I, rule=start_round)
    model.running = pyo.Constraint(live, rule=running)
    model.held_at = pyo.Constraint(live, rule=held_at)
    model.memory = pyo.Constraint(model.T, rule=memory)
    return model


def set_starts(model: Model, instance: Instance, starts: Sequence[int]) -> None:
    """Give every variable the value of a schedule, as a warm start."""
    ilp.set_starts(model, instance, starts)
    for i, start in enumerate(starts):
        model.p[i].set_value(start)
    for (i, t), variable in model.y.items():
        request = instance.requests[i]
        runs = starts[i] < t <= starts[i] + request.output
        variable.set_value(1 if runs else 0)
        model.held[i, t].set_value(request.prompt + t - starts[i] if runs else 0)


def model_size(instance: Instance, windows: Windows) -> int:
    """Return the number of matrix entries, o_i + 9 for each start at most, and of rows."""
    entries = windows.entries(request.output + 9 for request in instance.requests)
    return entries + windows.horizon


FORMULATION = IntegerProgram(
    name="ilp-xy", source="J1 App. B.1", build=build_model, size=model_size, set_starts=set_starts
)
