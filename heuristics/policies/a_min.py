"""Smallest known lower bound first, refined when cancelled (C Alg. 2, and Alg. 5; A_min).

It is not clairvoyant and uses the lower ends of the prediction intervals only, each request its
own (chen2025 Alg. 5; with one interval for all that is Alg. 2).  It has no parameters; the seed
decides ties, once for the whole run: each request draws a number, so later requests change no
earlier draw.

Each request has a lower bound on its output, at first the lower end of its interval.  A round:

1. If the active requests would hold more than M tokens at the next time, they are cancelled in
   ascending order of their bounds until the rest fits.  What a cancelled request had made becomes
   its bound if that is more.  The paper says that it becomes the bound; but a request that is
   cancelled before it reaches its bound has made fewer tokens than it is already known to need,
   and forgetting that (the prediction, or the work of an earlier attempt) would let a request
   lose a true bound, while the paper speaks of bounds that accumulate.
2. The waiting requests, those just cancelled too, are taken in ascending order of their bounds, as
   many as the look-ahead (3) allows with each output taken at its bound; the first that does not
   fit ends the round.

The paper leaves open what the look-ahead believes of an active request whose bound is reached.
Here an active request that has made m tokens and is not finished is believed to make
max(bound, m + 1): its next token is certain, and that is all that is known.

It always ends.  The active request with the largest bound (and tie number) is cancelled only after
all others, and alone it fits, so it runs until it completes or one with a larger bound starts.
Bounds never exceed the outputs, so after finitely many changes somebody completes.
"""

from __future__ import annotations

from heapq import heappop, heappush

import numpy as np

from heuristics.believed import BelievedEnds
from heuristics.policy import Known, RoundPolicy, Rules, State, Values


class LowerBoundRules:
    """A_min with given lower bounds (tokens) and tie numbers, each of shape (n,)."""

    def __init__(self, bounds: list[int], ties: list[float]) -> None:
        self._bounds = bounds
        self._ties = ties
        self._waiting: list[tuple[int, float, int]] = []
        # May hold requests that have completed; one that is evicted is taken out.
        self._active: list[tuple[int, float, int]] = []
        self._ends = BelievedEnds()
        self._quiet = False

    def arrive(self, request: int) -> None:
        heappush(self._waiting, self._entry(request))

    def finish(self, request: int, output: int) -> None:
        del output
        self._ends.remove(request)

    def evict(self, state: State) -> list[int]:
        evicted = []
        tokens_next = state.tokens_next
        while tokens_next > state.memory:
            request = heappop(self._active)[2]
            if request not in state.starts:
                continue
            made = state.made(request)
            tokens_next -= state.prompts[request] + made + 1
            self._bounds[request] = max(self._bounds[request], made)
            self._ends.remove(request)
            evicted.append(request)
        for request in evicted:
            heappush(self._waiting, self._entry(request))
        return evicted

    def admit(self, state: State) -> list[int]:
        admitted: list[int] = []
        tokens_next = state.tokens_next
        self._quiet = False
        while self._waiting:
            request = self._waiting[0][2]
            prompt, bound = state.prompts[request], self._bounds[request]
            if not self._ends.allows(state, tokens_next, prompt, bound):
                # What does not fit at the next time will not until something ends, since the
                # tokens of the active requests only grow; what fails later may fit soon.
                self._quiet = tokens_next + prompt + 1 > state.memory
                break
            self._ends.add(request, prompt, bound, state.now)
            tokens_next += prompt + 1
            heappush(self._active, heappop(self._waiting))
            admitted.append(request)
        return admitted

    def quiet(self) -> bool:
        return self._quiet

    def fingerprint(self) -> object:
        return None  # it always ends

    def _entry(self, request: int) -> tuple[int, float, int]:
        return (self._bounds[request], self._ties[request], request)


def rules(known: Known, rng: np.random.Generator, values: Values) -> Rules:
    """Return the rules of one run."""
    del values
    return LowerBoundRules(known.lower.tolist(), rng.random(len(known)).tolist())


POLICY = RoundPolicy(
    "a-min",
    clairvoyant=False,
    randomised=True,
    guarantee=(
        "expected TEL at most O(log(u/ℓ)) times that of h-sf as M grows, for equal prompts and "
        "outputs in [ℓ, u], all arriving at 0 (C Theorem 5, Corollary 2); (3 − ℓ/u)/2 + O(1/M) "
        "times if every output is ℓ or u (C Theorem 6)"
    ),
    rules=rules,
)
