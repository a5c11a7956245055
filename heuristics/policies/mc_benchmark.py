"""Arrival order with the look-ahead memory check (J2 Alg. 2, MC-Benchmark).

jaillet2025_v2 defines it for arrivals over time; with the tie rule of this suite it makes the same
schedule as ``fcfs`` and stands here under the name of its experiments.  No guarantee is claimed.

Reference: ``heuristics/reference/mc_benchmark.py``.
"""

from heuristics.policy import Keys, Known, ListPolicy


def rank(known: Known) -> Keys:
    """Earlier arrivals first."""
    return (known.arrivals,)


POLICY = ListPolicy("mc-benchmark", rank=rank)
