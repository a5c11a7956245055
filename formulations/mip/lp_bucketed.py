"""LP relaxation on a coarse time grid: one memory row and one start column a bucket."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from formulations.mip._parts import weighted
from formulations.mip.integer_program import IntegerProgram, Model
from formulations.valid.windows import Windows
from instances import Instance, Request

#: Columns, about: requests times buckets.
COLUMNS = 200_000
FEWEST_BUCKETS = 8


def grid(instance: Instance, *, short: bool = False) -> tuple[int, int]:
    """Return the bucket length (rounds) and the number of buckets, the open last one included.

    Parameters
    ----------
    short
        Whether the grid, of the same length, has room for the volume only, not for its double.
    """
    requests = instance.requests
    volume = sum(request.volume for request in requests)
    ends = max(int(request.arrival) for request in requests)
    ends += max(request.output for request in requests)
    horizon = ends + 2 * volume // instance.memory
    buckets = max(FEWEST_BUCKETS, min(horizon, COLUMNS // len(requests)))
    length = -(-horizon // buckets)
    rounds = ends + volume // instance.memory if short else horizon
    return length, -(-rounds // length) + 1


def model_size(instance: Instance, windows: Windows) -> int:
    """Return the number of matrix entries, o_i / length + 3 for each request and bucket at most.

    A few bytes for the price of each round come on top.
    """
    del windows
    length, buckets = grid(instance)
    entries = sum(
        (min(request.output // length + 2, buckets) + 1) * buckets for request in instance.requests
    )
    return entries + length * buckets // 10


def build_model(instance: Instance, windows: Windows, *, short: bool = False) -> Model:
    """Return a relaxation whose size does not grow with the horizon.

    Time is cut into buckets of L rounds, bucket b holding the starts bL..(b+1)L − 1 and the times
    bL + 1..(b+1)L.  A column says that request i starts somewhere in bucket b.

    Proof that it relaxes the program of ``ilp``.  Map a schedule to the columns of its starts'
    buckets.  The cost of a column is the first round of its bucket that is no earlier than a_i,
    so it is at most the start.  The entry of a column in the row of bucket r is the least number
    of token-rounds that request i holds at the times of r over all starts in bucket b, so at most
    what the schedule holds; these are at most M·L.  Starts beyond the grid fall into the last
    bucket, which has no row and whose columns have no entries in the rows before: it costs its
    first round only.  No horizon is assumed; ``windows`` are not used.

    What bucketing changes: requests that start in one bucket are not told apart, so the expected
    starts Σ t·x are known to within L rounds only, and the bound is lower than that of
    ``ilp(relaxed=yes)`` (which has L = 1).
    """
    import pyomo.environ as pyo

    del windows
    length, buckets = grid(instance, short=short)
    last = buckets - 1
    a = sum(int(request.arrival) for request in instance.requests)
    columns = _columns(instance, length, buckets)
    late = _late(columns, last) if short else set()

    model = pyo.ConcreteModel(name="lp-bucketed")
    model.I = pyo.RangeSet(0, len(instance) - 1)
    timely = [each for own in columns for each in own.starts if each not in late]
    model.x = pyo.Var(timely, domain=pyo.NonNegativeReals)
    model.late = pyo.Var(sorted(late), domain=pyo.NonNegativeReals)

    def total(m: Model, terms: dict[tuple[int, int], Any]) -> Any:
        more = [(terms.pop(each), m.late[each]) for each in late & terms.keys()]
        return weighted(terms, m.x, *more)

    def latency(m: Model) -> Any:
        ends = sum(request.output for request in instance.requests) - a
        return total(m, {each: each[1] for own in columns for each in own.starts}) + ends

    def start_once(m: Model, i: int) -> Any:
        return total(m, dict.fromkeys(columns[i].starts, 1)) == 1

    def memory(m: Model, r: int) -> Any:
        held = _held(columns, r, instance.memory)
        return total(m, held) <= length if held else pyo.Constraint.Skip

    model.tel = pyo.Objective(rule=latency)
    model.start_once = pyo.Constraint(model.I, rule=start_once)
    model.memory = pyo.Constraint(pyo.RangeSet(0, last - 1), rule=memory)
    # The dual of row r is the price of M tokens at each of these times.
    model.priced_times = {r: range(r * length + 1, (r + 1) * length + 1) for r in range(last)}
    model.price_unit = instance.memory
    return model


class _Columns(NamedTuple):
    """Of one request the first bucket, the index of each start, and its least use after each.

    A start is named by the first round of its bucket at which the request may start.
    """

    first: int
    starts: list[tuple[int, int]]
    use: list[int]


def _columns(instance: Instance, length: int, buckets: int) -> list[_Columns]:
    uses = {(r.prompt, r.output): _least_use(r, length) for r in instance.requests}
    found = []
    for i, request in enumerate(instance.requests):
        arrival = int(request.arrival)
        first = min(arrival // length, buckets - 1)
        starts = [(i, max(bucket * length, arrival)) for bucket in range(first, buckets)]
        found.append(_Columns(first, starts, uses[request.prompt, request.output]))
    return found


def _held(columns: list[_Columns], r: int, memory: int) -> dict[tuple[int, int], float]:
    """Return the entries of the row of bucket r, in units of M so that they stay near 1."""
    return {
        own.starts[b - own.first]: own.use[r - b] / memory
        for own in columns
        for b in range(max(own.first, r + 1 - len(own.use)), r + 1)
        if own.use[r - b]
    }


def _late(columns: list[_Columns], last: int) -> set[tuple[int, int]]:
    """Return the starts after which memory may be held in the last bucket, which has no row.

    An optimal solution without these is optimal on every longer grid of these buckets: it is
    feasible there, as it holds nothing in the rows that are added, at the same cost; and the longer
    program is no cheaper, as its columns from the last bucket on, counted as starts in the open
    one, cost no more there and have no row.  None of these starts is in round 0, as a short grid
    has room for the longest request after the last arrival, so a late start shows in the objective.
    """
    return {
        each
        for own in columns
        for each in own.starts[max(last + 1 - len(own.use) - own.first, 0) :]
    }


def set_starts(model: Model, instance: Instance, starts: Sequence[int]) -> None:
    """Do nothing: a relaxation needs no warm start."""
    del model, instance, starts


def _least_use(request: Request, length: int) -> list[int]:
    """Return the least token-rounds held in the bucket of the start and in each later one.

    One for each bucket that the request can reach.  The least is over the ``length`` starts of the
    bucket; starts before an arrival are among them, which only lowers it.
    """
    reach = (length - 1 + request.output) // length + 1
    # held[k] sums the tokens held in the first k rounds of the run.
    tokens = request.prompt + np.arange(1, request.output + 1, dtype=np.int64)
    held = np.concatenate(([0], np.cumsum(tokens)))
    shifts = np.arange(length)
    edges = np.arange(reach + 1) * length
    made = np.clip(edges[None, :] - shifts[:, None], 0, request.output)
    use: list[int] = np.diff(held[made], axis=1).min(axis=0).tolist()
    return use


FORMULATION = IntegerProgram(
    name="lp-bucketed",
    build=build_model,
    size=model_size,
    set_starts=set_starts,
    bound_only=True,
)
