"""Shortest output first, largest feasible prefix (J2 Alg. 1 = J1 Alg. 1 and 2, MC-SF).

For equal prompts that all arrive at 0, jaillet2025_v2 Theorem 4.3 states a constant competitive
ratio; wang2025 Theorem 2.1 shows that none exists for unequal prompts.
"""

import numpy as np

from heuristics.policy import Keys, Known, ListPolicy, Values


def rank(known: Known, rng: np.random.Generator, values: Values) -> Keys:
    """Smaller o first."""
    del rng, values
    return (known.outputs,)


POLICY = ListPolicy("mc-sf", rank=rank)
