"""Outputs that first rise and then decay, all with the prediction [1, u].

Source: chen2025 section 5.3, LG(p): P(o = k) = k·p²·q^(k-1), q = 1 - p.  The paper lets u grow
without bound; we draw from the distribution given o <= u.  It leaves the sizes open; its proofs
take s = 0, our default.
"""

from instances.families.geometric import decaying, geometric_weights


def _rising(p: float, upper: int) -> list[float]:
    return [k * weight for k, weight in enumerate(geometric_weights(p, upper), start=1)]


generate = decaying("linearly-weighted-geometric", "chen2025 section 5.3", _rising)
