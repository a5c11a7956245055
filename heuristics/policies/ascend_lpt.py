"""vllm-ascend's batch-job-aware scheduler with one job: best fit by prompt (source of vllm-ascend).

``vllm_ascend/core/batch_job_aware_scheduler.py``, lines 190-330 and 463-619, at commit 182b75ea of
2026-08-22: released, and off by default.  The source calls it LPT: jobs with long predicted outputs
go first.  Instances name no jobs, so all requests are one job, and no prediction counts:

- Room is what is free, less the blocks that the running requests need in the next step and two
  more, at most eight.  Without room nobody is admitted.
- Of the first three requests since the queue was empty, one that waits is next.
- Else the longest prompt that fits the room is next, and without one the shortest prompt; of equal
  prompts the first to enter.  A preempted request enters behind its equals.
- The next request stays so until it is admitted.

Everything else is ``vllm-v1``.  The source counts no kept tokens in the next step of a resumed
request; here they count.  A memory of at most two blocks is refused: the source waits for ever.

The policy is not clairvoyant and uses no prediction.

Guarantee: none is claimed.  It always ends.  Proof: docs/proofs/termination.md (P11).
"""

from bisect import bisect_left, insort

from heuristics.engine_rules import PARAMETERS, EngineRules
from heuristics.policy import Known, RoundPolicy, State

MARGIN, MOST_RESERVED, FIRST = 2, 8, 3


class _BestFit(EngineRules):
    name = "ascend-lpt"

    def __init__(self, known: Known) -> None:
        super().__init__(known)
        self._prompts: list[int] = known.prompts.tolist()
        self._next: int | None = None
        self._places: dict[int, tuple[int, int]] = {}
        #: Those of the first that wait, and how many wait with each prompt, by its first entry.
        self._first: list[int] = []
        self._lengths: dict[int, int] = {}

    def _enter(self, request: int, preempted: bool) -> None:
        del preempted
        if not self._queue:
            self._entries = 0
        self._entries += 1
        prompt = self._prompts[request]
        self._places[request] = place = prompt, self._entries
        insort(self._queue, (place, request))
        self._lengths[prompt] = self._lengths.get(prompt, 0) + 1
        if self._entries <= FIRST:
            self._first.append(request)

    def _leave(self, request: int) -> None:
        del self._queue[bisect_left(self._queue, (self._places[request], request))]
        prompt = self._prompts[request]
        self._lengths[prompt] -= 1
        if not self._lengths[prompt]:
            del self._lengths[prompt]
        self._first = [each for each in self._first if each != request]
        self._next = None

    def _head(self, state: State) -> int | None:
        reserved = self._begins[self._round % self._block] + MARGIN
        for request, tokens in self._chunks:
            after = state.prefilling.get(request, self.cached.get(request, 0)) + tokens
            if left := state.prompts[request] + state.kept(request) - after:
                whole, step = after + left, min(left, self._budget)
                reserved += self._grown(request, after, step, whole)
        room = (self._blocks - self._used - min(reserved, MOST_RESERVED)) * self._block
        if room <= 0:
            if not self._running:
                self._refuse(self._queue[0][1], f"needs more than {MARGIN} blocks")
            return None
        if self._next is None:
            self._next = self._chosen(room)
        return self._next

    def _chosen(self, room: int) -> int:
        if self._first:
            order = list(self._lengths)
            return min(
                self._first, key=lambda i: (order.index(self._prompts[i]), self._places[i][1])
            )
        # The entry after the last of the prompts that fit.
        fitting = bisect_left(self._queue, ((room + 1, 0), 0))
        prompt = self._queue[fitting - 1 if fitting else 0][0][0]
        return self._queue[bisect_left(self._queue, ((prompt, 0), 0))][1]


POLICY = RoundPolicy(
    "ascend-lpt",
    clairvoyant=False,
    blind=True,
    keeps_tokens=True,
    parameters=PARAMETERS,
    rules=_BestFit,
)
