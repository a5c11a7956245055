"""Random order with true outputs, largest feasible prefix (C Alg. 4, A_random).

It is clairvoyant in the look-ahead only; the order is drawn without looking at anything.  It has
no parameters; the seed decides the order.  chen2025 uses it in the analysis of A_max.

chen2025 adds requests in the order of the permutation until no further addition is possible.  That
can be read as a prefix (stop at the first misfit) or as first fit (pass over it).  Here it is the
prefix: the text describes the requests as processed in this fixed order, and the proof compares
two memories whose schedules must keep the same order of starts (Definition EC.1), which passing
over a misfit would break.

Each request draws a number of its own (smallest first), so later requests change no earlier draw.
"""

import numpy as np

from heuristics.policy import Keys, Known, ListPolicy, Values


def rank(known: Known, rng: np.random.Generator, values: Values) -> Keys:
    """A random order."""
    del values
    return (rng.random(len(known)),)


POLICY = ListPolicy(
    "a-random",
    randomised=True,
    guarantee=(
        "expected TEL at most (1 + 1/α)/2 + O(1/M) times that of h-sf for equal prompts and "
        "outputs in [ℓ, u], α = ℓ/u, all arriving at 0 (C Theorem EC.1)"
    ),
    rank=rank,
)
