"""The optimum by trying start rounds: no cut, no dominance, no horizon, no code of the project."""

from __future__ import annotations

from itertools import permutations

from instances import Instance


def brute_force_optimum(instance: Instance) -> int:
    """Return the least TEL over all start rounds (rounds); for about six requests.

    Requests are given starts one after the other, from their arrival on.  A start is tried as
    long as the latency so far, plus the outputs of the requests that are still to come, stays
    below the best TEL known; since latencies only grow with the start, nothing is missed.  The
    first best known TEL comes from placing the requests greedily in every order.
    """
    requests = [(int(r.arrival), r.prompt, r.output) for r in instance.requests]
    best = min(_greedy(order, instance.memory) for order in permutations(requests))
    # Long runs first: they fill memory and cut the search early.
    requests.sort(key=lambda request: -request[2])
    still_to_come = [0] * (len(requests) + 1)
    for position in range(len(requests) - 1, -1, -1):
        still_to_come[position] = still_to_come[position + 1] + requests[position][2]
    held: dict[int, int] = {}

    def place(position: int, latency: int) -> None:
        nonlocal best
        if position == len(requests):
            best = min(best, latency)
            return
        arrival, prompt, output = requests[position]
        start = arrival
        while latency + start + output - arrival + still_to_come[position + 1] < best:
            if _fits(held, start, prompt, output, instance.memory):
                _hold(held, start, prompt, output, +1)
                place(position + 1, latency + start + output - arrival)
                _hold(held, start, prompt, output, -1)
            start += 1

    place(0, 0)
    return best


def _greedy(order: tuple[tuple[int, int, int], ...], memory: int) -> int:
    held: dict[int, int] = {}
    total = 0
    for arrival, prompt, output in order:
        start = arrival
        while not _fits(held, start, prompt, output, memory):
            start += 1
        _hold(held, start, prompt, output, +1)
        total += start + output - arrival
    return total


def _fits(held: dict[int, int], start: int, prompt: int, output: int, memory: int) -> bool:
    return all(held.get(start + j, 0) + prompt + j <= memory for j in range(1, output + 1))


def _hold(held: dict[int, int], start: int, prompt: int, output: int, sign: int) -> None:
    for j in range(1, output + 1):
        held[start + j] = held.get(start + j, 0) + sign * (prompt + j)
