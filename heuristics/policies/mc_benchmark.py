"""Arrival order with the look-ahead memory check (J2 Alg. 2, MC-Benchmark).

jaillet2025_v2 defines it for arrivals over time; with the tie rule of this suite it makes the same
schedule as ``fcfs`` and stands here under the name of its experiments.  No guarantee is claimed.

Reference: ``heuristics/reference/mc_benchmark.py``.
"""

import numpy as np

from heuristics.policy import Keys, Known, ListPolicy, Values


def rank(known: Known, rng: np.random.Generator, values: Values) -> Keys:
    """Earlier arrivals first."""
    del rng, values
    return (known.arrivals,)


POLICY = ListPolicy("mc-benchmark", rank=rank)
