"""Smallest known lower bound first, refined when cancelled (C Alg. 2, and Alg. 5; A_min).

The policy is not clairvoyant.  It uses the lower end of each request's interval (chen2025 Alg.
5; with one interval for all that is Alg. 2) as the first lower bound on its output.

1. If the active requests would hold more than M tokens at the next time, they are cancelled in
   ascending order of their bounds until the rest fits.  What one had made is its bound if more.
2. The waiting requests, those too, are taken in ascending order of their bounds, as many as the
   look-ahead (3) allows with each output at its bound; the first that does not fit ends the round.

``docs/policies.md`` has the parameter ``ties``, and what the paper leaves open.  Here an active
request that has made m tokens and is not finished is believed to make max(bound, m + 1).

No ratio is claimed: chen2025 states two (Theorems 5 and 6) that rest on its Lemma 1, which fails
(docs/errata.md, E16).  It always ends.  Proof: docs/proofs/termination.md (P11).
"""

from collections.abc import Callable

import numpy as np

from heuristics.look_ahead_rules import LookAheadAdmission
from heuristics.policy import Choice, Known, RoundPolicy, State
from heuristics.smallest_key import SmallestKey

TIES = Choice("ties", ("fresh", "permutation"), "of equal bounds: drawn anew, or one random order")


class LowerBoundRules(LookAheadAdmission):
    """The rules of A_min; ``pick`` chooses one of several with equal bounds."""

    def __init__(self, known: Known, pick: Callable[[list[int]], int] | None = None) -> None:
        super().__init__(known.lower.tolist())
        self.redraws = pick is not None or known.values["ties"] == "fresh"
        # With one random order no two keys are equal.
        numbers = np.zeros(len(known)) if self.redraws else known.rng.random(len(known))
        self._numbers: list[float] = numbers.tolist()
        pick = pick or (lambda equals: equals[int(known.rng.random() * len(equals))])
        self._waiting, self._active = SmallestKey(pick), SmallestKey(pick)

    def arrive(self, request: int) -> None:
        self._waiting.add(request, self._key(request))

    def _key(self, request: int) -> tuple[float, ...]:
        return self._beliefs[request], self._numbers[request]

    def finish(self, request: int, output: int) -> None:
        super().finish(request, output)
        self._active.remove(request)

    def evict(self, state: State) -> list[int]:
        evicted = []
        tokens_next = state.tokens_next
        while tokens_next > state.memory:
            request = self._active.draw()
            made = state.made(request)
            tokens_next -= state.prompts[request] + made + 1
            self._active.remove(request)
            self._ends.remove(request)
            self._beliefs[request] = max(self._beliefs[request], made)
            evicted.append(request)
        for request in evicted:
            self._waiting.add(request, self._key(request))
        return evicted

    def head(self) -> int | None:
        return self._waiting.draw() if self._waiting else None

    def take(self, request: int, now: int) -> None:
        del now
        self._waiting.remove(request)
        self._active.add(request, self._key(request))


POLICY = RoundPolicy(
    "a-min",
    clairvoyant=False,
    randomised=True,
    parameters=(TIES,),
    rules=LowerBoundRules,
)
