"""Small memories, Poisson arrivals over a few dozen rounds, outputs up to the whole memory.

Source: jaillet2025_v2 section 5.1, arrival model 2 (200 trials there): T uniform on 40..60, a rate
λ uniform on [0.5, 1.5], stationary Poisson arrivals on rounds 1..T; memory and sizes as in
``am1``.  We draw the gaps of the Poisson process on (0, T]; a request belongs to the round at the
end of its unit interval, which makes the counts per round independent Poisson(λ) draws.  Should
nobody arrive, the arrivals are drawn again.
"""

import math
from typing import Annotated

from instances.families.am1 import draw_sizes
from instances.families.draws import Draws
from instances.families.shared import MAX_REQUESTS, Count, Seed, Within, drawn, not_too_many, ranged
from instances.instance import MAX_TOKENS, Instance


@ranged
def generate(
    seed: Seed = 0,
    n: Count | None = None,
    memory: Annotated[int, Within(2, MAX_TOKENS)] | None = None,
    rounds: Annotated[int, Within(1, MAX_TOKENS)] | None = None,
    rate: Annotated[float, Within(0, MAX_REQUESTS, above=True)] | None = None,
) -> Instance:
    """Draw an instance of arrival model 2, with M, T (``rounds``) and λ (``rate``) if given.

    With ``n`` arrivals are independent and uniform on 1..T, the Poisson process given its count.
    Raises ValueError if λ·T is below 0.01, or more requests are expected than are drawn.
    """
    draws = Draws(seed)
    defaults = draws.integer(30, 50), draws.integer(40, 60), draws.between(0.5, 1.5)
    memory = defaults[0] if memory is None else memory
    rounds = defaults[1] if rounds is None else rounds
    rate = defaults[2] if rate is None else rate
    if n is None:
        not_too_many(math.ceil(rate * rounds))
        arrivals = _poisson_arrivals(draws, rounds, rate)
    else:
        arrivals = sorted(draws.integer(1, rounds) for _ in range(n))
    rows = [(arrival, *draw_sizes(draws, memory)) for arrival in arrivals]
    return drawn("am2", "jaillet2025_v2 section 5.1, arrival model 2", seed, memory, rows)


def _poisson_arrivals(draws: Draws, rounds: int, rate: float) -> list[int]:
    if rate * rounds < 0.01:
        raise ValueError(f"rate: expected at least 0.01 / rounds, found {rate}")
    arrivals: list[int] = []
    while not arrivals:
        time = draws.exponential(1 / rate)
        while time <= rounds:
            arrivals.append(max(math.ceil(time), 1))
            time += draws.exponential(1 / rate)
    return arrivals
