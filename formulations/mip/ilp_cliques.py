"""The program of ``ilp-sparse`` with window groups as occupancy balances."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pyomo.environ as pyo

from formulations.bounds.clique_lp import by_highs, priced_windows
from formulations.mip import _parts, ilp_sparse
from formulations.valid.groups import window_groups
from formulations.valid.windows import Windows
from formulations.valid.windows import start_windows as windows_from_volumes
from instances import Instance

RELAXATION = False


@dataclass(frozen=True)
class Options:
    """Which strengthenings are added to ``ilp-sparse``, for ablation."""

    groups: bool = True
    """window groups of two and three requests"""
    lookahead: int = 0
    """rounds by which growth is looked ahead, 0 for no such rows"""
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


def model_size(instance: Instance, windows: Windows) -> int:
    """Return the number of matrix entries: two more for each start and group."""
    groups = window_groups(instance)
    return (
        ilp_sparse.model_size(instance, windows)
        + _parts.entries_per_start(instance, windows, lambda _: 2 * len(groups))
        + 3 * len(groups) * windows.horizon
    )


def build_model(
    instance: Instance, windows: Windows, options: Options | None = None
) -> _parts.Model:
    """Return ``ilp-sparse`` with at most ``most`` windows of each group open at any round.

    ``open[g, t]`` counts the windows of group g that hold round t: those of round t − 1, plus the
    ones that begin at t, less the ones that end there; two entries a column, where one row a round
    would have one entry for each round of the window.  Windows are cut at round 0.  That the
    counts stay within ``most`` in feasible schedules is proved in ``formulations.valid.groups``.
    With ``lookahead`` the rows of :func:`add_lookahead` come on top.
    """
    options = options or Options()
    model = ilp_sparse.build_model(instance, windows)
    model.name = "ilp-cliques"
    if options.lookahead:
        add_lookahead(model, instance, options.lookahead)
    groups = window_groups(instance) if options.groups else []
    model.window_groups = groups
    model.G = pyo.RangeSet(0, len(groups) - 1)
    model.open = pyo.Var(model.G, model.T, bounds=(0, None))
    signs: dict[tuple[int, int], list[int]] = {}
    columns: dict[tuple[int, int], list[Any]] = {}
    for g, group in enumerate(groups):
        for member in group.members:
            i = member.request
            for start in range(windows.earliest[i], windows.latest[i] + 1):
                opens, closes = max(start - member.before, 0), start + member.after
                if closes <= opens:
                    continue
                for time, sign in ((opens, 1), (closes, -1)):
                    signs.setdefault((g, time), []).append(sign)
                    columns.setdefault((g, time), []).append(model.x[i, start])

    def balance(m: _parts.Model, g: int, t: int) -> Any:
        earlier = [m.open[g, t - 1]] if t else []
        return (
            _parts.linear(
                [*signs.get((g, t), []), *[1 for _ in earlier], -1],
                [*columns.get((g, t), []), *earlier, m.open[g, t]],
            ),
            0,
        )

    def clique(m: _parts.Model, g: int, t: int) -> Any:
        return (None, _parts.linear([1], [m.open[g, t]]), groups[g].most)

    model.open_balance = pyo.Constraint(model.G, model.T, rule=balance)
    model.clique = pyo.Constraint(model.G, model.T, rule=clique)
    return model


def add_lookahead(model: _parts.Model, instance: Instance, rounds: int) -> None:
    """Add rows that price growth: what runs and does not complete soon still grows.

    With N(t) requests running at time t, W(t) tokens that they hold, and Z_e(t) completions at
    t + e of requests that run at t, for d = ``rounds``:

        W(t) + d·N(t) ≤ M + Σ_{e<d} (d − e)·n_e·Z_e(t),

    where n_e is the largest k for which the k smallest s_i + 1 + e sum to at most M.

    Proof.  If none of those that run at t completes before t + d, all hold memory at t + d, and
    there W(t) + d·N(t) ≤ M.  Else let t + e be the first of their completions.  All hold memory
    then: W(t) + e·N(t) ≤ M, and each holds at least s_i + 1 + e, so N(t) ≤ n_e.  Hence the left
    side is at most M + (d − e)·n_e, and Z_e(t) ≥ 1.  Source: RESEARCH, lead 4, where the
    number running has one bound for all e.
    """
    smallest = sorted(request.prompt + 1 for request in instance.requests)
    most = []
    for e in range(rounds):
        held = count = 0
        for tokens in smallest:
            held += tokens + e
            if held > instance.memory:
                break
            count += 1
        most.append(count)
    completing: dict[tuple[int, int], Any] = {}
    for (i, start), variable in model.x.items():
        output = instance.requests[i].output
        # Completions at t + e of requests that start before t.
        for e in range(min(rounds, output)):
            completing.setdefault((start + output - e, e), []).append(variable)

    def grown(m: _parts.Model, t: int) -> Any:
        factors: list[int] = [1, rounds]
        variables = [m.tokens[t], m.running[t]]
        for e in range(rounds):
            found = completing.get((t, e), [])
            factors += [-(rounds - e) * most[e]] * len(found)
            variables += found
        return (None, _parts.linear(factors, variables), instance.memory)

    model.lookahead = pyo.Constraint(pyo.RangeSet(1, model.T.last()), rule=grown)


def set_starts(model: _parts.Model, instance: Instance, starts: Sequence[int]) -> None:
    """Give every variable the value of a schedule, as a warm start."""
    ilp_sparse.set_starts(model, instance, starts)
    for (g, t), variable in model.open.items():
        variable.set_value(
            sum(
                starts[member.request] - member.before <= t < starts[member.request] + member.after
                for member in model.window_groups[g].members
            )
        )
