"""Arrival order up to (1 − α)M, on overflow clear each request with chance β (J1 sec. 7, J2 5.2).

Admission works as in ``alpha-greedy``.  If the active requests would hold more than M tokens at the
next time, each is cleared with probability β, again and again in the same round until the rest
fits: the papers let memory stay exceeded for a while, which no schedule here may.  A cleared
request loses its tokens and returns to its place in the queue.

``stall=yes``, for instances in seconds, makes one pass as the papers do.  If those that are left do
not fit, the time of an empty batch passes without a token, and the next pass is drawn.  That time
is no round: a schedule shows it as a round that begins late.

The policy is not clairvoyant and uses no prediction.  With β = 1 it is ``alpha-greedy``.

Guarantee: none; for β < 1 it ends with probability 1, since sooner or later one request is left
alone and completes.  But that may take very many rounds: with a small α new requests fill the
memory again at once, and one with a peak near M must survive each overflow with chance 1 − β.
"""

from collections.abc import Sequence

from heuristics.policies.alpha_greedy import ALPHA, ProtectionRules
from heuristics.policy import Choice, Known, Parameter, RoundPolicy, State


class ClearingRules(ProtectionRules):
    """Clears each active request with probability ``beta``, in one pass where time may pass."""

    def __init__(self, known: Known) -> None:
        super().__init__(known)
        self._beta: float = known.values["beta"]
        self.stalls = known.values["stall"] == "yes"
        self._rng = known.rng

    def choose(self, active: Sequence[int]) -> list[int]:
        draws = self._rng.random(len(active)).tolist()
        return [request for request, draw in zip(active, draws, strict=True) if draw < self._beta]

    def fingerprint(self) -> object:
        return super().fingerprint() if self._beta >= 1 else None

    def evict(self, state: State) -> list[int]:
        if not self.stalls:
            return super().evict(state)
        cleared = self.choose(list(state.starts))
        self._queue.put_back(cleared)
        return cleared


POLICY = RoundPolicy(
    "alpha-beta",
    clairvoyant=False,
    blind=True,
    randomised=True,
    parameters=(
        Parameter("alpha", 0.2, 0.0, 0.999, ALPHA),
        Parameter("beta", 0.2, 0.001, 1.0, "chance of each active request to be cleared"),
        Choice("stall", ("no", "yes"), "one pass of draws, then time passes (real time only)"),
    ),
    rules=ClearingRules,
)
