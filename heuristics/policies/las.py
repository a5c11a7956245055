"""Least attained service: preempts those that have had much of the machine, keeps tokens (ours).

Non-clairvoyant, and it knows how long a batch takes.  The key of ``heuristics.preemptive_exchange``
is the machine time that a request has had: its share h/M of the base of every round at whose end it
held h tokens, its prefill and its decode steps, each token once, however often it was prefilled
again. For a waiting request the key includes its next token and the prefill of kept tokens.
Nothing is believed of outputs, so the look-ahead goes as far as the next time.
"""

from dataclasses import replace

from heuristics.policy import RoundPolicy
from heuristics.preemptive_exchange import FACTOR, PreemptiveRules, RemainingWork


class AttainedWork(RemainingWork):
    """Keys by the machine time that requests have had."""

    def waiting(self, request: int, kept: int) -> int:
        next_token = self._time(self._prompts[request] + kept, 1, prefilled=False)
        return next_token + (self.running(request, kept) if kept else 0)

    def running(self, request: int, made: int) -> int:
        return self._time(self._prompts[request], made, prefilled=False)


POLICY = RoundPolicy(
    "las",
    clairvoyant=False,
    blind=True,
    keeps_tokens=True,
    parameters=(replace(FACTOR, default=50.0),),
    rules=lambda known: PreemptiveRules(known, AttainedWork(known, 0 * known.prompts)),
)
