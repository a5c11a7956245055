"""Sorted-F on lower bounds that grow as tokens are made, smallest evicted first (W Alg. 5).

Not clairvoyant: a request's estimate of its output is the lower end of its prediction, or the
tokens that it has made.  Phase 1 of Sorted-F orders what waits by estimates, anew at every arrival,
in the form ``phase1`` (``swap``, ``dp`` or ``exact``, see the policies of these names).

The pseudocode leaves some points open, which are read so:

- The look-ahead believes an unfinished active request to make max(estimate, made + 1).  Then only
  the next time can exceed the memory: later ones count no request that has outgrown its estimate.
- W admits before it evicts, with the overflow in sight, so a round that evicts admits nothing.
- Among equal estimates the request that comes last in the order is evicted first.
- An evicted request loses its tokens, keeps its estimate, and takes its old place in the order,
  which is ahead of all that waited when it was admitted.

No worst-case guarantee is claimed, by W neither.

The policy always finishes.  Proof: docs/proofs/termination.md (P11).
"""

from bisect import insort
from collections.abc import Callable, Iterator
from dataclasses import replace

from heuristics.batching.batch_table import batches_by_peaks, batches_exactly
from heuristics.batching.swap import batches_by_swaps
from heuristics.look_ahead_rules import PlannedRules
from heuristics.policy import Choice, Forecast, Ints, Known, RoundPolicy, State

PHASE_1: dict[str, Callable[[Known], Iterator[Ints]]] = {
    "swap": batches_by_swaps,
    "dp": batches_by_peaks,
    "exact": batches_exactly,
}


class _AdaptiveRules(PlannedRules):
    def __init__(self, known: Known) -> None:
        order = PHASE_1[known.values["phase1"]]
        lower = known.lower.copy()  # the estimates as an array

        def plan(waiting: Ints) -> Iterator[Ints]:
            estimates = lower[waiting]
            return order(replace(known.take(waiting), forecast=Forecast(estimates, estimates)))

        super().__init__(known.lower.tolist(), plan)
        self._lower = lower
        #: Number of the plan and place in it: what an earlier plan had admitted comes first.
        self._places = [(0, 0)] * len(known)
        self._plans = self._placed = 0
        self._evicted_in: int | None = None

    def evict(self, state: State) -> list[int]:
        def place(request: int) -> tuple[int, int]:
            plan, number = self._places[request]
            return -plan, -number

        def key(request: int) -> tuple[int, tuple[int, int]]:
            return max(self._beliefs[request], state.made(request)), place(request)

        first = min(state.starts, key=key)
        self._beliefs[first] = self._lower[first] = key(first)[0]
        self._ends.remove(first)
        self._evicted_in = state.now
        if self._stale:
            self.plan()
        self._waits[first] = True
        insort(self._line, first, key=place)
        return [first]

    def admit(self, state: State) -> list[int]:
        self._quiet = False
        return [] if self._evicted_in == state.now else super().admit(state)

    def plan(self) -> None:
        super().plan()
        self._plans, self._placed = self._plans + 1, 0

    def enter(self, piece: list[int]) -> None:
        super().enter(piece)
        for place, request in enumerate(piece, self._placed):
            self._places[request] = (self._plans, place)
        self._placed += len(piece)


POLICY = RoundPolicy(
    "sorted-f-amin",
    clairvoyant=False,
    parameters=(Choice("phase1", tuple(PHASE_1), "how Phase 1 chooses batches"),),
    rules=_AdaptiveRules,
)
