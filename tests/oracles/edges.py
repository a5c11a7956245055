"""Small seeded instances of many tokens whose requests fit together, or fail to, by a token."""

from __future__ import annotations

import random

from instances import Instance, Request

MEMORIES = (2_000, 16_492, 10**5, 10**7, 10**9)


def edge(seed: int, most: int = 6) -> Instance:
    """Return an instance of two to ``most`` requests whose peaks are near fractions of M.

    Sums of tokens then equal M, or lie a token or some beside it.  Outputs are up to 5 rounds; in
    every fourth one request has prompts of no tokens, in every third requests repeat, in every
    second arrivals differ.
    """
    draws = random.Random(seed)
    memory = draws.choice(MEMORIES)
    near = draws.choice((0, 1, 2, 6))
    requests: list[Request] = []
    for i in range(draws.randint(2, most)):
        output = draws.randint(1, 5)
        part = draws.choice((1, 2, 2, 3, 3, 4))
        peak = memory * draws.randint(1, part) // part + draws.randint(-near, near)
        if draws.random() < 0.15:
            peak = draws.randint(output, memory)
        prompt = min(max(peak - output, 0), memory - output)
        arrival = draws.choice((0, draws.randint(0, 6))) if seed % 2 else 0
        if seed % 4 == 0 and i == 0:
            prompt = 0
        if seed % 3 == 0 and requests and draws.random() < 0.5:
            twin = draws.choice(requests)
            arrival, prompt, output = int(twin.arrival), twin.prompt, twin.output
        requests.append(Request(i, arrival, prompt, output))
    return Instance(f"edge_{seed}", memory, tuple(requests))
