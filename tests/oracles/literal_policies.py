"""Round-by-round transcriptions of the papers' pseudocode: slow, short, and beyond doubt."""

from __future__ import annotations

from collections.abc import Callable

from instances import Instance, Request

#: How each policy ranks a request; ties go by arrival, then by position in the instance.
RANKS: dict[str, Callable[[Request], object]] = {
    "fcfs": lambda request: request.arrival,
    "mc-benchmark": lambda request: request.arrival,
    "mc-sf": lambda request: request.output,
    "mc-sf-total": lambda request: request.prompt + request.output,
    "svf": lambda request: request.prompt * request.output + sum(range(1, request.output + 1)),
}


def literal_starts(instance: Instance, policy: str) -> list[int]:
    """Return the start rounds of a prefix policy, one round at a time (J2 Alg. 1 and 2).

    In every round, requests that have arrived are taken in rank order; each is added if the
    tokens held at every completion of an active or added request stay within M, and the first
    that would exceed it ends the round.
    """
    requests = instance.requests
    queue = sorted(
        range(len(requests)),
        key=lambda i: (RANKS[policy](requests[i]), requests[i].arrival, i),
    )
    starts: dict[int, int] = {}
    now = 0
    while queue:
        for i in [i for i in queue if requests[i].arrival <= now]:
            trial = {j: p for j, p in starts.items() if p + requests[j].output > now} | {i: now}
            ends = [p + requests[j].output for j, p in trial.items()]
            if any(_held(requests, trial, end) > instance.memory for end in ends):
                break
            starts[i] = now
            queue.remove(i)
        now += 1
    return [starts[i] for i in range(len(requests))]


def _held(requests: tuple[Request, ...], starts: dict[int, int], time: int) -> int:
    return sum(
        requests[i].prompt + time - start
        for i, start in starts.items()
        if start < time <= start + requests[i].output
    )
