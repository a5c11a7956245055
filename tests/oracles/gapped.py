"""Small seeded instances with idle gaps, at the edge of being gaps and just beside it."""

from __future__ import annotations

import random

from instances import Instance
from tests.oracles.draws import instance_of


def gapped(seed: int, most: int = 6) -> Instance:
    """Draw requests whose arrivals leave all that came before just, or just not, time to complete.

    Some arrive with the one before them, a round beside the last round in which it still runs when
    all run one after the other, or long after; the order of the requests is mixed.
    """
    draws = random.Random(seed)
    memory = draws.randint(4, 12)
    rows: list[tuple[int, int, int]] = []
    since: list[int] = []
    for _ in range(draws.randint(2, most)):
        output = draws.randint(1, min(5, memory))
        prompt = draws.randint(0, memory - output)
        last = max((arrival for arrival, *_ in rows), default=0)
        done = last + sum(since)
        arrival = max(last, draws.choice([last, done - 1, done, done, done + 1, last + 500]))
        since = [output] if arrival >= done else [*since, output]
        rows.append((arrival, prompt, output))
    draws.shuffle(rows)
    return instance_of(memory, *rows, name=f"gapped_{seed}")
