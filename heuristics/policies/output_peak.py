"""Smallest product of output and peak o·(s + o) first, largest feasible prefix.

Clairvoyant.  The product is the volume with every token charged as at the last round, so it
differs from ``svf`` by at most a factor of two.  No worst-case guarantee is claimed.

Reference: ``heuristics/reference/svf.py``.
"""

from heuristics.policy import Keys, Known, ListPolicy


def rank(known: Known) -> Keys:
    """Smaller o·(s + o) first."""
    return (known.outputs * (known.prompts + known.outputs),)


POLICY = ListPolicy("output-peak", rank=rank)
