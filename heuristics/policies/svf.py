"""Smallest volume s·o + o(o+1)/2 first, largest feasible prefix (arXiv 2606.22327, SVF).

Its source states a ratio of at most 1 + 2/(1 − α) when all requests arrive at 0, where α is the
largest peak divided by M.
"""

import numpy as np

from heuristics.policy import Keys, Known, ListPolicy, Values


def rank(known: Known, rng: np.random.Generator, values: Values) -> Keys:
    """Smaller s·o + o(o+1)/2 first."""
    del rng, values
    s, o = known.prompts, known.outputs
    return (s * o + o * (o + 1) // 2,)


POLICY = ListPolicy("svf", rank=rank)
