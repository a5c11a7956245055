"""An integer program with its tokens counted in a coarser unit, and rows for what that misses."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import Any

from formulations.mip._parts import weighted
from formulations.mip.integer_program import IntegerProgram, Model
from formulations.valid.overflow import Overflow, Row, alike, overflows, separating_row
from instances import Instance
from support.clock import look_at_the_clock

#: Matrix entries that the rows of one overflow may have; beyond, times near it only have one.
ENTRIES_UP_TO = 200_000


def unit_of(program: IntegerProgram, instance: Instance, activity: int) -> int:
    """Return the least unit (tokens) in which no row of tokens adds up to more than ``activity``.

    A row of memory holds each request with its peak P_i at most, so ⌊P_i / u⌋ units; a balance has
    the tokens of two times beside them, ⌊M / u⌋ each.
    """
    tokens = sum(request.peak for request in instance.requests)
    if program.balances:
        tokens += 2 * instance.memory
    return max(1, -(-tokens // activity))


def coarse_size(program: IntegerProgram, model: Model, instance: Instance, unit: int) -> int:
    """Return about how many matrix entries :func:`coarsen` makes."""
    outputs = [request.output for request in instance.requests]
    if program.balances:
        outputs = [4 + output // unit for output in outputs]
    return sum(outputs[i] for i, _ in model.x)


def coarsen(
    program: IntegerProgram, model: Model, instance: Instance, unit: int, starts: Sequence[int]
) -> None:
    """Put memory rows in units of u tokens into a model, in place of all that counts tokens.

    With w_i(j) = ⌊(s_i + j) / u⌋, and j = t − k for x[i, k], the age at time t,

        Σ_i Σ_k w_i(t − k)·x[i, k] ≤ ⌊M / u⌋                          at every time t.

    *Proof that this is a relaxation.*  At a feasible schedule the tokens at t are at most M.
    Rounding each term of M / u ≥ Σ (s_i + j) / u down lowers the right side, which then is an
    integer, so it is at most ⌊M / u⌋.  What else counts tokens, rows and continuous variables, is
    left out, which only adds points; every other row and variable stays.  So the optimum is no
    more than that of the program, and the starts of an optimum are an optimal schedule if memory
    suffices for them in tokens.

    Where the program has balances, these are balances too: from t − 1 to t the units held change
    by w_i(1) for a start at t − 1, by w_i(j) − w_i(j − 1) for one at t − j, and by −w_i(o_i) for
    one at t − o_i − 1; starting from nothing, they are the left side above.

    Parameters
    ----------
    starts
        A feasible schedule, whose values the new variables get.
    """
    import pyomo.environ as pyo

    for name in (*program.tokens, "memory"):
        if model.component(name) is not None:
            model.del_component(name)
    units = [
        [(request.prompt + j) // unit for j in range(1, request.output + 1)]
        for request in instance.requests
    ]
    most = instance.memory // unit
    if program.balances:
        _add_balances(model, units, most, starts)
        return
    rows: dict[int, dict[tuple[int, int], int]] = defaultdict(dict)
    for i, k in model.x:
        look_at_the_clock()
        for j, held in enumerate(units[i], start=1):
            if held:
                rows[k + j][i, k] = held
    model.memory = pyo.Constraint(sorted(rows), rule=lambda m, t: weighted(rows[t], m.x) <= most)


def _add_balances(
    model: Model, units: Sequence[Sequence[int]], most: int, starts: Sequence[int]
) -> None:
    import pyomo.environ as pyo

    times = range(1, model.T.last() + 1)
    changes: dict[int, dict[tuple[int, int], int]] = defaultdict(dict)
    own = [_changes(each) for each in units]
    for i, k in model.x:
        for j, change in own[i]:
            changes[k + j][i, k] = change
    model.tokens = pyo.Var(model.T, bounds=(0, None))
    model.tokens[0].fix(0)

    def balance(m: Model, t: int) -> Any:
        held = (1, m.tokens[t - 1]), (-1, m.tokens[t])
        return weighted(changes.get(t, {}), m.x, *held) == 0

    model.token_balance = pyo.Constraint(times, rule=balance)
    model.memory = pyo.Constraint(times, rule=lambda m, t: m.tokens[t] <= most)
    held = [0] * (times.stop + 1)
    for each, start in zip(units, starts, strict=True):
        for j, count in enumerate(each, start=1):
            held[start + j] += count
    for t in model.T:
        model.tokens[t].set_value(held[t])


def _changes(units: Sequence[int]) -> list[tuple[int, int]]:
    """Return the ages at which what a request holds changes, and by how much."""
    pairs = zip((0, *units), (*units, 0), strict=True)
    return [(j, new - old) for j, (old, new) in enumerate(pairs, start=1) if new != old]


def add_separating_rows(
    model: Model, instance: Instance, schedules: Sequence[Sequence[int]], activity: int
) -> int:
    """Add rows that keep out schedules which overflow; return how many.

    They hold at all times, or at those nearest to the overflow, itself among them, where all would
    be too many (:func:`formulations.valid.overflow.separating_row`).  Each call keeps out each of
    the schedules, of which there are finitely many, so that they run out.
    """
    import pyomo.environ as pyo

    if model.component("separating") is None:
        model.separating = pyo.ConstraintList()
        model.separated = set()
    before = len(model.separating)
    rows: dict[Row, int] = {}
    for starts in schedules:
        for overflow in overflows(instance, starts):
            for each in alike(instance, overflow):
                rows.setdefault(separating_row(instance, each, activity), overflow.time)
            _add_row(model, instance, separating_row(instance, overflow, activity), overflow, 0)
    for row, time in rows.items():
        _add_row(model, instance, row, Overflow(time, ()), ENTRIES_UP_TO)
    return len(model.separating) - before


def _add_row(model: Model, instance: Instance, row: Row, overflow: Overflow, entries: int) -> None:
    """Add a row at the time of an overflow, and at others near it for so many entries."""
    for t in sorted(range(1, model.T.last() + 1), key=lambda t: abs(t - overflow.time)):
        look_at_the_clock()
        terms = {
            (i, k): weight
            for i, weights in row.weights
            for d, weight in enumerate(weights)
            if (i, k := t + d - instance.requests[i].output) in model.x
        }
        if (row, t) not in model.separated and _can_break(terms, row.most):
            model.separated.add((row, t))
            model.separating.add(weighted(terms, model.x) <= row.most)
        entries -= len(terms)
        if entries <= 0:
            return


def _can_break(terms: dict[tuple[int, int], int], most: int) -> bool:
    largest: dict[int, int] = {}
    for (i, _), weight in terms.items():
        largest[i] = max(weight, largest.get(i, 0))
    return sum(largest.values()) > most
