"""Completions by rank: from the smallest volumes, and from how many requests fit at once."""

from itertools import accumulate

from instances import Instance, Request


def volume_bound(instance: Instance) -> int:
    """Return a lower bound on the TEL (rounds) from volumes and outputs per rank, or from lanes.

    Source: Kong, Qi, Ye and Zhou, arXiv 2606.22327, Prop. 3.1, combined with the j-th smallest
    output; arrivals and lanes added here.

    Proof: docs/proofs/area.md (P3).
    """
    completions = max(
        sum(completion_bounds(instance.requests, instance.memory)),
        lane_bound(instance.requests, instance.memory),
    )
    return completions - sum(int(request.arrival) for request in instance.requests)


def lane_bound(requests: tuple[Request, ...], memory: int) -> int:
    """Return a lower bound on Σ completions (rounds) from how many requests fit together.

    Proof: docs/proofs/area.md (P3), steps 3 to 5.
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

    Proof: docs/proofs/area.md (P3), steps 1 and 2.
    """
    first = min((int(request.arrival) for request in requests), default=0)
    volumes = accumulate(sorted(request.volume for request in requests))
    alone = sorted(int(request.arrival) + request.output for request in requests)
    return [
        max(first - (-volume // memory), earliest)
        for volume, earliest in zip(volumes, alone, strict=True)
    ]
