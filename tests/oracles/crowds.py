"""Small seeded instances of every kind on which models have disagreed, for brute force."""

from __future__ import annotations

import random

from instances import Instance, Request

KINDS = ("mixed", "equal", "no prompts", "peaks of M", "tight memory", "gaps")


def crowd(seed: int, most: int = 5) -> Instance:
    """Return an instance of two to ``most`` requests; its kind is ``KINDS[seed % 6]``.

    Every second one of each kind has arrivals after round 0, except that ``gaps`` always has, so
    far apart that memory may be empty in between.
    """
    draws = random.Random(seed)
    kind = KINDS[seed % len(KINDS)]
    late = seed // len(KINDS) % 2 == 1
    memory = draws.randint(4, 13)
    requests: list[Request] = []
    for i in range(draws.randint(2, most)):
        output = draws.randint(1, min(7, memory))
        prompt = draws.randint(0, memory - output)
        if kind == "no prompts":
            prompt = 0
        elif kind == "peaks of M" and draws.random() < 0.6:
            prompt = memory - output
        elif kind == "tight memory":
            # Any two overflow when they end together.
            prompt = draws.randint(min(memory // 2, memory - output), memory - output)
        arrival = draws.choice([0, draws.randint(0, 8)]) if late else 0
        if kind == "gaps":
            arrival = draws.choice([0, 3 * i, 20 + i])
        if kind == "equal" and i and draws.random() < 0.7:
            twin = draws.choice(requests)
            arrival, prompt, output = int(twin.arrival), twin.prompt, twin.output
        requests.append(Request(i, arrival, prompt, output))
    return Instance(f"crowd_{seed}", memory, tuple(requests))
