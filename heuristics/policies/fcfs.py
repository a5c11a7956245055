"""First come, first served: arrival order, look-ahead, stop at the first misfit (W sec. 7).

wang2025 shuffles its requests and serves them in that order; here the order of equal arrivals is
the order of the instance file.  No worst-case guarantee is claimed.
"""

from heuristics.policy import ListPolicy

POLICY = ListPolicy("fcfs", rank=lambda known: (known.arrivals,))
