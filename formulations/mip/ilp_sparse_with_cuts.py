"""Strengthenings of ``ilp-sparse``: clique and cover inequalities as occupancy balances, others."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any

from formulations.mip import ilp_sparse
from formulations.mip._narrowed import narrowed_windows
from formulations.mip._parts import weighted
from formulations.mip.integer_program import Model
from formulations.valid.groups import Occupancy, window_groups
from formulations.valid.windows import Windows
from instances import Instance


@dataclass(frozen=True)
class Options:
    """Which strengthenings are added to ``ilp-sparse``, for ablation."""

    groups: Annotated[bool, "clique and cover inequalities of two and three requests"] = False
    lookahead: Annotated[int, "rounds by which growth is looked ahead, 0 for no such rows"] = 0
    fixing: Annotated[bool, "start windows narrowed by certified multipliers (valid.fixing)"] = (
        False
    )


def build_model(instance: Instance, windows: Windows, options: Options | None = None) -> Model:
    """Return ``ilp-sparse`` with at most ``most`` windows of each group open at any round.

    ``open[g, t]`` counts the windows of group g that hold round t: those of round t − 1, plus the
    ones that begin at t, less the ones that end there; two entries a column, where one row a round
    would have one entry for each round of the window.  Windows are cut at round 0.  That the
    counts stay within ``most`` in every feasible schedule is proved in
    ``formulations.valid.groups``.  With ``lookahead`` come the rows of :func:`add_lookahead`.
    """
    import pyomo.environ as pyo

    options = options or Options()
    model = ilp_sparse.build_model(instance, windows)
    if options.lookahead:
        add_lookahead(model, instance, windows, options.lookahead)
    groups = window_groups(instance) if options.groups else []
    model.window_groups = groups
    model.G = pyo.RangeSet(0, len(groups) - 1)
    model.open = pyo.Var(model.G, model.T, bounds=(0, None))

    def open_balance(m: Model, g: int, t: int) -> Any:
        opened: dict[tuple[int, int], int] = {}
        closed: dict[tuple[int, int], int] = {}
        for member in groups[g].members:
            i = member.request
            opened |= {(i, k): 1 for k in _opening(member, t) if k in windows.rounds(i)}
            if t and (k := t - member.after) in windows.rounds(i):
                closed[i, k] = -1
        counted = [(-1, m.open[g, t]), *([(1, m.open[g, t - 1])] if t else [])]
        return weighted(opened | closed, m.x, *counted) == 0

    def most_open(m: Model, g: int, t: int) -> Any:
        return m.open[g, t] <= groups[g].most

    model.open_balance = pyo.Constraint(model.G, model.T, rule=open_balance)
    model.group = pyo.Constraint(model.G, model.T, rule=most_open)
    return model


def _opening(member: Occupancy, t: int) -> range:
    """Return the start rounds whose windows begin at round t; at 0 also those open before."""
    if t:
        return range(t + member.before, t + member.before + 1)
    return range(max(1 - member.after, 0), member.before + 1)


def add_lookahead(model: Model, instance: Instance, windows: Windows, rounds: int) -> None:
    """Add rows that price growth: what runs and does not complete soon still grows.

    With N(t) requests running at time t, W(t) tokens that they hold, and Z_e(t) completions at
    t + e of requests that run at t, for d = ``rounds``:

        W(t) + d·N(t) ≤ M + Σ_{e<d} (d − e)·n_e·Z_e(t),

    where n_e is the largest k for which the k smallest s_i + 1 + e sum to at most M.

    Proof.  If none of those that run at t completes before t + d, all hold memory at t + d, and
    there W(t) + d·N(t) ≤ M.  Else let t + e be the first of their completions.  All hold memory
    then: W(t) + e·N(t) ≤ M, and each holds at least s_i + 1 + e, so N(t) ≤ n_e.  Hence the left
    side is at most M + (d − e)·n_e, and Z_e(t) ≥ 1.  The form from which
    these rows come has one bound on the number running for all e.
    """
    import pyomo.environ as pyo

    smallest = sorted(request.prompt + 1 for request in instance.requests)
    I = range(len(instance))
    most = [_most_running(smallest, e, instance.memory) for e in range(rounds)]
    o = [request.output for request in instance.requests]

    def lookahead(m: Model, t: int) -> Any:
        # A request of output o that completes at t + e started at t + e − o, before t.
        completing = {
            (i, t + e - o[i]): -(rounds - e) * most[e]
            for i in I
            for e in range(min(rounds, o[i]))
            if t + e - o[i] in windows.rounds(i)
        }
        grown = (1, m.tokens[t]), (rounds, m.running[t])
        return weighted(completing, m.x, *grown) <= instance.memory

    model.lookahead = pyo.Constraint(pyo.RangeSet(1, windows.horizon), rule=lookahead)


def _most_running(smallest: list[int], e: int, memory: int) -> int:
    """Return how many of the smallest requests fit when each holds e tokens more."""
    held = 0
    for count, tokens in enumerate(smallest):
        held += tokens + e
        if held > memory:
            return count
    return len(smallest)


def set_starts(model: Model, instance: Instance, starts: Sequence[int]) -> None:
    """Give every variable the value of a schedule, as a warm start."""
    ilp_sparse.set_starts(model, instance, starts)
    for (g, t), variable in model.open.items():
        variable.set_value(
            sum(
                starts[member.request] - member.before <= t < starts[member.request] + member.after
                for member in model.window_groups[g].members
            )
        )


def model_size(instance: Instance, windows: Windows) -> int:
    """Return the number of matrix entries: two more for each start and group."""
    groups = window_groups(instance)
    return (
        ilp_sparse.model_size(instance, windows)
        + windows.entries(2 * len(groups) for _ in instance.requests)
        + 3 * len(groups) * windows.horizon
    )


FORMULATION = replace(
    ilp_sparse.FORMULATION,
    build=build_model,
    size=model_size,
    set_starts=set_starts,
    windows=narrowed_windows,
    options=Options,
    tokens=("token_balance", "lookahead", "tokens"),
    strengthens=ilp_sparse.FORMULATION,
)
