"""LP relaxation on a coarse time grid: one memory row and one start column a bucket."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyomo.environ as pyo
from numpy.typing import NDArray

from formulations.mip import _parts
from formulations.valid.windows import Windows
from instances import Instance, Request

RELAXATION = True

#: Columns, about: requests times buckets.
COLUMNS = 200_000
FEWEST_BUCKETS = 8


def grid(instance: Instance) -> tuple[int, int]:
    """Return the bucket length (rounds) and the number of buckets, the open last one included."""
    requests = instance.requests
    volume = sum(request.volume for request in requests)
    busy = max(int(request.arrival) for request in requests) + 2 * volume // instance.memory
    horizon = busy + max(request.output for request in requests)
    buckets = max(FEWEST_BUCKETS, min(horizon, COLUMNS // len(requests)))
    length = -(-horizon // buckets)
    return length, -(-horizon // length) + 1


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


def build_model(instance: Instance, windows: Windows) -> _parts.Model:
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
    ``lp-sparse`` (which has L = 1).
    """
    del windows
    length, buckets = grid(instance)
    open_bucket = buckets - 1
    model = pyo.ConcreteModel(name="lp-bucketed")
    model.I = pyo.RangeSet(0, len(instance) - 1)
    first_bucket = [min(int(r.arrival) // length, open_bucket) for r in instance.requests]
    pairs = [
        (i, max(bucket * length, int(request.arrival)))
        for i, request in enumerate(instance.requests)
        for bucket in range(first_bucket[i], buckets)
    ]
    model.x = pyo.Var(pairs, domain=pyo.NonNegativeReals)
    own: list[list[Any]] = [[] for _ in instance.requests]
    rows: list[tuple[list[float], list[Any]]] = [([], []) for _ in range(open_bucket)]
    profiles: dict[tuple[int, int], NDArray[np.int64]] = {}
    for (i, start), variable in model.x.items():
        own[i].append(variable)
        request = instance.requests[i]
        bucket = min(start // length, open_bucket)
        if bucket == open_bucket:
            continue
        key = (request.prompt, request.output)
        if key not in profiles:
            profiles[key] = _least_use(request, length)
        for offset, use in enumerate(profiles[key][: open_bucket - bucket].tolist()):
            if use:
                # In units of M, so that coefficients stay near 1.
                rows[bucket + offset][0].append(use / instance.memory)
                rows[bucket + offset][1].append(variable)

    def start_once(_: _parts.Model, i: int) -> Any:
        return _parts.linear([1] * len(own[i]), own[i]) == 1

    def memory(_: _parts.Model, r: int) -> Any:
        uses, columns = rows[r]
        if not columns:
            return pyo.Constraint.Skip
        return (None, _parts.linear(uses, columns), length)

    model.start_once = pyo.Constraint(model.I, rule=start_once)
    model.memory = pyo.Constraint(pyo.RangeSet(0, open_bucket - 1), rule=memory)
    ends = sum(request.output - int(request.arrival) for request in instance.requests)
    model.tel = pyo.Objective(
        expr=_parts.linear([t for _, t in pairs], list(model.x.values()), constant=ends)
    )
    # The dual of row r is the price of M tokens at each of these times.
    model.priced_times = {
        r: range(r * length + 1, (r + 1) * length + 1) for r in range(open_bucket)
    }
    model.price_unit = instance.memory
    return model


def set_starts(model: _parts.Model, instance: Instance, starts: Sequence[int]) -> None:
    """Do nothing: a relaxation needs no warm start."""
    del model, instance, starts


def _least_use(request: Request, length: int) -> NDArray[np.int64]:
    """Return the least token-rounds held in the bucket of the start and in each later one.

    Shape (buckets that the request can reach,).  The least is over the ``length`` starts of the
    bucket; starts before an arrival are among them, which only lowers it.
    """
    reach = (length - 1 + request.output) // length + 1
    # held[k] sums the tokens held in the first k rounds of the run.
    tokens = request.prompt + np.arange(1, request.output + 1, dtype=np.int64)
    held = np.concatenate(([0], np.cumsum(tokens)))
    shifts = np.arange(length)
    edges = np.arange(reach + 1) * length
    made = np.clip(edges[None, :] - shifts[:, None], 0, request.output)
    use: NDArray[np.int64] = np.diff(held[made], axis=1).min(axis=0)
    return use
