"""Smallest peak s + o first, largest feasible prefix (W Thm 8.2, MC-SF by total size).

wang2025 Theorem 8.2 states that its competitive ratio is unbounded; the instance printed there
tends to 3, one with fewer requests of the second kind shows it (``instances.families.total_trap``).
"""

from heuristics.policy import ListPolicy

POLICY = ListPolicy("mc-sf-total", rank=lambda known: (known.peaks,))
