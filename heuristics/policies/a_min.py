"""Smallest known lower bound first, refined when cancelled (C Alg. 2, and Alg. 5; A_min).

It is not clairvoyant and uses the lower ends of the prediction intervals only, each request its
own (chen2025 Alg. 5; with one interval for all that is Alg. 2).

Each request has a lower bound on its output, at first the lower end of its interval.  A round:

1. If the active requests would hold more than M tokens at the next time, they are cancelled in
   ascending order of their bounds until the rest fits.  What a cancelled request had made becomes
   its bound if that is more.  The paper says that it becomes the bound; but a request that is
   cancelled before it reaches its bound has made fewer tokens than it is already known to need,
   and would lose a true bound (its prediction, or what an earlier attempt has shown), while the
   paper speaks of bounds that accumulate.
2. The waiting requests, those just cancelled too, are taken in ascending order of their bounds, as
   many as the look-ahead (3) allows with each output taken at its bound; the first that does not
   fit ends the round.

The paper leaves open what the look-ahead believes of an active request whose bound is reached.
Here an active request that has made m tokens and is not finished is believed to make
max(bound, m + 1): its next token is certain, and that is all that is known.

Parameter ``ties``, of equal bounds.  ``permutation``: one random order for the whole run, by
which requests are both cancelled and admitted (each request draws a number of its own, so later
requests change no earlier draw).  ``fresh``: each cancellation and each admission draws one of
the requests with the smallest bound anew; this is the paper to the letter, where every sort of
every round breaks ties at random.  It matters: with one permutation, what is cancelled first also
comes back first and is cancelled again.  See the tests for two-point outputs on which the ratio is
1.25 at most with ``fresh`` and 1.48 with ``permutation``.

No ratio is claimed.  chen2025 states O(log u/ℓ) (Theorem 5), and (3 − α)/2 for outputs of two
lengths (Theorem 6), from the share of requests that are cancelled (Lemma 1).  Lemma 1 fails: what
completes leaves room, and where it leaves enough nobody is cancelled and nothing is learned, so the
order is random.  Even with s = 0, 0.45 % of outputs 20 among outputs 1 give 1.925 in the limit
against 1.475 of Theorem 6, and there are laws with ratios that grow like u/ln u (docs/errata.md,
E16, has the argument).  For s > 0 it is worse: with s = 10, ℓ = 1, u = 50 and 6 % long outputs the
ratio is 2.5 for n = 1,000 and M = 500 and grows with both, and C's own Lemma 2 tends to
(1 + √(u/ℓ))/2 as s grows.

It always ends: the active request with the largest bound (and number) is cancelled only after all
others, and alone it fits, so it runs until it completes or one with a larger bound starts; bounds
never exceed the outputs, so after finitely many changes somebody completes.  With ``fresh`` the
same holds with probability 1, since any of equal bounds may be spared often enough.

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
