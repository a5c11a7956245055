"""vLLM's V1 scheduler by priority: smaller predicted output first (source of vllm-project/vllm).

The engine with ``--scheduling-policy priority``; the priority of a request is the upper end of its
prediction.  A step is planned as in ``vllm-v1``, except for these rules:

- The queue is in order of priority, arrival, and position as a text ("10" before "9").
- The running request with the largest (priority, arrival) is preempted, of equals the first.  The
  tokens that this step gave it return to the budget.
- If that is the request that needs blocks, those after it pause: they keep their blocks and make no
  token in this step.  A schedule shows two runs; the second finds all tokens of the first.

The policy is not clairvoyant.  The parameters are those of ``vllm-v1`` (``docs/policies.md``).

Guarantee: none is claimed.  It always ends.  Proof: docs/proofs/termination.md (P11).
"""

from __future__ import annotations

from collections import deque

from heuristics.policies.vllm_v1 import PARAMETERS, EngineRules
from heuristics.policy import Known, RoundPolicy, State


class _PriorityRules(EngineRules):
    name = "vllm-priority"

    def __init__(self, known: Known) -> None:
        super().__init__(known)
        rows = zip(known.upper.tolist(), known.arrivals.tolist(), strict=True)
        self._places = [(*row, str(position)) for position, row in enumerate(rows)]
        #: Tokens that each paused request holds.
        self._paused: dict[int, int] = {}
        #: Tokens that this step gives each running request, and what it holds then.
        self._given: dict[int, tuple[int, int]] = {}
        #: Budget left, and whether the step before goes on while this one is planned.
        self._left, self._in_flight = 0, False

    def next_eviction(self, state: State) -> int | None:
        if state.now >= self._round:
            return state.now  # this round is not planned yet
        # A decoding request begins at most one block a round.
        return self._round + (self._blocks - self._used) // max(1, len(state.starts))

    def evict(self, state: State) -> list[int]:
        self._settle(state)
        self._in_flight = self._asynchronous
        self._plan_running(state)
        while self._preempted and not self._given:
            # An empty plan is made again when the step before has ended.
            self._let_go()
            self._in_flight = False
            self._plan_running(state)
        stopped = [i for i in (*state.starts, *state.prefilling) if i not in self._given]
        self._paused |= {i: self._tokens(state, i)[0] for i in stopped if i in self._running}
        return stopped

    def admit(self, state: State) -> list[int]:
        self.cached.clear()
        resumed = [request for request in self._given if request in self._paused]
        for request in resumed:
            self.cached[request] = self._tokens(state, request)[1]
            del self._paused[request]
        self._chunks = [(each, self._given[each][0]) for each in (*resumed, *state.prefilling)]
        self._quiet = not (self._preempted or self._still_held or self._arrived or self._paused)
        self._round = state.now + 1
        admitted = [] if self._preempted else self._admit(state, self._left)
        if not self._given and not admitted:
            self._let_go()
            admitted = self._admit(state, self._left)
        if self._asynchronous:
            self._let_go()
        return resumed + admitted

    def _admit(self, state: State, budget: int) -> list[int]:
        self._queue = deque(sorted(self._queue, key=self._places.__getitem__))
        return super()._admit(state, budget)

    def _settle(self, state: State) -> None:
        self._note_ended(state)
        held = [self._still_held.get(i) or self._tokens(state, i)[0] for i in self._running]
        self._used = sum(map(self._ceil, held))
        self._overwrite()
        if not self._asynchronous:
            self._let_go()

    def _plan_running(self, state: State) -> None:
        """Give the running requests their tokens of this step, in order of admission."""
        self._given.clear()
        self._left, self._preempted = self._budget, False
        for request in list(self._running):
            if request not in self._running or request in self._still_held or not self._left:
                continue  # preempted, its last token in flight, or no budget
            held, before, whole = self._tokens(state, request)
            tokens = min(whole - before, self._longest, self._left)
            after = before + tokens
            if after == whole:
                after += self._ahead[request]
            grown = self._ceil(after) - self._ceil(held)
            while self._used + grown > self._blocks:
                victim = max(self._running, key=lambda each: self._places[each][:2])
                del self._running[victim]
                self._preempt(state, victim)
                if victim == request:
                    if not self._running:
                        self._refuse(request)
                    return
            self._used += grown
            self._given[request] = tokens, after
            self._left -= tokens
            self._overwrite()

    def _preempt(self, state: State, request: int) -> None:
        if request in self._still_held:
            super()._preempt(state, request)
            return
        self._preempted = True
        held, computed, whole = self._tokens(state, request)
        tokens, held = self._given.pop(request, (0, held))
        self._left += tokens
        # A block is full for the engine once it is given, with a token in flight once that is made.
        full = computed + (tokens == 1 and held >= whole)
        if request in state.starts and self._in_flight:
            full -= full > state.prompts[request] + state.kept(request)
        self._free(request, held, full)
        self._paused.pop(request, None)
        self._queue.append(request)

    def _tokens(self, state: State, request: int) -> tuple[int, int, int]:
        """Return the tokens of a running request: held, computed, and all, its output included."""
        made = state.made(request) if request in state.starts else state.kept(request)
        whole = state.prompts[request] + made
        held = self._paused.get(request, whole - 1 + self._ahead[request])
        held = state.prefilling.get(request, held)
        return held, min(held, whole - 1), whole


POLICY = RoundPolicy(
    "vllm-priority",
    clairvoyant=False,
    keeps_tokens=True,
    parameters=PARAMETERS,
    rules=_PriorityRules,
)
