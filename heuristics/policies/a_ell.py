"""Promote-ℓ: a request that exceeds its lower end is cancelled, then served last (C Alg. 6, A_ℓ).

It is not clairvoyant.  It is made for outputs of two lengths: ℓ and u are the ends of each
request's own prediction interval.  It has no parameters and draws nothing.

Each request is believed to make ℓ tokens at first.  A round:

1. An active request that has made ℓ tokens and is not finished must be a long one: it is cancelled,
   is believed to make u from now on, and goes to the end of the queue.  Several that are cancelled
   in one round keep the order of their starts.  Where ℓ = u nothing is cancelled.
2. The queue is served from its head as long as the look-ahead (3) allows, all outputs taken as
   believed, those of active requests too, so memory is never exceeded; the first misfit ends the
   round.

The queue is first in, first out: arrivals in order of arrival, then position in the instance, and
behind what was cancelled before them.  ``docs/policies.md`` says what the paper leaves open.

chen2025 states its ratio (Theorem 7) for any s; the proof counts work as o², which is s = 0.  For
s > 0 it does not hold: with s = 100, ℓ = 15, u = 50 and half of the outputs long the ratio is 1.41,
against 1.214 of the theorem (see the tests).  So nothing is claimed for s > 0.

Reference: ``heuristics/reference/a_ell.py``.
"""

from __future__ import annotations

from collections import deque
from fractions import Fraction

from heuristics.believed import BelievedEnds
from heuristics.guarantee import (
    AT_ZERO,
    NO_PROMPTS,
    ONE_INTERVAL,
    TWO_OUTPUTS,
    Guarantee,
    uncertainty,
)
from heuristics.policy import Known, RoundPolicy, Rules, State
from instances import Instance


class PromoteRules:
    """A_ℓ with given lower and upper ends (tokens), each of shape (n,)."""

    def __init__(self, lower: list[int], upper: list[int]) -> None:
        self._beliefs = lower
        self._upper = upper
        self._queue: deque[int] = deque()
        self._ends = BelievedEnds()
        # The round in which each request on trial will be cancelled, in order of start.
        self._trials: dict[int, int] = {}
        self._quiet = False

    def arrive(self, request: int) -> None:
        self._queue.append(request)

    def finish(self, request: int, output: int) -> None:
        del output
        self._ends.remove(request)
        self._trials.pop(request, None)

    def next_eviction(self, state: State) -> int | None:
        del state
        return min(self._trials.values(), default=None)

    def evict(self, state: State) -> list[int]:
        evicted = [request for request, due in self._trials.items() if due <= state.now]
        for request in evicted:
            del self._trials[request]
            self._ends.remove(request)
            self._beliefs[request] = self._upper[request]
            self._queue.append(request)
        return evicted

    def admit(self, state: State) -> list[int]:
        admitted: list[int] = []
        tokens_next = state.tokens_next
        self._quiet = False
        while self._queue:
            request = self._queue[0]
            prompt, belief = state.prompts[request], self._beliefs[request]
            if not self._ends.allows(state, tokens_next, prompt, belief):
                # As in a_min: tokens held only grow until something ends.
                self._quiet = tokens_next + prompt + 1 > state.memory
                break
            self._ends.add(request, prompt, belief, state.now)
            if belief < self._upper[request]:
                self._trials[request] = state.now + belief
            tokens_next += prompt + 1
            admitted.append(self._queue.popleft())
        return admitted

    def quiet(self) -> bool:
        return self._quiet

    def fingerprint(self) -> object:
        return None  # it always ends: a request is cancelled at most once


def rules(known: Known) -> Rules:
    """Return the rules of one run."""
    return PromoteRules(known.lower.tolist(), known.upper.tolist())


def ratio(instance: Instance) -> Fraction:
    """Return 1 + α/(2(1 − α)) for α ≤ 1/2, else 1 + 2α²."""
    alpha = uncertainty(instance)
    return 1 + (alpha / (2 * (1 - alpha)) if 2 * alpha <= 1 else 2 * alpha**2)


POLICY = RoundPolicy(
    "a-ell",
    clairvoyant=False,
    guarantees=(
        Guarantee(
            "1 + α/(2(1 − α)) + O(1/M) for α ≤ 1/2, else 1 + 2α² + O(1/M)",
            "h-sf",
            (AT_ZERO, NO_PROMPTS, ONE_INTERVAL, TWO_OUTPUTS),
            "C Theorem 7",
            symbols="α = ℓ/u",
            limit="as n → ∞ in random order",
            ratio=ratio,
        ),
    ),
    rules=rules,
)
