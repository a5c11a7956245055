"""Outputs that first rise and then decay, all with the prediction [1, u].

Source: chen2025 section 5.3, LG(p): P(o = k) = k·p²·q^(k-1), q = 1 - p.  The paper lets u grow
without bound; we draw from the distribution given o <= u.  It leaves the sizes open; its proofs
take s = 0, our default.
"""

from __future__ import annotations

from typing import Annotated

from instances.arrivals import Rate, Variation, arriving
from instances.families.build import Count, Memory, Prompt, Range, Seed, at_least, drawn, ranged
from instances.families.draws import Draws, Weighted
from instances.families.geometric import geometric_weights
from instances.model import Instance


@ranged
def generate(
    seed: Seed = 0,
    n: Count = 200,
    memory: Memory = 1000,
    p: Annotated[float, Range(0, 1, above=True)] = 0.1,
    upper: Annotated[int, Range(1, 10**6)] = 100,
    prompt: Prompt = 0,
    rate: Rate = None,
    cv: Variation = 1.0,
    seconds: bool = False,
) -> Instance:
    """Draw an instance with linearly weighted geometric outputs, by default all at round 0.

    Parameters
    ----------
    seed : int
        Seed of all draws, 0 or more.
    n : int
        Number of requests.
    memory : int
        M, tokens, at least prompt + upper.
    p : float
        Parameter of the distribution, above 0 and at most 1.
    upper : int
        u, the longest output and the upper end of the prediction (tokens).
    prompt : int
        s, tokens, the same for all.
    rate, cv, seconds
        When they arrive; see :func:`instances.arrivals.arriving`.

    Raises
    ------
    ValueError
        If a parameter is out of range.
    """
    weights = [k * weight for k, weight in enumerate(geometric_weights(p, upper), start=1)]
    at_least(prompt + upper, memory=memory)
    draws, lengths = Draws(seed), Weighted(weights)
    rows = [(0, prompt, 1 + lengths.draw(draws)) for _ in range(n)]
    instance = drawn(
        "linearly-weighted-geometric", "chen2025 section 5.3", seed, memory, rows, (1, upper)
    )
    return arriving(instance, draws, rate, cv, seconds)
