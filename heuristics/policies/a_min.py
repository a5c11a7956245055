"""Smallest known lower bound first, refined when cancelled (C Alg. 2, and Alg. 5; A_min).

It is not clairvoyant and uses the lower ends of the prediction intervals only, each request its
own (chen2025 Alg. 5; with one interval for all that is Alg. 2).

Each request has a lower bound on its output, at first the lower end of its interval.  A round:

1. If the active requests would hold more than M tokens at the next time, they are cancelled in
   ascending order of their bounds until the rest fits.  What a cancelled request had made becomes
   its bound if that is more.
2. The waiting requests, those just cancelled too, are taken in ascending order of their bounds, as
   many as the look-ahead (3) allows with each output taken at its bound; the first that does not
   fit ends the round.

``docs/policies.md`` has the parameter ``ties``, and what the paper leaves open.  Here an active
request that has made m tokens and is not finished is believed to make max(bound, m + 1).

No ratio is claimed: chen2025 states two (Theorems 5 and 6) that rest on its Lemma 1, which fails
(docs/errata.md, E16).  It always ends.  Proof: docs/proofs/termination.md (P11).

Reference: ``heuristics/reference/a_min.py``.
"""

from __future__ import annotations

from heuristics.believed import BelievedEnds
from heuristics.policy import Choice, Known, RoundPolicy, Rules, State
from heuristics.smallest import FixedTies, FreshTies, Smallest

TIES = Choice("ties", ("fresh", "permutation"), "of equal bounds: drawn anew, or one random order")


class LowerBoundRules:
    """A_min with given lower bounds (tokens, shape (n,)) and two empty sets for its requests."""

    def __init__(self, bounds: list[int], waiting: Smallest, active: Smallest) -> None:
        self._bounds = bounds
        self._waiting = waiting
        self._active = active
        self._ends = BelievedEnds()
        self._quiet = False

    def arrive(self, request: int) -> None:
        self._waiting.add(request, self._bounds[request])

    def finish(self, request: int, output: int) -> None:
        del output
        self._active.remove(request)
        self._ends.remove(request)

    def evict(self, state: State) -> list[int]:
        evicted = []
        tokens_next = state.tokens_next
        while tokens_next > state.memory:
            request = self._active.draw()
            made = state.made(request)
            tokens_next -= state.prompts[request] + made + 1
            self._active.remove(request)
            self._ends.remove(request)
            self._bounds[request] = max(self._bounds[request], made)
            evicted.append(request)
        for request in evicted:
            self._waiting.add(request, self._bounds[request])
        return evicted

    def admit(self, state: State) -> list[int]:
        admitted: list[int] = []
        tokens_next = state.tokens_next
        self._quiet = False
        while self._waiting:
            request = self._waiting.draw()
            prompt, bound = state.prompts[request], self._bounds[request]
            if not self._ends.allows(state, tokens_next, prompt, bound):
                # The tokens of the active requests only grow until one ends, so what does not fit
                # at the next time will not fit later; what fails at a later time may fit soon.
                # Where ties are drawn anew, the next draw may be of any prompt, even an empty one.
                drawn = prompt if isinstance(self._waiting, FixedTies) else 0
                self._quiet = tokens_next + drawn + 1 > state.memory
                break
            self._waiting.remove(request)
            self._active.add(request, bound)
            self._ends.add(request, prompt, bound, state.now)
            tokens_next += prompt + 1
            admitted.append(request)
        return admitted

    def quiet(self) -> bool:
        return self._quiet

    def fingerprint(self) -> object:
        return None  # it always ends


def rules(known: Known) -> Rules:
    """Return the rules of one run."""
    bounds = known.lower.tolist()
    if known.values["ties"] == "permutation":
        numbers = known.rng.random(len(known)).tolist()
        return LowerBoundRules(bounds, FixedTies(numbers), FixedTies(numbers))

    def pick(equals: list[int]) -> int:
        return equals[int(known.rng.random() * len(equals))]

    return LowerBoundRules(bounds, FreshTies(pick), FreshTies(pick))


POLICY = RoundPolicy(
    "a-min",
    clairvoyant=False,
    randomised=True,
    parameters=(TIES,),
    rules=rules,
)
