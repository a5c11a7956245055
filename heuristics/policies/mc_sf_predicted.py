"""Smallest predicted upper end first, largest feasible prefix by upper ends (J2 v5, Eq. 5).

``mc-sf`` with over-estimated outputs: the look-ahead reserves upper ends, so nothing is evicted.
A request frees its memory when it completes.  App. B.3 of v5 has a factor of α³, and its constant
was not at hand.  The ratio here has a separate proof: docs/proofs/overestimates.md (P17).
"""

from fractions import Fraction

from heuristics.guarantee import AT_ZERO, EQUAL_PROMPTS, Guarantee, TheoremAssumption
from heuristics.policy import ListPolicy
from instances import Instance


def share(instance: Instance) -> Fraction:
    """Return P/M, P the most tokens of a prompt and its upper end."""
    peaks = (each.prompt + (each.output_upper or each.output) for each in instance.requests)
    return Fraction(max(peaks), instance.memory)


def ratio(instance: Instance) -> Fraction:
    """Return 1 + 2f³/(1 − P/M)."""
    factor = max(
        Fraction(each.output_upper or each.output, each.output_lower or each.output)
        for each in instance.requests
    )
    return 1 + 2 * factor**3 / (1 - share(instance))


BELOW = TheoremAssumption(
    "every prompt with its upper end is below M", lambda each: share(each) < 1
)
POLICY = ListPolicy(
    "mc-sf-predicted",
    clairvoyant=False,
    guarantees=(
        Guarantee(
            "1 + 2f³/(1 − P/M)",
            "OPT",
            (AT_ZERO, EQUAL_PROMPTS, BELOW),
            "P17, after arXiv 2606.22327 Theorem 3.2",
            symbols="f = max u/ℓ, P = max(s + u)",
            ratio=ratio,
        ),
    ),
    rank=lambda known: (known.upper,),
)
