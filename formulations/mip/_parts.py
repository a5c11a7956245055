"""What all start-time models share: start variables, one start a request, the TEL."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pyomo.environ as pyo
from pyomo.core.expr.numeric_expr import LinearExpression

from formulations.valid.windows import Windows
from instances import Instance, Request

#: A Pyomo model; Pyomo ships no types.
Model = Any


def linear(coefficients: Sequence[float], variables: Sequence[Any], constant: float = 0) -> Any:
    """Return Σ coefficient · variable + constant without building an expression tree."""
    return LinearExpression(
        constant=constant, linear_coefs=list(coefficients), linear_vars=list(variables)
    )


def entries_per_start(
    instance: Instance, windows: Windows, entries: Callable[[Request], int]
) -> int:
    """Return the number of matrix entries if each start column of a request has ``entries``."""
    return sum(
        (last - first + 1) * entries(request)
        for first, last, request in zip(
            windows.earliest, windows.latest, instance.requests, strict=True
        )
    )


def start_model(name: str, instance: Instance, windows: Windows) -> Model:
    """Return a model with x, the assignment rows J2 (2), W (8), and the objective J2 (1), W (7)."""
    model = pyo.ConcreteModel(name=name)
    model.I = pyo.RangeSet(0, len(instance) - 1)
    model.T = pyo.RangeSet(0, windows.horizon)
    pairs = [
        (i, t)
        for i, (first, last) in enumerate(zip(windows.earliest, windows.latest, strict=True))
        for t in range(first, last + 1)
    ]
    model.x = pyo.Var(pairs, domain=pyo.Binary)
    columns: list[list[Any]] = [[] for _ in instance.requests]
    for (i, _), variable in model.x.items():
        columns[i].append(variable)

    def start_once(_: Model, i: int) -> Any:
        return linear([1] * len(columns[i]), columns[i]) == 1

    model.start_once = pyo.Constraint(model.I, rule=start_once)
    # Delays, not rounds: late arrivals would make an engine subtract large numbers.
    delays = [t - int(instance.requests[i].arrival) for i, t in pairs]
    outputs = sum(request.output for request in instance.requests)
    model.tel = pyo.Objective(expr=linear(delays, list(model.x.values()), constant=outputs))
    return model


def relax(model: Model) -> Model:
    """Return the same model with every binary variable continuous in [0, 1]."""
    for variable in model.component_data_objects(pyo.Var):
        if variable.is_binary():
            variable.domain = pyo.UnitInterval
    return model


def set_starts(model: Model, starts: Sequence[int]) -> None:
    """Give x the values of a schedule, as a warm start."""
    for (i, t), variable in model.x.items():
        variable.set_value(1 if starts[i] == t else 0, skip_validation=True)
