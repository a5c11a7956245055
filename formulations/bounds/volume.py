"""Volume bound per rank: the j-th completion cannot come before j smallest volumes fit."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from formulations.bounds.computed_bound import ComputedBound
from formulations.valid.volume_bounds import volume_bound
from instances import Instance

if TYPE_CHECKING:
    from formulations.bounds.bound_result import BoundResult, Reporter


def compute_bound(
    instance: Instance, *, deadline: float, report: Reporter, **options: Any
) -> BoundResult:
    """Return and report :func:`volume_bound`; the deadline and all options are of no use to it."""
    from formulations.bounds.bound_result import (
        BoundResult,
    )  # loads numpy, which the bound itself does not

    del deadline, options
    value = volume_bound(instance)
    report.bound(value=value, source="volumes")
    return BoundResult(value, prices=None, expected_starts=None, objective=None)


FORMULATION = ComputedBound(
    name="bound-volume",
    compute=compute_bound,
    source="Kong, Qi, Ye and Zhou, arXiv 2606.22327, Prop. 3.1",
)
