"""The choice between A_ℓ and A_min that C sec. 5.1 recommends; it has no pseudocode there."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from heuristics.reference.a_ell import a_ell
from heuristics.reference.a_min import Pick, a_min
from instances import Instance
from schedules import Schedule


def a_switch(
    instance: Instance, lower: Sequence[int], upper: Sequence[int], pick: Pick
) -> Schedule:
    """A_ℓ where α = ℓ/u < (3 − √5)/2 for one of the first arrivals, else A_min."""
    first = min(request.arrival for request in instance.requests)
    α = min(
        lower[i] / upper[i]
        for i, request in enumerate(instance.requests)
        if request.arrival == first
    )
    if α < (3 - 5**0.5) / 2:
        return replace(a_ell(instance, lower, upper), method="a-switch")
    return replace(a_min(instance, lower, pick), method="a-switch")
