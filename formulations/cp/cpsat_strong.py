"""CP-SAT with clique inequalities, every forbidden start difference, ordered equal requests."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations, pairwise
from typing import TYPE_CHECKING, Annotated, Any

from formulations.cp import cpsat_model
from formulations.cp._windows import StartRounds
from formulations.cp.constraint_program import ConstraintProgram
from formulations.valid.start_distances import forbidden_differences
from formulations.valid.window_groups import window_groups
from formulations.valid.windows import start_windows
from instances import Instance

if TYPE_CHECKING:
    from ortools.sat.python import cp_model


@dataclass(frozen=True)
class CpsatStrongOptions:
    """Options: strengthenings of the cumulative resource, for ablation."""

    separation: Annotated[
        bool, "least start distance, one way or the other, of pairs that may not start together"
    ] = True
    groups: Annotated[bool, "clique and cover inequalities as no-overlap or cumulative"] = True
    differences: Annotated[
        bool, "start differences that overflow although the pair may start together"
    ] = True
    equal: Annotated[bool, "equal requests start in the instance's order"] = True


def windows_of(instance: Instance, upper_bound: int | None = None) -> StartRounds:
    """Return the windows of ``formulations.valid``, which are tighter than ``cpsat``'s."""
    found = start_windows(instance, upper_bound)
    return StartRounds(found.earliest, found.latest, found.horizon)


def build_model(
    instance: Instance,
    windows: StartRounds,
    warm_start: Sequence[int] | None = None,
    options: CpsatStrongOptions | None = None,
) -> tuple[cp_model.CpModel, list[Any]]:
    """Return the model of ``cpsat`` with redundant constraints and one symmetry broken.

    *Separation.*  See ``cpsat``.

    *Groups.*  At most ``most`` windows of a group hold one round, rounds below 0 included (proof
    in ``formulations.valid.window_groups``): ``no_overlap`` for one, ``cumulative`` for more.

    *Differences.*  start_j − start_i lies in no interval of ``forbidden_differences``: one boolean
    and two implications for each interval that ``cpsat`` does not have.

    *Equal requests.*  Requests of equal (arrival, prompt, output) start in the instance's order:
    exchanging two of their starts changes neither feasibility nor TEL.
    """
    options = options or CpsatStrongOptions()
    if warm_start is not None and options.equal:
        warm_start = _ordered(instance, warm_start)
    plain = cpsat_model.CpsatOptions(separation=options.separation)
    model, starts = cpsat_model.build_model(instance, windows, warm_start, plain)
    if options.groups:
        _add_groups(model, instance, starts)
    if options.differences:
        _add_differences(model, instance, starts)
    if options.equal:
        for each in _classes(instance):
            for i, j in pairwise(each):
                model.add(starts[i] <= starts[j])
    return model, starts


def _add_groups(model: cp_model.CpModel, instance: Instance, starts: list[Any]) -> None:
    for group in window_groups(instance):
        intervals = [
            model.new_fixed_size_interval_var(
                starts[member.request] - member.before, member.before + member.after, ""
            )
            for member in group.members
        ]
        if group.most == 1:
            model.add_no_overlap(intervals)
        else:
            model.add_cumulative(intervals, [1] * len(intervals), group.most)


def _add_differences(model: cp_model.CpModel, instance: Instance, starts: list[Any]) -> None:
    for i, j in combinations(range(len(instance)), 2):
        pair = instance.requests[i], instance.requests[j]
        for low, high in forbidden_differences(*pair, instance.memory):
            if low <= 0 <= high:
                continue
            difference, below = starts[j] - starts[i], model.new_bool_var("")
            model.add(difference <= low - 1).only_enforce_if(below)
            model.add(difference >= high + 1).only_enforce_if(~below)


def _classes(instance: Instance) -> list[list[int]]:
    classes: dict[tuple[int, int, int], list[int]] = {}
    for i, request in enumerate(instance.requests):
        classes.setdefault((int(request.arrival), request.prompt, request.output), []).append(i)
    return list(classes.values())


def _ordered(instance: Instance, starts: Sequence[int]) -> list[int]:
    """Return the same schedule with the starts of equal requests in the instance's order."""
    ordered = list(starts)
    for each in _classes(instance):
        for i, start in zip(each, sorted(starts[i] for i in each), strict=True):
            ordered[i] = start
    return ordered


FORMULATION = ConstraintProgram(
    name="cpsat-strong",
    build=build_model,
    size=cpsat_model.model_size,
    windows=windows_of,
    options=CpsatStrongOptions,
)
