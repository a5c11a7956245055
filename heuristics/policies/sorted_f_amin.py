"""Sorted-F on lower bounds that grow as tokens are made, smallest evicted first (W Alg. 5).

Not clairvoyant: it sees prediction intervals and uses their lower ends alone.  Each request has an
estimate of its output, at first the lower end, never less than the tokens that it has made.
Phase 1 of Sorted-F orders what waits by estimates, anew at every arrival; ``phase1`` says in which
form (``swap``, ``dp`` or ``exact``, see the policies of these names).

What the pseudocode leaves open, and how it is read here:

- An active request that is not finished makes at least one more token, so the look-ahead believes
  its output to be max(estimate, made + 1).  Then no projected time but the next one can exceed
  the memory: later ones count only requests that have not outgrown the estimates with which they
  passed the look-ahead.
- W admits before it evicts, with the overflow in sight, so a round that evicts admits nothing.
- Among equal estimates the request that comes last in the order is evicted first.
- An evicted request loses its tokens, keeps what they say of its output, and takes its old place
  in the order, which is ahead of all that waited when it was admitted.

No worst-case guarantee is claimed, by W neither.

It always finishes.  Proof: docs/proofs/termination.md (P11).

Reference: ``heuristics/reference/sorted_f_amin.py``.
"""

from __future__ import annotations

from bisect import insort
from collections.abc import Callable, Iterator

import numpy as np

from heuristics.batching import Pool
from heuristics.batching.swap import batches_by_swaps
from heuristics.batching.table import order_by_peaks, order_exactly
from heuristics.believed import BelievedEnds
from heuristics.policy import Choice, Ints, Known, RoundPolicy, Rules, State

#: Each yields the order piece by piece.
PHASE_1: dict[str, Callable[[Pool], Iterator[Ints]]] = {
    "swap": batches_by_swaps,
    "dp": lambda pool: iter([order_by_peaks(pool)]),
    "exact": lambda pool: iter([order_exactly(pool)]),
}


class _AdaptiveRules:
    def __init__(self, known: Known, phase1: str) -> None:
        self._known = known
        self._order = PHASE_1[phase1]
        self._estimates: list[int] = known.lower.tolist()
        self._lower = known.lower.copy()  # the same as an array
        #: Number of the plan and place in it: what an earlier plan had admitted comes first.
        self._places = [(0, 0)] * len(known)
        self._plans = self._placed = 0
        self._waits = np.zeros(len(known), dtype=np.bool_)
        #: What comes first in the order, and where the rest comes from when it is needed.
        self._queue: list[int] = []
        self._rest: Iterator[Ints] = iter(())
        self._stale = False
        self._evicted_in: int | None = None
        self._ends = BelievedEnds()
        self._quiet = False

    def arrive(self, request: int) -> None:
        self._waits[request] = True
        self._stale = True

    def finish(self, request: int, output: int) -> None:
        del output
        self._ends.remove(request)

    def evict(self, state: State) -> list[int]:
        first = min(
            state.starts,
            key=lambda request: (
                max(self._estimates[request], state.made(request)),
                tuple(-number for number in self._places[request]),
            ),
        )
        self._estimates[first] = max(self._estimates[first], state.made(first))
        self._lower[first] = self._estimates[first]
        self._ends.remove(first)
        self._evicted_in = state.now
        if self._stale:
            self._plan()
        self._waits[first] = True
        insort(self._queue, first, key=self._places.__getitem__)
        return [first]

    def admit(self, state: State) -> list[int]:
        self._quiet = False
        if self._evicted_in == state.now:
            return []
        if self._stale:
            self._plan()
        tokens_next = state.tokens_next
        count = 0
        while count < len(self._queue) or self._take_more():
            request = self._queue[count]
            prompt, estimate = state.prompts[request], self._estimates[request]
            if not self._ends.allows(state, tokens_next, prompt, estimate):
                # The tokens of the active requests only grow until something ends.
                self._quiet = tokens_next + prompt + 1 > state.memory
                break
            self._ends.add(request, prompt, estimate, state.now)
            self._waits[request] = False
            tokens_next += prompt + 1
            count += 1
        admitted, self._queue = self._queue[:count], self._queue[count:]
        return admitted

    def quiet(self) -> bool:
        return self._quiet

    def fingerprint(self) -> object:
        return None  # it always finishes

    def _plan(self) -> None:
        waiting = np.flatnonzero(self._waits)
        pool = Pool.of(self._known.take(waiting), self._lower[waiting])
        self._rest = (waiting[piece] for piece in self._order(pool))
        self._queue = []
        self._plans += 1
        self._placed = 0
        self._stale = False

    def _take_more(self) -> bool:
        """Add the next piece of the order to the queue; return whether there was one."""
        for piece in self._rest:
            for request in piece.tolist():
                self._places[request] = (self._plans, self._placed)
                self._placed += 1
                self._queue.append(request)
            return True
        return False


def rules(known: Known) -> Rules:
    """Return the rules for one run."""
    return _AdaptiveRules(known, known.values["phase1"])


POLICY = RoundPolicy(
    "sorted-f-amin",
    clairvoyant=False,
    parameters=(Choice("phase1", tuple(PHASE_1), "how Phase 1 chooses batches"),),
    rules=rules,
)
