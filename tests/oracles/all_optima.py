"""All optimal schedules by trying start rounds: no cut, no horizon, no code of the project."""

from __future__ import annotations

from instances import Instance
from tests.oracles.brute_force import brute_force_optimum


def all_optima(instance: Instance) -> tuple[int, list[tuple[int, ...]]]:
    """Return the optimum and the start rounds of every schedule that attains it.

    Starts stand in the instance's order.  As in ``brute_force_optimum`` a start is tried as long
    as the latency so far, plus the outputs still to come, allows for the optimum: a request that
    starts later than that cannot be part of an optimal schedule.
    """
    optimum = brute_force_optimum(instance)
    requests = [(int(r.arrival), r.prompt, r.output) for r in instance.requests]
    order = sorted(range(len(requests)), key=lambda i: -requests[i][2])
    found: list[tuple[int, ...]] = []
    starts = [0] * len(requests)
    held: dict[int, int] = {}

    def place(position: int, left: int) -> None:
        """Place the requests from ``position`` on within ``left`` rounds of latency beyond o."""
        if position == len(order):
            if left == 0:
                found.append(tuple(starts))
            return
        arrival, prompt, output = requests[order[position]]
        # The last request has one start only that gives the optimum.
        waits = range(left, left + 1) if position == len(order) - 1 else range(left + 1)
        for wait in waits:
            start = arrival + wait
            times = range(1, output + 1)
            if any(held.get(start + j, 0) + prompt + j > instance.memory for j in times):
                continue
            for j in times:
                held[start + j] = held.get(start + j, 0) + prompt + j
            starts[order[position]] = start
            place(position + 1, left - wait)
            for j in times:
                held[start + j] -= prompt + j

    place(0, optimum - sum(output for _, _, output in requests))
    return optimum, sorted(found)
