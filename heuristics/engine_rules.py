"""vLLM's scheduler: block accounting, chunks, prefix caching, asynchronous steps, limits.

``heuristics/policies/vllm_v1.py`` has the rules.  Policies next to it change the queue's order, or
with ``heuristics/engine_plan.py`` the choice of the victim.
"""

from collections import OrderedDict
from heapq import heappop, heappush
from typing import Any

from heuristics.arrival_queue import exact_fraction
from heuristics.policy import Choice, Known, NotApplicableError, Parameter, Rules, State
from instances.batch_time import EngineLimits

_A100 = EngineLimits()
_BUDGET = (
    f"tokens that one round may process (0: the engine's on the GPU of the batch time; on an A100 "
    f"{_A100.server} with chunks, {_A100.offline} without)"
)
_RUNNING = f"most requests that run at a time (0: the engine's there; on an A100 {_A100.running})"
#: Parameters of every policy on these rules.
PARAMETERS = (
    Parameter("block", 0, 0, 4096, "tokens of a block (0: the engine's 16, 1 in tokens)", True),
    Parameter("budget", 0, 0, 1e9, _BUDGET, True),
    Parameter("running", 0, 0, 1e9, _RUNNING, True),
    Parameter("watermark", 0.0, 0.0, 0.9, "share of blocks kept free at admission"),
    Parameter("long_prefill", 0, 0, 1e9, "most tokens of a prompt a round (0: all)", True),
    Choice("chunk", ("auto", "yes", "no"), "prompts are cut at the budget (auto: in seconds)"),
    Choice("accounting", ("auto", "engine", "tokens"), "of memory (auto: engine in seconds)"),
    Choice("asynchronous", ("auto", "yes", "no"), "plans a step ahead (auto: in seconds)"),
    Choice("resume", ("recomputed", "cached"), "prefix caching of a preempted request"),
)
#: Blocks whose tokens are remembered, at most.
MOST_CACHED = 10**7
#: More than any prompt.
_ALL = 1 << 60


class EngineRules(Rules):
    """The plan of each step.

    A request that decodes begins one block of B tokens in every B rounds.  So the blocks in use
    follow from how many requests begin one in the rounds 0..B − 1 modulo B.
    """

    name = "vllm-v1"

    def __init__(self, known: Known) -> None:
        values, limits = known.values, known.batch_time.engine_limits

        def chosen(name: str, word: str = "yes") -> bool:
            # In rounds a tick is a round.
            return bool(values[name] == word or (values[name] == "auto" and known.ticks > 1))

        self.engine_accounting = engine = chosen("accounting", "engine")
        self._asynchronous, self._cut = chosen("asynchronous"), chosen("chunk")
        self._caches = values["resume"] == "cached"
        self._block = values["block"] or (16 if engine else 1)
        # Without chunks the engine's budget is at least the longest sequence, which M bounds.
        whole = max(limits.offline, known.memory)
        self._budget = values["budget"] or (limits.server if self._cut else whole)
        self._most = values["running"] or limits.running
        self._long_prefill = values["long_prefill"]
        self.cuts_prompts = known.ticks > 1 or values["chunk"] == "yes" or self._long_prefill > 0
        self._plain = self._block == 1 and not engine and not self._asynchronous
        self._longest = _ALL
        blocks = known.memory // self._block
        self._reserve = int(exact_fraction(values["watermark"]) * blocks)
        self._blocks = max(0, blocks - engine)  # less the null block
        if self._caches and blocks > MOST_CACHED:
            raise NotApplicableError(
                f"{self.name}: resume=cached keeps each free block, expected at most "
                f"{MOST_CACHED:,} blocks, found {blocks:,}; a larger block makes fewer"
            )
        #: Free blocks that still hold a full block of a request, the next to be taken first.
        self._free_blocks: OrderedDict[tuple[int, int], None] = OrderedDict()
        #: Tokens that the requests admitted in this round find there.
        self.cached: dict[int, int] = {}
        #: Tokens held when the prompt is computed, beyond it: the first output token's slot.
        self._ahead = [int(not (engine and prompt)) for prompt in known.prompts]
        self._arrived: list[int] = []
        #: A heap of places and requests.
        self._queue: list[tuple[tuple[Any, ...], int]] = []
        self._entries = 0
        #: In order of admission, with those that have ended and still hold their blocks.
        self._running: dict[int, None] = {}
        self._ended: list[tuple[int, int]] = []
        self._still_held: dict[int, int] = {}
        #: Blocks in use when round ``_round`` begins, and the next to be planned.
        self._used = self._round = 0
        self._begins = [0] * self._block
        self._chunks: list[tuple[int, int]] = []
        self._preempted = self._quiet = False

    def arrive(self, request: int) -> None:
        self._arrived.append(request)

    def finish(self, request: int, output: int) -> None:
        self._ended.append((request, output))

    def next_eviction(self, state: State) -> int | None:
        if self._plain and not state.prefilling:
            return None  # the simulator counts the same
        self._settle(state)
        free = self._blocks - self._used
        if self._growth(state) > free:
            return self._round
        if not (decoding := len(state.starts)):
            return None
        round_ = self._round + free // decoding * self._block
        free %= decoding
        while free >= (grown := self._begins[round_ % self._block]):
            free -= grown
            round_ += 1
        return round_

    def evict(self, state: State) -> list[int]:
        preempted = []
        self._settle(state)
        while self._used + self._growth(state) > self._blocks:
            if self._caches:
                self._overwrite(self._taken(state))
            request, _ = self._running.popitem()
            self._preempt(state, request)
            if request in state.starts or request in state.prefilling:
                if not self._running:
                    self._refuse(request)
                self._enter(request, True)
                preempted.append(request)
        return preempted

    def admit(self, state: State) -> list[int]:
        self._settle(state)
        self._used += self._begins[state.now % self._block]
        self._chunks = []
        budget = self._budget - len(state.starts)
        self._round = state.now + 1
        self.cached.clear()
        for request, before, tokens, whole in self._prefills(state) if state.prefilling else ():
            self._used += self._grown(request, before, tokens, whole)
            if before + tokens == whole:
                self._count_decoding(whole + self._ahead[request], 1)
            self._chunks.append((request, tokens))
            budget -= tokens
        if self._caches:
            self._overwrite()
        self._quiet = not (self._preempted or self._still_held or self._arrived)
        admitted = [] if self._preempted else self._admit(state, budget)
        if not state.starts and not self._chunks:
            # An empty plan is made again when the step before has ended.
            self._let_go()
            admitted = self._admit(state, budget)
        if self._asynchronous:
            self._let_go()
        self._preempted = False
        return admitted

    def chunks(self, state: State) -> list[tuple[int, int]]:
        del state
        return self._chunks

    def quiet(self) -> bool:
        # Blocks in use only grow until something ends; the budget is new in every round.
        return self._quiet

    def _settle(self, state: State) -> None:
        """Count the new blocks since the last plan, and the requests that have ended."""
        if state.now < self._round:
            return
        passed = state.now - self._round
        if passed >= self._block:
            self._used += passed // self._block * sum(self._begins)
        for round_ in range(state.now - passed % self._block, state.now):
            self._used += self._begins[round_ % self._block]
        self._round = state.now
        if self._caches:
            self._overwrite()
        self._note_ended(state)
        if not self._asynchronous:
            self._let_go()

    def _note_ended(self, state: State) -> None:
        if self._caches:
            self._ended.sort(key=lambda each: list(self._running).index(each[0]))
        for request, output in self._ended:
            held = state.prompts[request] + output - 1 + self._ahead[request]
            self._count_decoding(held, -1)
            self._still_held[request] = held
        self._ended.clear()

    def _let_go(self) -> None:
        """Free what has ended, and let what has arrived wait."""
        if self._still_held:
            for request, held in self._still_held.items():
                del self._running[request]
                self._free(request, held, held - self._ahead[request])
            self._still_held.clear()
        if self._arrived:
            for request in self._arrived:
                self._enter(request, False)
            self._arrived.clear()
        if self._long_prefill:
            alone = len(self._running) + len(self._queue) <= 1
            self._longest = _ALL if alone else self._long_prefill

    def _growth(self, state: State) -> int:
        """Return the blocks that the running requests begin in the next round."""
        growth = self._begins[self._round % self._block]
        if state.prefilling:
            growth += sum(self._grown(*prefill) for prefill in self._prefills(state))
        return growth

    def _prefills(self, state: State) -> list[tuple[int, int, int, int]]:
        """Return each prompt on its way: request, tokens before, in this round, and in the end."""
        # What decoding leaves of the budget cuts the last only: none takes more than before.
        left = self._budget - len(state.starts)
        found = []
        for request, before in state.prefilling.items():
            if request in self._running:
                whole = state.prompts[request] + state.kept(request)
                tokens = min(whole - before, self._longest, left)
                found.append((request, before, tokens, whole))
                left -= tokens
        return found

    def _taken(self, state: State) -> int:
        """Return the blocks that the running requests take in order, before none is left."""
        free, taken = self._blocks - self._used, 0
        grown = {each[0]: self._grown(*each) for each in self._prefills(state)}
        for request in self._running:
            if request in state.starts:
                grown[request] = int(self._held(state, request) % self._block == 0)
            if taken + grown.get(request, 0) > free:
                break
            taken += grown.get(request, 0)
        return taken

    def _held(self, state: State, request: int) -> int:
        """Return the tokens that a decoding request holds when the round begins."""
        return state.prompts[request] + state.made(request) - 1 + self._ahead[request]

    def _preempt(self, state: State, request: int) -> None:
        """Free the blocks of a request that runs, or that ends in the step before."""
        self._preempted = True
        if request in state.prefilling:
            computed = state.prefilling[request]
            self._free(request, computed, computed)
            return
        if (held := self._still_held.pop(request, 0)) == 0:
            held = self._held(state, request)
            self._count_decoding(held, -1)
        computed = held - self._ahead[request]
        # What the token in flight fills counts as full once it is there; a prompt does at once.
        in_flight = self._asynchronous and computed > state.prompts[request] + state.kept(request)
        self._free(request, held, computed - in_flight)

    def _free(self, request: int, held: int, full: int) -> None:
        """Free the blocks of a request, the last first; full ones keep their tokens for a time."""
        self._used -= self._ceil(held)
        if self._caches:
            for number in reversed(range(full // self._block)):
                self._free_blocks[request, number] = None

    def _overwrite(self, taken: int = 0) -> None:
        """Forget the tokens of the oldest free blocks, which were taken after all others."""
        while len(self._free_blocks) > self._blocks - self._used - taken:
            self._free_blocks.popitem(last=False)

    def _find(self, request: int, whole: int) -> int:
        """Return how many tokens of a request are in free blocks, less than all."""
        number = 0
        while number < (whole - 1) // self._block and (request, number) in self._free_blocks:
            number += 1
        return number * self._block

    def _admit(self, state: State, budget: int) -> list[int]:
        admitted: list[int] = []
        while self._queue and len(self._running) < self._most:
            if budget <= 0:  # the engine looks at no request then
                self._quiet = False
                break
            request = self._head(state)
            if request is None:
                break
            whole = state.prompts[request] + state.kept(request)
            found = self._find(request, whole) if self._caches else 0
            tokens = whole - found
            if tokens > self._longest:
                tokens = self._longest
            # An empty prompt still takes a token, so that no more run than the budget can serve.
            if budget < (1 if self._cut else max(1, tokens)):
                if whole > self._budget and not self._cut:
                    self._refuse(request, f"needs a budget of {whole} tokens, without chunks")
                self._quiet = False
                break
            needed = -(-(whole + self._ahead[request]) // self._block)
            free = self._blocks - self._used - (self._reserve if self._running else 0)
            if needed > free:
                if not self._running:
                    self._refuse(request)
                break
            tokens = min(tokens, budget)
            if found + tokens < whole:
                needed = self._ceil(found + tokens)
            else:
                self._count_decoding(whole + self._ahead[request], 1)
            self._used += needed
            if found:
                self.cached[request] = found
            if self._caches:
                for number in range(found // self._block):
                    del self._free_blocks[request, number]
                self._overwrite()
            budget -= tokens or 1
            self._running[request] = None
            self._chunks.append((request, tokens))
            self._leave(request)
            admitted.append(request)
        return admitted

    def _enter(self, request: int, preempted: bool) -> None:
        """Let a request wait."""
        self._entries += 1
        heappush(self._queue, (self._place(request, preempted), request))

    def _place(self, request: int, preempted: bool) -> tuple[Any, ...]:
        """Return the place in the queue, smallest first, of the request that enters it now."""
        del request
        return (0, -self._entries) if preempted else (1, self._entries)

    def _head(self, state: State) -> int | None:
        """Return the next request to be admitted, or None for nobody in this round."""
        del state
        return self._queue[0][1]

    def _leave(self, request: int) -> None:
        """Take the head from the queue."""
        del request
        heappop(self._queue)

    def _count_decoding(self, held: int, change: int) -> None:
        """Count a decoding request, which holds so many tokens when round ``_round`` begins."""
        self._begins[(self._round - held) % self._block] += change

    def _grown(self, request: int, before: int, tokens: int, whole: int) -> int:
        """Return the blocks that a request begins with tokens of its prompt."""
        after = before + tokens
        if after == whole:
            after += self._ahead[request]
        return -(-after // self._block) + -before // self._block

    def _ceil(self, tokens: int) -> int:
        return -(-tokens // self._block)

    def _refuse(self, request: int, needs: str = "") -> None:
        null = " (one more is the null block)" if self.engine_accounting else ""
        blocks = f"more than the {self._blocks} blocks of {self._block} tokens{null}"
        raise NotApplicableError(
            f"{self.name}: the request at position {request} "
            f"{needs or f'alone needs {blocks}; use a smaller block'}"
        )
