"""Time-indexed formulation with memory as balances of running requests and tokens held."""

from collections.abc import Sequence
from typing import Any

from formulations.mip import ilp
from formulations.mip.integer_program import IntegerProgram, Model, weighted
from formulations.valid.windows import Windows
from instances import Instance


def build_model(instance: Instance, windows: Windows) -> Model:
    """Return the program of ``ilp`` with five entries a column instead of o_i + 1.

    ``running[t]`` is the number of requests that hold memory at time t, ``tokens[t]`` what they
    hold (tokens).

    Proof that the feasible x, fractional ones included, are those of ``ilp``.  A request that
    starts at p holds s + 1 tokens at p + 1, one more at each later time until s + o at p + o, and
    none at p + o + 1.  So from t − 1 to t the tokens held rise by one for each request running at
    t − 1, rise by s + 1 for each start at t − 1, and fall by s + o + 1 for each completion at
    t − 1 (s + o held and one that was counted as growth).  Starting from nothing at time 0, the
    balances determine ``running`` and ``tokens`` as linear functions of x, and ``tokens[t]`` is
    the left side of the memory row of ``ilp``.
    """
    import pyomo.environ as pyo

    model = ilp.start_model("ilp-sparse", instance, windows)
    times = pyo.RangeSet(1, windows.horizon)
    I = range(len(instance))
    s = [request.prompt for request in instance.requests]
    o = [request.output for request in instance.requests]
    rounds = [windows.rounds(i) for i in model.I]

    model.running = pyo.Var(model.T, bounds=(0, len(instance)))
    # Above the row's side, so that the price of memory is the row's.
    model.tokens = pyo.Var(model.T, bounds=(0, instance.memory + 1))
    model.running[0].fix(0)
    model.tokens[0].fix(0)

    def running_balance(m: Model, t: int) -> Any:
        """Return the balance of running requests: t − 1, plus starts there, less ends there."""
        starts = {(i, t - 1): 1 for i in I if t - 1 in rounds[i]}
        ends = {(i, t - 1 - o[i]): -1 for i in I if t - 1 - o[i] in rounds[i]}
        running = (1, m.running[t - 1]), (-1, m.running[t])
        return weighted(starts | ends, m.x, *running) == 0

    def token_balance(m: Model, t: int) -> Any:
        starts = {(i, t - 1): s[i] + 1 for i in I if t - 1 in rounds[i]}
        ends = {(i, t - 1 - o[i]): -(s[i] + o[i] + 1) for i in I if t - 1 - o[i] in rounds[i]}
        held = (1, m.tokens[t - 1]), (1, m.running[t - 1]), (-1, m.tokens[t])
        return weighted(starts | ends, m.x, *held) == 0

    def memory(m: Model, t: int) -> Any:
        return m.tokens[t] <= instance.memory

    model.running_balance = pyo.Constraint(times, rule=running_balance)
    model.token_balance = pyo.Constraint(times, rule=token_balance)
    model.memory = pyo.Constraint(times, rule=memory)
    return model


def set_starts(model: Model, instance: Instance, starts: Sequence[int]) -> None:
    """Give every variable the value of a schedule, as a warm start."""
    ilp.set_starts(model, instance, starts)
    held = [0] * len(model.T)
    running = [0] * len(model.T)
    for request, start in zip(instance.requests, starts, strict=True):
        for j in range(1, request.output + 1):
            held[start + j] += request.prompt + j
            running[start + j] += 1
    for t in model.T:
        model.tokens[t].set_value(held[t])
        model.running[t].set_value(running[t])


def model_size(instance: Instance, windows: Windows) -> int:
    """Return the number of matrix entries: five for each start, six for each time."""
    return windows.entries(5 for _ in instance.requests) + 6 * windows.horizon


FORMULATION = IntegerProgram(
    name="ilp-sparse", build=build_model, size=model_size, set_starts=set_starts
)
