"""Arrival order up to (1 − α)M tokens, on overflow clear everything (J1 sec. 7, J2 sec. 5.2).

Waiting requests are admitted in arrival order while the tokens held at the next time, with s + 1
for each new one, stay at or below ⌊(1 − α)M⌋, α the decimal as written; the first that would exceed
it ends the round.  If the active requests would hold more than M at the next time, all lose their
tokens and return to their places in the queue, and the same round admits from its head.

The policy is not clairvoyant and uses no prediction.  The papers leave open what happens to a
request with s + 1 > (1 − α)M; here the head of the queue always starts when the worker is empty.

Guarantee: none, not even that it ends.  With a small α the same requests are admitted and
cleared for ever (J1 sec. 7); the simulator proves that by a repeated state and reports it.
"""

from collections.abc import Sequence

from heuristics.arrival_queue import ArrivalQueue, exact_fraction
from heuristics.policy import Known, Parameter, RoundPolicy, Rules, State

#: Also used by ``alpha-beta``; 1 would leave no memory to admit into.
ALPHA = "share of M that admission leaves free"


class ProtectionRules(Rules):
    """Greedy admission below a threshold; ``choose`` names the requests to clear on overflow."""

    def __init__(self, known: Known) -> None:
        self._limit = int((1 - exact_fraction(known.values["alpha"])) * known.memory)
        self._queue = ArrivalQueue()

    def choose(self, active: Sequence[int]) -> list[int]:
        """Return the active requests to clear; asked again while those left do not fit."""
        return list(active)

    def arrive(self, request: int) -> None:
        self._queue.arrive(request)

    def evict(self, state: State) -> list[int]:
        cleared: list[int] = []
        left = dict.fromkeys(state.starts)
        tokens_next = state.tokens_next
        while tokens_next > state.memory:
            for request in self.choose(list(left)):
                tokens_next -= state.prompts[request] + state.made(request) + 1
                del left[request]
                cleared.append(request)
        self._queue.put_back(cleared)
        return cleared

    def admit(self, state: State) -> list[int]:
        admitted: list[int] = []
        tokens_next = state.tokens_next
        while self._queue:
            tokens_next += state.prompts[self._queue.head()] + 1
            if tokens_next > self._limit and (state.starts or admitted):
                break
            admitted.append(self._queue.pop())
        return admitted

    def quiet(self) -> bool:
        # Until something ends the tokens held only grow, so the head does not fit later either.
        return True

    def fingerprint(self) -> object:
        # With all arrived, the queue holds all that neither run nor are finished, in a fixed order.
        return ()


POLICY = RoundPolicy(
    "alpha-greedy",
    clairvoyant=False,
    blind=True,
    parameters=(Parameter("alpha", 0.25, 0.0, 0.999, ALPHA),),
    rules=ProtectionRules,
)
