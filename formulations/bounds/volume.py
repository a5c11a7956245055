"""Volume bound per rank: the j-th completion cannot come before j smallest volumes fit."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from formulations.valid.volumes import completion_bounds
from instances import Instance

if TYPE_CHECKING:
    from formulations.bounds.outcome import Bound, Reporter


def compute_bound(
    instance: Instance, *, deadline: float, report: Reporter, **options: Any
) -> Bound:
    """Return and report :func:`volume_bound`; the deadline and all options are of no use to it."""
    from formulations.bounds.outcome import Bound  # loads numpy, which the bound itself does not

    del deadline, options
    value = volume_bound(instance)
    report.bound(value=value, source="volumes")
    return Bound(value, prices=None, expected_starts=None, objective=None)


def volume_bound(instance: Instance) -> int:
    """Return a lower bound on the TEL (rounds) from volumes and outputs per rank.

    Source: Kong, Qi, Ye and Zhou, arXiv 2606.22327, Prop. 3.1, combined with the j-th smallest
    output (PAPERS section A); arrivals added here.

    Proof.  The sum of :func:`formulations.valid.volumes.completion_bounds` over j bounds
    Σ completions, and the TEL is that less Σ a_i.
    """
    return sum(completion_bounds(instance.requests, instance.memory)) - sum(
        int(request.arrival) for request in instance.requests
    )
