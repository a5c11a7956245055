"""A_ℓ where the shortest outputs are much shorter than the longest, else A_min (C sec. 5.1).

It is not clairvoyant: it looks at the prediction intervals [ℓ, u], whose ends are taken for the
only two output lengths.  Parameter ``ties`` is that of ``a-min``.

chen2025 compares α = ℓ/u with α* = (3 − √5)/2, where its two bounds cross: below it serves by
A_ℓ, from it on by A_min.  Since α* is the smaller root of α² − 3α + 1 and the other exceeds 1,
α < α* holds if and only if ℓ² − 3ℓu + u² > 0, which is decided in integers.

With intervals that differ, α is the least ℓ/u of a request.  The paper has all requests at round
0; with arrivals over time the choice is made once, at the first arrival, from the intervals of
the requests that arrive with it, and it holds for the rest of the run.

Its guarantee is that of A_ℓ where it chooses that; of A_min nothing is claimed (see both).

Reference: ``heuristics/reference/a_switch.py``.
"""

from __future__ import annotations

from heuristics.guarantee import (
    AT_ZERO,
    NO_PROMPTS,
    ONE_INTERVAL,
    TWO_OUTPUTS,
    Assumption,
    Guarantee,
    interval,
)
from heuristics.policies.a_ell import PromoteRules, ratio
from heuristics.policies.a_min import TIES, LowerBoundRules
from heuristics.policy import Known, RoundPolicy, Rules, State


def far_apart(lower: int, upper: int) -> bool:
    """Return whether lower / upper < (3 − √5)/2, exactly, for 1 ≤ lower ≤ upper."""
    return lower * lower - 3 * lower * upper + upper * upper > 0


FAR_APART = Assumption("α < (3 − √5)/2", lambda instance: far_apart(*interval(instance)))


class SwitchRules(Rules):
    """The rules of A_ℓ or of A_min, chosen before the first admission."""

    def __init__(self, known: Known) -> None:
        self._known = known
        self._chosen: PromoteRules | LowerBoundRules | None = None
        self._arrived: list[int] = []

    def arrive(self, request: int) -> None:
        if self._chosen is None:
            self._arrived.append(request)
        else:
            self._chosen.arrive(request)

    def finish(self, request: int, output: int) -> None:
        self._rules().finish(request, output)

    def next_eviction(self, state: State) -> int | None:
        chosen = self._chosen
        return chosen.next_eviction(state) if isinstance(chosen, PromoteRules) else None

    def evict(self, state: State) -> list[int]:
        return self._rules().evict(state)

    def admit(self, state: State) -> list[int]:
        return self._rules().admit(state)

    def quiet(self) -> bool:
        return self._rules().quiet()

    def _rules(self) -> PromoteRules | LowerBoundRules:
        if self._chosen is None:
            first = self._known.take(self._arrived)
            apart = any(map(far_apart, first.lower.tolist(), first.upper.tolist()))
            self._chosen = PromoteRules(self._known) if apart else LowerBoundRules(self._known)
            for request in self._arrived:
                self._chosen.arrive(request)
        return self._chosen


POLICY = RoundPolicy(
    "a-switch",
    clairvoyant=False,
    randomised=True,
    parameters=(TIES,),
    guarantees=(
        Guarantee(
            "1 + α/(2(1 − α)) + O(1/M)",
            "h-sf",
            (AT_ZERO, NO_PROMPTS, ONE_INTERVAL, TWO_OUTPUTS, FAR_APART),
            "C Theorem 7, sec. 5.1",
            symbols="α = ℓ/u",
            limit="as n → ∞ in random order",
            ratio=ratio,
        ),
    ),
    rules=SwitchRules,
)
