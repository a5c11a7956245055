"""A_ℓ where the shortest outputs are much shorter than the longest, else A_min (C sec. 5.1).

The policy is not clairvoyant: it takes the ends of the prediction intervals [ℓ, u] for the two
outputs.

chen2025 compares α = ℓ/u with α* = (3 − √5)/2, where its two bounds cross: below it serves by A_ℓ,
from it on by A_min.  α* is the smaller root of α² − 3α + 1 and the other exceeds 1, so α < α* if
and only if ℓ² − 3ℓu + u² > 0, in integers.  The paper has all requests at round 0; here the
intervals of the first arrivals decide once, α being the least ℓ/u.

The guarantee of A_ℓ holds where the policy chooses A_ℓ; nothing is claimed of A_min.
"""

from dataclasses import replace

import numpy as np

from heuristics.guarantee import TheoremAssumption, prediction_interval
from heuristics.policies.a_ell import GUARANTEE, PromoteRules
from heuristics.policies.a_min import TIES, LowerBoundRules
from heuristics.policy import Known, RoundPolicy, Rules


def far_apart(lower: int, upper: int) -> bool:
    """Return whether lower / upper < (3 − √5)/2, exactly, for 1 ≤ lower ≤ upper."""
    return lower * lower - 3 * lower * upper + upper * upper > 0


FAR_APART = TheoremAssumption("α < (3 − √5)/2", lambda each: far_apart(*prediction_interval(each)))


def rules(known: Known) -> Rules:
    """Return the rules of A_ℓ or of A_min."""
    first = known.take(np.flatnonzero(known.arrivals == known.arrivals.min()))
    apart = any(map(far_apart, first.lower.tolist(), first.upper.tolist()))
    return PromoteRules(known) if apart else LowerBoundRules(known)


POLICY = RoundPolicy(
    "a-switch",
    clairvoyant=False,
    randomised=True,
    parameters=(TIES,),
    guarantees=(
        replace(
            GUARANTEE,
            bound="1 + α/(2(1 − α)) + O(1/M)",
            assumptions=(*GUARANTEE.assumptions, FAR_APART),
            source="C Theorem 7, sec. 5.1",
        ),
    ),
    rules=rules,
)
