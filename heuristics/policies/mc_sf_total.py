"""Smallest peak s + o first, largest feasible prefix (W Thm 8.2, MC-SF by total size).

wang2025 Theorem 8.2 shows that its competitive ratio is unbounded.
"""

from heuristics.policy import Keys, Known, Policy


def rank(known: Known) -> Keys:
    """Smaller s + o first."""
    return (known.prompts + known.outputs,)


POLICY = Policy("mc-sf-total", rank)
