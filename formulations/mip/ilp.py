"""Time-indexed formulation (ILP) with dense memory rows, as printed."""

from collections.abc import Sequence
from typing import Any

from formulations.mip.integer_program import IntegerProgram, Model, weighted
from formulations.valid.windows import Windows
from instances import Instance


def start_model(name: str, instance: Instance, windows: Windows) -> Model:
    """Return (1), (2) and (4) of :func:`build_model`, which all integer programs here share."""
    import pyomo.environ as pyo

    o = [request.output for request in instance.requests]
    a = [int(request.arrival) for request in instance.requests]
    model = pyo.ConcreteModel(name=name)
    model.I = pyo.RangeSet(0, len(instance) - 1)
    model.T = pyo.RangeSet(0, windows.horizon)
    starts = [(i, t) for i in model.I for t in windows.rounds(i)]
    model.x = pyo.Var(starts, domain=pyo.Binary)  # (4)

    def latency(m: Model) -> Any:  # (1)
        # By (2), a_i is Σ_t a_i·x[i, t]; so late arrivals leave no large numbers to subtract.
        return weighted({(i, t): t - a[i] for i, t in starts}, m.x) + sum(o)

    def start_once(m: Model, i: int) -> Any:  # (2)
        return weighted({(i, t): 1 for t in windows.rounds(i)}, m.x) == 1

    model.tel = pyo.Objective(rule=latency)
    model.start_once = pyo.Constraint(model.I, rule=start_once)
    return model


def build_model(instance: Instance, windows: Windows) -> Model:
    """Return the integer program of jaillet2025_v2, whose numbers are (1)-(4) here.

    With requests I, times T, prompts s, outputs o, memory M (tokens), arrivals a (rounds), and
    x[i, t] = 1 where request i starts at round t:

        min  Σ_i (Σ_t t·x[i, t] + o_i − a_i)                                      (1)
        Σ_t x[i, t] = 1                                        for all i in I     (2)
        Σ_i Σ_{k = max(a_i, t − o_i)}^{t − 1} (s_i + t − k)·x[i, k] ≤ M
                                                               for all t in T     (3)
        x[i, t] ∈ {0, 1}                                                          (4)

    These are (7)-(10) of wang2025.  Starts are those of the windows: from the first of i, which is
    a_i or later, to its last.  A time at which nothing can be held has no row.
    """
    import pyomo.environ as pyo

    model = start_model("ilp", instance, windows)
    I = range(len(instance))
    s = [request.prompt for request in instance.requests]
    o = [request.output for request in instance.requests]
    first, last, M = windows.earliest, windows.latest, instance.memory

    def memory(m: Model, t: int) -> Any:  # (3)
        tokens = {
            (i, k): s[i] + t - k
            for i in I
            for k in range(max(first[i], t - o[i]), min(last[i], t - 1) + 1)
        }
        return weighted(tokens, m.x) <= M if tokens else pyo.Constraint.Skip

    model.memory = pyo.Constraint(model.T, rule=memory)
    return model


def set_starts(model: Model, instance: Instance, starts: Sequence[int]) -> None:
    """Give x the values of a schedule, as a warm start."""
    del instance
    for (i, t), variable in model.x.items():
        variable.set_value(1 if starts[i] == t else 0, skip_validation=True)


def model_size(instance: Instance, windows: Windows) -> int:
    """Return the number of matrix entries, o_i + 1 for each start, and of rows."""
    entries = windows.entries(request.output + 1 for request in instance.requests)
    return entries + windows.horizon


FORMULATION = IntegerProgram(
    name="ilp",
    source="J2 (1)-(4), W (7)-(10); its LP relaxation J2 (18)-(21), W (11)-(14)",
    build=build_model,
    size=model_size,
    set_starts=set_starts,
)
