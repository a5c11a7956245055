"""Outputs with geometric decay, all with the prediction [1, u].

Source: chen2025 section 5.2, G(p): P(o = k) in proportion to p·q^(k-1), q = 1 - p, on 1..u.  The
paper does not say what becomes of the mass above u; we draw from the distribution given o <= u.
It leaves the sizes open too; its proofs take s = 0, our default.
"""

from collections.abc import Callable
from typing import Annotated

from instances.arrivals import Rate, Variation, add_arrivals
from instances.families.draws import Draws, Weighted
from instances.families.shared import Count, Memory, Prompt, Seed, Within, at_least, drawn, ranged
from instances.instance import Instance


def geometric_weights(p: float, upper: int) -> list[float]:
    """Return q^0, q^1, ..., q^(upper-1) by repeated products, which every platform rounds alike."""
    weights = [1.0]
    while len(weights) < upper:
        weights.append(weights[-1] * (1 - p))
    return weights


def decaying(
    family: str, source: str, weights: Callable[[float, int], list[float]]
) -> Callable[..., Instance]:
    """Return the generator of a family whose outputs 1..u have weights that follow from p and u."""

    @ranged
    def generate(
        seed: Seed = 0,
        n: Count = 200,
        memory: Memory = 1000,
        p: Annotated[float, Within(0, 1, above=True)] = 0.1,
        upper: Annotated[int, Within(1, 10**6)] = 100,
        prompt: Prompt = 0,
        rate: Rate = None,
        cv: Variation = 1.0,
        seconds: bool = False,
    ) -> Instance:
        """Draw an instance of the family, by default all at round 0.

        ``p`` is the parameter of the law, u = ``upper`` the longest output and the end of the
        prediction, ``prompt`` the same for all; others are as in ``uniform``.
        """
        at_least(prompt + upper, memory=memory)
        draws, lengths = Draws(seed), Weighted(weights(p, upper))
        rows = [(0, prompt, 1 + lengths.draw(draws)) for _ in range(n)]
        instance = drawn(family, source, seed, memory, rows, (1, upper))
        return add_arrivals(instance, draws, rate, cv, seconds)

    return generate


generate = decaying("geometric", "chen2025 section 5.2", geometric_weights)
