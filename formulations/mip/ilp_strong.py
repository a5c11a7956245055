"""Start-time integer program with dense memory rows and window cliques of exclusive requests."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pyomo.environ as pyo

from formulations.bounds.clique_lp import by_highs, priced_windows
from formulations.mip import _parts, ilp
from formulations.mip.ilp import model_size, set_starts
from formulations.valid.conflicts import window_cliques
from formulations.valid.groups import Windowed
from formulations.valid.windows import Windows
from formulations.valid.windows import start_windows as windows_from_volumes
from instances import Instance

RELAXATION = False

__all__ = ["RELAXATION", "Options", "build_model", "model_size", "set_starts", "start_windows"]


@dataclass(frozen=True)
class Options:
    """Which strengthenings are added to ``ilp``, for ablation."""

    cliques: bool = True
    """window cliques of exclusive requests"""
    fixing: bool = False
    """start windows narrowed by the prices of lp-cliques (formulations.valid.fixing)"""


def start_windows(
    instance: Instance, upper_bound: int | None = None, options: Options | None = None
) -> Windows:
    """Return the windows of ``formulations.valid.windows``, narrowed where ``fixing`` is on."""
    windows = windows_from_volumes(instance, upper_bound)
    if options is None or not options.fixing:
        return windows
    return priced_windows(instance, windows, upper_bound, by_highs)


def build_model(
    instance: Instance, windows: Windows, options: Options | None = None
) -> _parts.Model:
    """Return the model of ``ilp`` with rows of starts of which at most one is made.

    The starts are those whose windows hold one round; groups, windows and the proof that every
    feasible schedule satisfies the rows are in ``formulations.valid.conflicts.window_cliques``.
    """
    model = ilp.build_model(instance, windows)
    model.clique = pyo.ConstraintList()
    cliques = options is None or options.cliques
    for group in window_cliques(instance) if cliques else []:
        for columns in _largest_rows(model, windows, group):
            model.clique.add((None, _parts.linear([1] * len(columns), columns), 1))
    return model


def _largest_rows(
    model: _parts.Model, windows: Windows, group: list[Windowed]
) -> Iterator[list[Any]]:
    """Yield the starts whose windows hold one round, for each round whose row no other implies.

    Going through the rounds a row only grows until a window closes, so the last round before one
    closes has the row that implies those since the last such round.  The number of rows is at most
    that of starts, and no round is looked at in which nothing opens or closes.
    """
    events = []
    for member in group:
        i = member.request
        for start in range(windows.earliest[i], windows.latest[i] + 1):
            # A window does not hold the round in which it closes.
            events.append((start + member.after, False, (i, start)))
            events.append((start - member.before, True, (i, start)))
    inside: dict[tuple[int, int], None] = {}
    grown = False
    for _, opens, key in sorted(events):
        if opens:
            inside[key] = None
            grown = True
            continue
        if grown and len({i for i, _ in inside}) > 1:
            yield [model.x[key] for key in inside]
        del inside[key]
        grown = False
