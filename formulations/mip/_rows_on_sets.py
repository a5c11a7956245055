"""Memory as rows on sets of requests, which count rounds: exact however many tokens there are."""

from itertools import combinations

from formulations.mip import ilp
from formulations.mip.integer_program import Model, weighted
from formulations.valid.windows import Windows
from instances import Instance

#: Requests up to which their sets are listed.
REQUESTS_UP_TO = 10
#: Weights w and side b of a row for every time: Σ w[i][d] ≤ b over requests i with d rounds left.
Row = tuple[dict[int, list[int]], int]


def rows_on_sets(instance: Instance, activity: float) -> list[Row] | None:
    """Return rows that a schedule satisfies at a time if and only if memory suffices then.

    None where there are many requests, or the terms of a row add up to more than ``activity``.

    Proof: docs/proofs/overflow.md (P9), with the names used here.
    """
    if len(instance) > REQUESTS_UP_TO:
        return None
    rows: list[Row] = []
    apart: list[frozenset[int]] = []
    sizes = range(2, len(instance) + 1)
    for members in (each for size in sizes for each in combinations(range(len(instance)), size)):
        requests = {i: instance.requests[i] for i in members}
        excess = sum(each.peak for each in requests.values()) - instance.memory
        if excess <= 0 or any(each <= requests.keys() for each in apart):
            continue
        if excess > sum(each.output - 1 for each in requests.values()):
            apart.append(frozenset(members))
            excess, weights = 1, {i: [1] * each.output for i, each in requests.items()}
        else:
            last = {i: min(excess, each.output) for i, each in requests.items()}
            weights = {i: [excess - d for d in range(last[i])] for i in members}
        if len(members) * excess > activity:
            return None
        rows.append((weights, (len(members) - 1) * excess))
    return rows


def build_model(instance: Instance, windows: Windows, rows: list[Row]) -> Model:
    """Return the time-indexed formulation with these rows instead of rows that count tokens."""
    import pyomo.environ as pyo

    model = ilp.start_model("sets", instance, windows)
    model.memory = pyo.ConstraintList()
    for weights, most in rows:
        for t in range(1, windows.horizon + 1):
            terms = {
                (i, k): weight
                for i, own in weights.items()
                for d, weight in enumerate(own)
                if (k := t + d - instance.requests[i].output) in windows.rounds(i)
            }
            # If one has no term, the others do not exceed the right side.
            if len({i for i, _ in terms}) == len(weights):
                model.memory.add(weighted(terms, model.x) <= most)
    return model
