"""Completions by rank: the j-th cannot come before the j smallest volumes fit.

Nor can more requests run at once than the smallest that fit together.
"""

from __future__ import annotations

from itertools import accumulate

from instances import Instance, Request


def volume_bound(instance: Instance) -> int:
    """Return a lower bound on the TEL (rounds) from volumes and outputs per rank, or from lanes.

    Source: Kong, Qi, Ye and Zhou, arXiv 2606.22327, Prop. 3.1, combined with the j-th smallest
    output; arrivals and lanes added here.

    Proof.  The sum of :func:`completion_bounds` over j bounds Σ completions, and so does
    :func:`lane_bound`; the TEL is that less Σ a_i.
    """
    completions = max(
        sum(completion_bounds(instance.requests, instance.memory)),
        lane_bound(instance.requests, instance.memory),
    )
    return completions - sum(int(request.arrival) for request in instance.requests)


def lane_bound(requests: tuple[Request, ...], memory: int) -> int:
    """Return a lower bound on Σ completions (rounds) from how many requests fit together.

    Proof.  Let k be the most requests whose s + 1 tokens, the least that each holds while it is
    active, fit into M together, and a the first arrival.  At most k are active at any integer time,
    so the runs of any schedule can be laid on k lanes, where those of a lane do not overlap.  A
    completion is at least a plus its own output and those of all runs before it in its lane, so
    the completions of a lane sum to at least a for each and 1 × its last output + 2 × the last but
    one + and so on.  Over all lanes each factor is used at most k times, so the sum is least when
    the k longest outputs have factor 1, the next k factor 2, and so on (as the rule of shortest
    processing times does for k machines).
    """
    if not requests:
        return 0
    first = min(int(request.arrival) for request in requests)
    held = accumulate(sorted(request.prompt + 1 for request in requests))
    lanes = max(1, sum(tokens <= memory for tokens in held))
    outputs = sorted((request.output for request in requests), reverse=True)
    weighted = (output * (place // lanes + 1) for place, output in enumerate(outputs))
    return first * len(requests) + sum(weighted)


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
