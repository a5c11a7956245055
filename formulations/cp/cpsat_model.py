"""CP-SAT: one cumulative resource with growing demands, and disjunctive pairs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

from formulations.cp._windows import StartRounds, start_windows
from formulations.cp.constraint_program import ConstraintProgram
from formulations.valid.start_distances import separation
from instances import Instance
from support.build_limit import check_build_time

if TYPE_CHECKING:
    from ortools.sat.python import cp_model

#: Pairs beyond this number are left to the resource, most demanding requests first.
PAIRS_UP_TO = 50_000


@dataclass(frozen=True)
class CpsatOptions:
    """Options: strengthenings of the cumulative resource."""

    separation: Annotated[
        bool, "least start distance, one way or the other, of pairs that may not start together"
    ] = True


def model_size(instance: Instance, windows: StartRounds) -> int:
    """Return the number of entries of the model: one interval a token, and the pairs."""
    del windows
    n = len(instance)
    return int(instance.outputs.sum()) + min(3 * n * (n - 1) // 2, 3 * PAIRS_UP_TO)


def build_model(
    instance: Instance,
    windows: StartRounds,
    warm_start: Sequence[int] | None = None,
    options: CpsatOptions | None = None,
) -> tuple[cp_model.CpModel, list[Any]]:
    """Return the model and the start variable of each request (rounds).

    A request that starts at p demands s + 1 tokens on [p + 1, p + o] and one more on each of
    [p + j, p + o] for j = 2..o: together s + j at p + j.  One cumulative constraint of capacity M
    over all these intervals is the memory row at every time.

    Two requests that may not start together must start at least ``separation`` apart one way or
    the other (proof in ``formulations.valid.start_distances``): one boolean and two implications a
    pair.
    """
    from ortools.sat.python import cp_model

    options = options or CpsatOptions()
    model = cp_model.CpModel()
    starts = [
        model.new_int_var(first, last, f"start_{i}")
        for i, (first, last) in enumerate(zip(windows.earliest, windows.latest, strict=True))
    ]
    intervals = []
    demands = []
    for request, start in zip(instance.requests, starts, strict=True):
        check_build_time()
        for j in range(1, request.output + 1):
            size = request.output + 1 - j
            intervals.append(model.new_fixed_size_interval_var(start + j, size, ""))
            demands.append(request.prompt + 1 if j == 1 else 1)
    model.add_cumulative(intervals, demands, instance.memory)
    if options.separation:
        _add_separation(model, instance, starts)
    ends = sum(request.output - int(request.arrival) for request in instance.requests)
    model.minimize(cp_model.LinearExpr.sum(starts) + ends)
    if warm_start is not None:
        for variable, value in zip(starts, warm_start, strict=True):
            model.add_hint(variable, value)
    return model, starts


def _add_separation(model: cp_model.CpModel, instance: Instance, starts: list[Any]) -> None:
    requests = instance.requests
    order = sorted(range(len(requests)), key=lambda i: -requests[i].peak)
    pairs = 0
    for position, i in enumerate(order):
        check_build_time()
        for j in order[position + 1 :]:
            j_after_i = separation(requests[i], requests[j], instance.memory)
            if j_after_i == 0:
                continue
            i_after_j = separation(requests[j], requests[i], instance.memory)
            i_first = model.new_bool_var("")
            model.add(starts[j] >= starts[i] + j_after_i).only_enforce_if(i_first)
            model.add(starts[i] >= starts[j] + i_after_j).only_enforce_if(~i_first)
            pairs += 1
            if pairs == PAIRS_UP_TO:
                return


FORMULATION = ConstraintProgram(
    name="cpsat", build=build_model, size=model_size, windows=start_windows, options=CpsatOptions
)
