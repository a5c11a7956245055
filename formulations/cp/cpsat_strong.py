"""CP-SAT with window groups, every forbidden start difference, and ordered equal requests."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from ortools.sat.python import cp_model

from formulations.bounds.clique_lp import priced_starts, priced_windows
from formulations.bounds.glop import by_glop
from formulations.cp import cpsat
from formulations.cp._windows import StartRounds
from formulations.cp.cpsat import model_size
from formulations.valid.differences import forbidden_differences
from formulations.valid.groups import window_groups
from formulations.valid.volumes import volume_bound
from formulations.valid.windows import Windows
from formulations.valid.windows import start_windows as windows_from_volumes
from instances import Instance

__all__ = ["Options", "build_model", "model_size", "start_windows"]


@dataclass(frozen=True)
class Options:
    """Which strengthenings are added to the cumulative resource, for ablation."""

    separation: bool = True
    "least start distance, one way or the other, of pairs that may not start together"
    groups: bool = True
    "window groups as no-overlap or cumulative"
    differences: bool = True
    "start differences that overflow although the pair may start together"
    equal: bool = True
    "equal requests start in the instance's order"
    bound: bool = True
    "the TEL is at least the volume bound"
    windows: bool = True
    "start windows from volumes and horizon (formulations.valid.windows) instead of those of cpsat"
    fixing: bool = False
    "start windows narrowed by the prices of lp-cliques (formulations.valid.fixing)"
    dual: bool = False
    "the TEL is at least what the prices of lp-cliques certify (formulations.valid.fixing)"


def start_windows(
    instance: Instance, upper_bound: int | None = None, options: Options | None = None
) -> StartRounds:
    """Return start windows from volumes and horizon, or those of ``cpsat``; then the fixed ones."""
    options = options or Options()
    if not options.windows and not options.fixing:
        return cpsat.start_windows(instance, upper_bound)
    windows = windows_from_volumes(instance, upper_bound)
    return priced_windows(instance, windows, upper_bound, by_glop) if options.fixing else windows


def build_model(
    instance: Instance,
    windows: StartRounds,
    warm_start: Sequence[int] | None = None,
    options: Options | None = None,
) -> tuple[cp_model.CpModel, list[Any]]:
    """Return the model of ``cpsat`` with redundant constraints and one symmetry broken.

    *Separation.*  See ``cpsat``.

    *Groups.*  At most ``most`` windows of a group hold one round, rounds below 0 included (proof
    in ``formulations.valid.groups``): ``no_overlap`` for one, ``cumulative`` for more.

    *Differences.*  start_j − start_i lies in no interval of ``forbidden_differences``: one boolean
    and two implications for each interval that ``cpsat`` does not have.

    *Equal requests.*  Those of equal (arrival, prompt, output) start in the instance's order:
    exchanging the starts of two of them changes neither feasibility nor TEL.

    *Bound*, *dual*.  The TEL is at least the volume bound, or what prices certify for schedules
    that keep to the windows (``formulations.lagrangian.starts``).
    """
    options = options or Options()
    requests = instance.requests
    if warm_start is not None and options.equal:
        warm_start = _ordered(instance, warm_start)
    plain = cpsat.Options(separation=options.separation)
    model, starts = cpsat.build_model(instance, windows, warm_start, plain)
    if options.groups:
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
    if options.differences:
        for i in range(len(requests)):
            for j in range(i + 1, len(requests)):
                for low, high in forbidden_differences(requests[i], requests[j], instance.memory):
                    if low <= 0 <= high:
                        continue
                    difference = starts[j] - starts[i]
                    below = model.new_bool_var("")
                    model.add(difference <= low - 1).only_enforce_if(below)
                    model.add(difference >= high + 1).only_enforce_if(~below)
    if options.equal:
        for i, j in _neighbours(instance):
            model.add(starts[i] <= starts[j])
    least = volume_bound(instance) if options.bound else 0
    if options.dual:
        costs = priced_starts(
            instance, Windows(windows.earliest, windows.latest, windows.horizon), by_glop
        )
        least = max(least, costs.bound if costs else 0)
    if least:
        ends = sum(request.output - int(request.arrival) for request in requests)
        model.add(cp_model.LinearExpr.sum(starts) + ends >= least)
    return model, starts


def _classes(instance: Instance) -> list[list[int]]:
    classes: dict[tuple[int, int, int], list[int]] = {}
    for i, request in enumerate(instance.requests):
        key = (int(request.arrival), request.prompt, request.output)
        classes.setdefault(key, []).append(i)
    return list(classes.values())


def _neighbours(instance: Instance) -> list[tuple[int, int]]:
    return [pair for each in _classes(instance) for pair in pairwise(each)]


def _ordered(instance: Instance, starts: Sequence[int]) -> list[int]:
    """Return the same schedule with the starts of equal requests in the instance's order."""
    ordered = list(starts)
    for each in _classes(instance):
        for i, start in zip(each, sorted(starts[i] for i in each), strict=True):
            ordered[i] = start
    return ordered
