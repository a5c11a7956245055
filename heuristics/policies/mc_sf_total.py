"""Smallest peak s + o first, largest feasible prefix (W Thm 8.2, MC-SF by total size).

wang2025 Theorem 8.2 states that its competitive ratio is unbounded; the instance printed there
tends to 3, one with fewer requests of the second kind shows it (``instances.families.total_trap``).

Reference: ``heuristics/reference/mc_sf.py``.
"""

from heuristics.policy import Keys, Known, ListPolicy


def rank(known: Known) -> Keys:
    """Smaller s + o first."""
    return (known.prompts + known.outputs,)


POLICY = ListPolicy("mc-sf-total", rank=rank)
