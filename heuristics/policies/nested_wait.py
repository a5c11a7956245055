"""Fluid thresholds by segments, outputs unknown (arXiv 2504.11320, after Nested WAIT, Algorithm 2).

docs/policies.md lists the differences.  In unit rounds:

- Segment 1 has the first ``segment`` output tokens; each further one ends at twice the tokens.
- A request that reaches the end of its segment unfinished leaves the worker, keeps its tokens (they
  are prefilled again) and queues for the next segment; it may go on without a gap.
- Segment k has the threshold n_k = ⌈scale · M · e_k / V⌉, where e_k requests have entered its queue
  and V is what all entries so far would hold, in token-rounds, if each ran to its segment's end.
- Segments start requests as classes of ``wait`` do, if memory suffices up to the ends of segments.

The policy is not clairvoyant and uses no prediction: only that a request makes at most M − s
tokens.  The source's guarantee is not claimed.  It always ends: docs/proofs/termination.md (P11).
"""

from heapq import heappop, heappush

from heuristics.policies.wait import SCALE, ThresholdRules
from heuristics.policy import Known, Parameter, RoundPolicy, State


class _Segments(ThresholdRules):
    def __init__(self, known: Known) -> None:
        super().__init__(known)
        self._memory = known.memory
        self._first: int = known.values["segment"]
        self._segment_ends: list[tuple[int, int, int, int]] = []

    def segment(self, made: int) -> int:
        """Return the segment that follows ``made`` output tokens, counted from 0."""
        return (-(-(made + 1) // self._first) - 1).bit_length()

    def length(self, request: int, kept: int) -> int:
        end = self._first << self.segment(kept)
        return min(end, self._memory - self.prompts[request]) - kept

    def arrive(self, request: int) -> None:
        self.enter(request, 0, 0)

    def started(self, request: int, end: int, state: State) -> None:
        heappush(self._segment_ends, (end, self.place(request), request, state.now))

    def next_eviction(self, state: State) -> int | None:
        while self._segment_ends:
            end, _, request, start = self._segment_ends[0]
            if state.starts.get(request) == start:
                return end
            heappop(self._segment_ends)
        return None

    def evict(self, state: State) -> list[int]:
        evicted: list[int] = []
        while self.next_eviction(state) == state.now:
            request = heappop(self._segment_ends)[2]
            self._ends.remove(request)
            made = state.made(request)
            self.enter(request, made, self.segment(made))
            evicted.append(request)
        return evicted


POLICY = RoundPolicy(
    "nested-wait",
    clairvoyant=False,
    blind=True,
    keeps_tokens=True,
    parameters=(
        Parameter("segment", 64, 1, 1e9, "output tokens of the first segment", True),
        SCALE,
    ),
    rules=_Segments,
)
