"""The optimum by trying start rounds: no cut, no dominance, no horizon, no code of the project."""

from collections.abc import Iterator
from itertools import permutations

from instances import Instance


def brute_force_optimum(instance: Instance) -> int:
    """Return the least TEL over the starts of about six requests; a later start only adds to it."""
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
            if fits(held, start, prompt, output, instance.memory):
                hold(held, start, prompt, output, +1)
                place(position + 1, latency + start + output - arrival)
                hold(held, start, prompt, output, -1)
            start += 1

    place(0, 0)
    return best


def _greedy(order: tuple[tuple[int, int, int], ...], memory: int) -> int:
    held: dict[int, int] = {}
    total = 0
    for arrival, prompt, output in order:
        start = arrival
        while not fits(held, start, prompt, output, memory):
            start += 1
        hold(held, start, prompt, output, +1)
        total += start + output - arrival
    return total


def schedules_up_to(instance: Instance, most: int) -> Iterator[tuple[int, ...]]:
    """Yield the starts, in the instance's order, of every schedule with a TEL up to a number."""
    requests = [(int(r.arrival), r.prompt, r.output) for r in instance.requests]
    order = sorted(range(len(requests)), key=lambda i: -requests[i][2])
    starts = [0] * len(requests)
    held: dict[int, int] = {}

    def place(position: int, left: int) -> Iterator[tuple[int, ...]]:
        """Place the requests from ``position`` on within ``left`` rounds of latency beyond o."""
        if position == len(order):
            yield tuple(starts)
            return
        arrival, prompt, output = requests[order[position]]
        for wait in range(left + 1):
            if fits(held, arrival + wait, prompt, output, instance.memory):
                hold(held, arrival + wait, prompt, output, +1)
                starts[order[position]] = arrival + wait
                yield from place(position + 1, left - wait)
                hold(held, arrival + wait, prompt, output, -1)

    yield from place(0, most - sum(output for _, _, output in requests))


def all_optima(instance: Instance) -> tuple[int, list[tuple[int, ...]]]:
    """Return the optimum and the start rounds of every schedule that attains it."""
    optimum = brute_force_optimum(instance)
    return optimum, sorted(schedules_up_to(instance, optimum))


def fits(held: dict[int, int], start: int, prompt: int, output: int, memory: int) -> bool:
    """Tell whether memory suffices at every time of a run beside what is held."""
    return all(held.get(start + j, 0) + prompt + j <= memory for j in range(1, output + 1))


def hold(held: dict[int, int], start: int, prompt: int, output: int, sign: int) -> None:
    """Add the tokens of a run to what is held, or with −1 take them away."""
    for j in range(1, output + 1):
        held[start + j] = held.get(start + j, 0) + sign * (prompt + j)
