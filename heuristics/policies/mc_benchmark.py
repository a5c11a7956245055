"""Arrival order with the look-ahead memory check (J2 Alg. 2, MC-Benchmark).

jaillet2025_v2 defines it for arrivals over time; with the tie rule of this suite it makes the same
schedule as ``fcfs`` and stands here under the name of its experiments.  No guarantee is claimed.
"""

from heuristics.policies import fcfs
from heuristics.policy import ListPolicy

POLICY = ListPolicy("mc-benchmark", rank=fcfs.POLICY.rank)
