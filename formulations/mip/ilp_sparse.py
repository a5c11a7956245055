"""Start-time integer program with memory as balances of running requests and tokens held."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyomo.environ as pyo

from formulations.mip import _parts
from formulations.valid.windows import Windows
from instances import Instance

RELAXATION = False


def model_size(instance: Instance, windows: Windows) -> int:
    """Return the number of matrix entries: five for each start, six for each time."""
    return _parts.entries_per_start(instance, windows, lambda _: 5) + 6 * windows.horizon


def build_model(instance: Instance, windows: Windows) -> _parts.Model:
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
    model = _parts.start_model("ilp-sparse", instance, windows)
    horizon = windows.horizon
    model.running = pyo.Var(model.T, bounds=(0, len(instance)))
    model.tokens = pyo.Var(model.T, bounds=(0, None))
    model.running[0].fix(0)
    model.tokens[0].fix(0)
    changes: list[list[Any]] = [[] for _ in range(horizon + 2)]
    running_by: list[list[int]] = [[] for _ in range(horizon + 2)]
    tokens_by: list[list[int]] = [[] for _ in range(horizon + 2)]
    for (i, start), variable in model.x.items():
        request = instance.requests[i]
        for time, sign, tokens in (
            (start + 1, 1, request.prompt + 1),
            (start + request.output + 1, -1, request.peak + 1),
        ):
            changes[time].append(variable)
            running_by[time].append(sign)
            tokens_by[time].append(sign * tokens)

    def running_balance(m: _parts.Model, t: int) -> Any:
        if t == 0:
            return pyo.Constraint.Skip
        return (
            _parts.linear([*running_by[t], 1, -1], [*changes[t], m.running[t - 1], m.running[t]]),
            0,
        )

    def token_balance(m: _parts.Model, t: int) -> Any:
        if t == 0:
            return pyo.Constraint.Skip
        return (
            _parts.linear(
                [*tokens_by[t], 1, 1, -1],
                [*changes[t], m.tokens[t - 1], m.running[t - 1], m.tokens[t]],
            ),
            0,
        )

    def memory(m: _parts.Model, t: int) -> Any:
        return (None, _parts.linear([1], [m.tokens[t]]), instance.memory)

    model.running_balance = pyo.Constraint(model.T, rule=running_balance)
    model.token_balance = pyo.Constraint(model.T, rule=token_balance)
    model.memory = pyo.Constraint(pyo.RangeSet(1, horizon), rule=memory)
    return model


def set_starts(model: _parts.Model, instance: Instance, starts: Sequence[int]) -> None:
    """Give every variable the value of a schedule, as a warm start."""
    _parts.set_starts(model, starts)
    held = [0] * len(model.T)
    running = [0] * len(model.T)
    for request, start in zip(instance.requests, starts, strict=True):
        for j in range(1, request.output + 1):
            held[start + j] += request.prompt + j
            running[start + j] += 1
    for t in model.T:
        model.tokens[t].set_value(held[t])
        model.running[t].set_value(running[t])
