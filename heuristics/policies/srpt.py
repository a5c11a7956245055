"""Shortest remaining processing time: preempts for much less work, keeps tokens (ours).

Clairvoyant, and it knows how long a batch takes.  The key of ``heuristics.preemptive_exchange`` is
the machine time that a request needs yet: its share h/M of the base of every round at whose end it
holds h tokens, its decode steps, and, while it waits, the prefill of its prompt and of the tokens
that it kept.  After Schrage (1968), whose rule has ``factor`` 1 and a machine on which an exchange
costs nothing; here it costs a prefill and the tokens of a memory that grows.
"""

from heuristics.policy import RoundPolicy
from heuristics.preemptive_exchange import FACTOR, PreemptiveRules, RemainingWork

POLICY = RoundPolicy(
    "srpt",
    keeps_tokens=True,
    parameters=(FACTOR,),
    rules=lambda known: PreemptiveRules(known, RemainingWork(known, known.outputs, falls=True)),
)
