"""CP-SAT over the time-indexed booleans x[i,t] with the memory rows of ``ilp``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from formulations.cp._windows import StartRounds, start_windows
from formulations.cp.constraint_program import ConstraintProgram
from instances import Instance
from support.clock import look_at_the_clock

if TYPE_CHECKING:
    from ortools.sat.python import cp_model


def model_size(instance: Instance, windows: StartRounds) -> int:
    """Return the number of entries that the model will have, o_i + 2 a start, and of rounds."""
    return windows.horizon + sum(
        (last - first + 1) * (request.output + 2)
        for first, last, request in zip(
            windows.earliest, windows.latest, instance.requests, strict=True
        )
    )


def build_model(
    instance: Instance, windows: StartRounds, warm_start: Sequence[int] | None = None
) -> tuple[cp_model.CpModel, list[Any]]:
    """Return the model of J2 (1)-(4) and the start round of each request as an expression."""
    from ortools.sat.python import cp_model

    model = cp_model.CpModel()
    starts: list[Any] = []
    tokens: list[list[int]] = [[] for _ in range(windows.horizon + 1)]
    holders: list[list[Any]] = [[] for _ in range(windows.horizon + 1)]
    for i, request in enumerate(instance.requests):
        rounds = range(windows.earliest[i], windows.latest[i] + 1)
        chosen = [model.new_bool_var(f"x_{i}_{t}") for t in rounds]
        model.add_exactly_one(chosen)
        starts.append(cp_model.LinearExpr.weighted_sum(chosen, list(rounds)))
        for start, literal in zip(rounds, chosen, strict=True):
            look_at_the_clock()
            if warm_start is not None:
                model.add_hint(literal, start == warm_start[i])
            for j in range(1, request.output + 1):
                tokens[start + j].append(request.prompt + j)
                holders[start + j].append(literal)
    for held_by, held in zip(holders, tokens, strict=True):
        look_at_the_clock()
        if sum(held) > instance.memory:
            model.add(cp_model.LinearExpr.weighted_sum(held_by, held) <= instance.memory)
    ends = sum(request.output - int(request.arrival) for request in instance.requests)
    model.minimize(cp_model.LinearExpr.sum(starts) + ends)
    return model, starts


FORMULATION = ConstraintProgram(
    name="cpsat-time",
    source="J2 (1)-(4)",
    build=build_model,
    size=model_size,
    windows=start_windows,
)
