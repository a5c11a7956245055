"""vLLM's V1 scheduler: arrival order, preempts the last admitted (source of vllm-project/vllm).

Read in ``vllm/v1/core/sched/scheduler.py`` (versions of 2025 and 2026) and put into rounds:

- The running requests are served first, in order of admission, one token each.  If their blocks
  do not suffice for the next time, the last of them is preempted, and so on until the rest fits.
  A preempted request frees all its memory, goes to the head of the queue and keeps its output
  tokens, which are prefilled again together with its prompt.
- Only in a round without a preemption, requests are admitted from the head of the queue: as long
  as fewer than ``running`` run, the round's token ``budget`` lasts (each running request takes
  one token of it, each new one its prompt and what it kept), and the blocks for the prompt, what
  it kept and the first token are free.  Nothing is reserved for the rest of the output.  The
  first that does not fit ends the round.

It is not clairvoyant and uses no prediction.  ``docs/policies.md`` has its parameters, what differs
from the engine, and how prompts are cut into chunks.

Guarantee: none is claimed.  It always ends.  With ``block`` > 1 a request may fit into M tokens and
not into the blocks; then the policy says that it cannot serve the instance.

Proof that it ends: docs/proofs/termination.md (P11).

Reference: ``heuristics/reference/vllm_v1.py``.
"""

from __future__ import annotations

from collections import deque

from heuristics.policy import (
    Choice,
    Known,
    NotApplicableError,
    Parameter,
    RoundPolicy,
    Rules,
    State,
)
from heuristics.queues import exact
from instances.deployments import engine_limits

_A100 = engine_limits("")
_BUDGET = (
    f"tokens that one round may process (0: the engine's on the GPU of the batch time; on an A100 "
    f"{_A100.server} with chunks, {_A100.offline} without)"
)
_RUNNING = f"most requests that run at a time (0: the engine's there; on an A100 {_A100.running})"


class _BlockRules:
    def __init__(
        self, known: Known, block: int, budget: int, running: int, watermark: float
    ) -> None:
        self._block = block
        self._blocks = known.memory // block
        self._budget = budget
        self._running = running
        self._reserve = int(exact(watermark) * self._blocks)
        self._queue: deque[int] = deque()
        self._preempted = False
        self._quiet = False

    def arrive(self, request: int) -> None:
        self._queue.append(request)

    def finish(self, request: int, output: int) -> None:
        del request, output

    def evict(self, state: State) -> list[int]:
        used = self._used_next(state)
        running = [*state.starts, *state.prefilling]
        preempted = []
        while used > self._blocks:
            request = running.pop()
            used -= self._ceil(self._tokens_next(state, request))
            if not running:
                self._refuse(request)
            self._queue.appendleft(request)
            preempted.append(request)
        self._preempted = bool(preempted)
        return preempted

    def admit(self, state: State) -> list[int]:
        if self._preempted:
            self._preempted = self._quiet = False
            return []
        self._quiet = True
        admitted: list[int] = []
        running = len(state.starts)
        if not self._queue or running >= self._running:
            return admitted
        budget = self._budget - running
        free = self._blocks - self._used_next(state)
        while self._queue and running < self._running:
            request = self._queue[0]
            tokens = state.prompts[request] + state.kept(request)
            # An empty prompt still takes a token, so that no more run than the budget can serve.
            cost = max(1, tokens)
            if budget < 1 or (admitted and cost > budget):
                self._quiet = False
                break
            needed = self._ceil(tokens + 1)
            if needed > free - (self._reserve if running else 0):
                if not running:
                    self._refuse(request)
                break
            budget -= cost
            free -= needed
            running += 1
            admitted.append(self._queue.popleft())
        return admitted

    def next_eviction(self, state: State) -> int | None:
        # Blocks may run out while tokens do not, unless a block is a token.
        if self._block == 1 or not state.starts:
            return None
        free = self._blocks - self._used_next(state)
        if free < 0:
            return state.now
        # In as many rounds as a block has tokens, each request begins at most one block.
        return state.now + free // len(state.starts) * self._block + 1

    def quiet(self) -> bool:
        # Blocks in use only grow until something ends; the budget is new in every round.
        return self._quiet

    def fingerprint(self) -> object:
        return None

    def _ceil(self, tokens: int) -> int:
        return -(-tokens // self._block)

    def _tokens_next(self, state: State, request: int) -> int:
        """Return what an active request holds at the next time, without a chunk of this round."""
        if request in state.prefilling:
            return state.prefilling[request]
        return state.prompts[request] + state.made(request) + 1

    def _used_next(self, state: State) -> int:
        if self._block == 1:
            return state.tokens_next
        active = (*state.starts, *state.prefilling)
        return sum(self._ceil(self._tokens_next(state, request)) for request in active)

    def _refuse(self, request: int) -> None:
        raise NotApplicableError(
            f"vllm-v1: the request at position {request} alone needs more than the {self._blocks} "
            f"blocks of {self._block} tokens; use a smaller block"
        )


class _ChunkRules(_BlockRules):
    """The same with prompts that are cut where the budget ends."""

    _cut: list[tuple[int, int]]

    def evict(self, state: State) -> list[int]:
        preempted = super().evict(state)
        for request in state.prefilling:
            if not preempted and self._growth(state, request) > self._blocks - self._used_next(
                state
            ):
                if not state.starts:
                    self._refuse(request)
                self._queue.appendleft(request)
                preempted.append(request)
                self._preempted = True
        return preempted

    def admit(self, state: State) -> list[int]:
        self._cut = []
        if self._preempted:
            # The last to be admitted is the first to be preempted: no prompt is on its way.
            self._preempted = self._quiet = False
            return []
        admitted: list[int] = []
        running = len(state.starts) + len(state.prefilling)
        budget = self._budget - len(state.starts)
        free = self._blocks - self._used_next(state)
        for request in state.prefilling:
            tokens = self._next_chunk(state, request)
            free -= self._growth(state, request)
            budget -= tokens
            self._cut.append((request, tokens))
        while self._queue and running < self._running and budget >= 1:
            request = self._queue[0]
            whole = state.prompts[request] + state.kept(request)
            if self._ceil(whole + 1) > free - (self._reserve if running else 0):
                if not running:
                    self._refuse(request)
                break
            tokens = min(whole, budget)
            free -= self._ceil(tokens + (tokens == whole))
            budget -= max(1, tokens)
            running += 1
            self._cut.append((request, tokens))
            admitted.append(self._queue.popleft())
        self._quiet = budget >= 1 or running >= self._running
        return admitted

    def chunks(self, state: State) -> list[tuple[int, int]]:
        del state
        return self._cut

    def next_eviction(self, state: State) -> int | None:
        for request in state.prefilling:
            if self._growth(state, request) > self._blocks - self._used_next(state):
                return state.now
        return super().next_eviction(state)

    def _next_chunk(self, state: State, request: int) -> int:
        """Return the tokens that a prompt on its way gets: what decoding leaves of the budget."""
        whole = state.prompts[request] + state.kept(request)
        return min(whole - state.prefilling[request], self._budget - len(state.starts))

    def _growth(self, state: State, request: int) -> int:
        """Return the blocks that its chunk needs, its first token included if it is the last."""
        before = state.prefilling[request]
        after = before + self._next_chunk(state, request)
        whole = state.prompts[request] + state.kept(request)
        return self._ceil(after + (after == whole)) - self._ceil(before)


def rules(known: Known) -> Rules:
    """Return the rules of one run."""
    values = dict(known.values)
    chunk = values.pop("chunk")
    # In rounds a tick is a round.
    cut = known.ticks > 1 if chunk == "auto" else chunk == "yes"
    limits = engine_limits(known.batch_time.gpu)
    values["budget"] = values["budget"] or (limits.server if cut else limits.offline)
    values["running"] = values["running"] or limits.running
    return (_ChunkRules if cut else _BlockRules)(known, **values)


POLICY = RoundPolicy(
    "vllm-v1",
    clairvoyant=False,
    blind=True,
    keeps_tokens=True,
    parameters=(
        Parameter("block", 1, 1, 4096, "tokens of a block of memory (the engine: 16)", True),
        Parameter("budget", 0, 0, 1e9, _BUDGET, True),
        Parameter("running", 0, 0, 1e9, _RUNNING, True),
        Parameter("watermark", 0.0, 0.0, 0.9, "share of blocks kept free at admission"),
        Choice("chunk", ("auto", "yes", "no"), "prompts are cut at the budget (auto: in seconds)"),
    ),
    rules=rules,
)
