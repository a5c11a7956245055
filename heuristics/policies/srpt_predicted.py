"""Shortest remaining processing time by predictions, the middle of each interval (ours).

The rules of ``srpt``, with the middle of the prediction, rounded up, for the true output.  A
request that has made as many tokens is believed to make one more.
"""

from heuristics.policy import Known, RoundPolicy, Rules
from heuristics.preemptive_exchange import FACTOR, PreemptiveRules, RemainingWork


def rules(known: Known) -> Rules:
    """Return the rules of one run."""
    middle = (known.lower + known.upper + 1) // 2
    return PreemptiveRules(known, RemainingWork(known, middle))


POLICY = RoundPolicy(
    "srpt-predicted", clairvoyant=False, keeps_tokens=True, parameters=(FACTOR,), rules=rules
)
