"""Smallest product of output and peak o·(s + o) first, largest feasible prefix.

Clairvoyant.  The product is the volume with every token charged as at the last round, so it
differs from ``svf`` by at most a factor of two.  No worst-case guarantee is claimed.
"""

from heuristics.policy import ListPolicy

POLICY = ListPolicy("output-peak", rank=lambda known: (known.outputs * known.peaks,))
