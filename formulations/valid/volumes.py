"""Completions by rank: the j-th cannot come before the j smallest volumes fit."""

from __future__ import annotations

from itertools import accumulate

from instances import Instance, Request


def volume_bound(instance: Instance) -> int:
    """Return a lower bound on the TEL (rounds) from volumes and outputs per rank.

    Source: Kong, Qi, Ye and Zhou, arXiv 2606.22327, Prop. 3.1, combined with the j-th smallest
    output; arrivals added here.

    Proof.  The sum of :func:`completion_bounds` over j bounds Σ completions, and the TEL is that
    less Σ a_i.
    """
    return sum(completion_bounds(instance.requests, instance.memory)) - sum(
        int(request.arrival) for request in instance.requests
    )


def completion_bounds(requests: tuple[Request, ...], memory: int) -> list[int]:
    """Return, for j = 1..n, a round before which the j-th completion cannot come.

    Proof.  Let C be the j-th smallest completion of any schedule and a the first arrival.  The j
    requests that are complete by C held all of their volumes at the integer times a+1..C, where
    at most M(C − a) token-rounds fit, so C ≥ a + ⌈V_j / M⌉ with V_j the sum of the j smallest
    volumes.  Every completion is at least its own a_i + o_i, so the j-th smallest completion is
    at least the j-th smallest a_i + o_i.
    """
    first = min((int(request.arrival) for request in requests), default=0)
    volumes = accumulate(sorted(request.volume for request in requests))
    alone = sorted(int(request.arrival) + request.output for request in requests)
    return [
        max(first - (-volume // memory), earliest)
        for volume, earliest in zip(volumes, alone, strict=True)
    ]
