"""Instances of few requests on which engines, models or policies have been or may be wrong."""

import random

from instances import Instance, Request
from instances.instance import MAX_ARRIVAL, MAX_TOKENS

#: Relations of the tokens to M.
KINDS = (
    "any",
    "near a fraction of M",
    "no prompts",
    "one token",
    "peaks of M",
    "equal",
    "two sizes",
    "one long, many short",
)


def draw_memory(draws: random.Random) -> int:
    """Draw M: tiny, small, or up to 10⁹ tokens at any scale."""
    scale = draws.choice(("tiny", "small", "small", "any", "power of ten"))
    if scale == "tiny":
        return draws.randint(1, 6)
    if scale == "small":
        return draws.randint(5, 40)
    power = draws.randint(2, 9)
    return 10**power if scale == "power of ten" else draws.randint(10 ** (power - 1), 10**power)


def draw_instance(draws: random.Random, name: str) -> Instance:
    """Draw an instance of one to six requests with short runs, so that its optimum can be found."""
    memory = min(draw_memory(draws), MAX_TOKENS)
    kind = draws.choice(KINDS)
    n = draws.choice((1, 2, 3, 3, 4, 4, 5, 5, 6))
    longest = min(memory, draws.choice((2, 5, 8)) if n > 3 else draws.choice((2, 8, 20)))
    part = draws.choice((1, 2, 2, 3, 3, 4))
    pairs: list[tuple[int, int]] = []
    for i in range(n):
        output = draws.randint(1, longest)
        prompt = draws.randint(0, memory - output)
        if kind == "near a fraction of M":
            prompt = memory // part - output + draws.randint(-4, 4)
        elif kind == "no prompts":
            prompt = 0
        elif kind == "one token":
            output = 1
            prompt = draws.choice((prompt, memory - 1, memory // 2, (memory + 1) // 2 - 1))
        elif kind == "peaks of M" and draws.random() < 0.6:
            prompt = memory - output
        elif kind == "two sizes":
            prompt = draws.choice((memory // 2 - output, draws.randint(0, 3)))
        elif kind == "one long, many short":
            prompt, output = (0, longest) if i == 0 else (memory - longest - 1, 1)
        if kind == "equal" and i and draws.random() < 0.75:
            prompt, output = pairs[draws.randrange(len(pairs))]
        pairs.append((min(max(prompt, 0), memory - output), output))
    arrivals = _arrivals(draws, n)
    ids = draws.sample(range(10 * n), n)
    requests = (Request(k, a, s, o) for k, a, (s, o) in zip(ids, arrivals, pairs, strict=True))
    return Instance(name, memory, tuple(requests))


def _arrivals(draws: random.Random, n: int) -> list[int]:
    """Draw arrivals: all at 0, a few rounds apart, in bursts, late, or at the end of time."""
    pace = draws.choice(("none", "none", "rounds", "rounds", "burst", "late", "far"))
    if pace == "rounds":
        return [draws.randint(0, 8) for _ in range(n)]
    if pace == "burst":
        burst = draws.randint(1, 12)
        return [draws.choice((0, burst)) for _ in range(n)]
    if pace == "late":
        first = draws.choice((10, 100, 1000))
        return [first + draws.randint(0, 30) for _ in range(n)]
    if pace == "far" and draws.random() < 0.2:
        return [draws.choice((0, MAX_ARRIVAL - draws.randint(0, 3))) for _ in range(n)]
    if pace == "far":
        return [draws.choice((0, 3 * i, 40 + i, 200 + i)) for i in range(n)]
    return [0] * n
