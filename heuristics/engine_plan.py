"""vLLM's scheduler with a chosen victim: each step gives the running requests tokens one by one.

Where a request lacks blocks, a victim is preempted until it fits.  The tokens that this step gave
the victim return to the budget.  If the victim is the request itself, those after it pause: they
keep their blocks and make no token in this step.  A schedule shows two runs of a paused request;
the second finds all tokens of the first.
"""

from heuristics.engine_rules import EngineRules
from heuristics.policy import Known, State


class EnginePlan(EngineRules):
    """The plan of each step, made from scratch; a policy chooses the victim."""

    def __init__(self, known: Known) -> None:
        super().__init__(known)
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

    def victim(self, state: State, request: int) -> int:
        """Return the running request to preempt, as this one needs blocks."""
        raise NotImplementedError

    def _settle(self, state: State) -> None:
        self._note_ended(state)
        self._used = sum(self._ceil(self._tokens(state, i)[0]) for i in self._running)
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
                victim = self.victim(state, request)
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
        self._enter(request, True)

    def _tokens(self, state: State, request: int) -> tuple[int, int, int]:
        """Return the tokens of a running request: held, computed, and all, its output included."""
        if held := self._still_held.get(request, 0):
            return held, held - self._ahead[request], held
        made = state.made(request) if request in state.starts else state.kept(request)
        whole = state.prompts[request] + made
        held = self._paused.get(request, whole - 1 + self._ahead[request])
        held = state.prefilling.get(request, held)
        return held, min(held, whole - 1), whole


class SparingPlan(EnginePlan):
    """The victim is the running request with the smallest key, of equals the latest admitted.

    The request that needs blocks is spared unless it is alone.
    """

    def keeping(self, state: State, request: int) -> int:
        """Return the key of a running request."""
        raise NotImplementedError

    def victim(self, state: State, request: int) -> int:
        others = [each for each in reversed(self._running) if each != request]
        return min(others or [request], key=lambda each: self.keeping(state, each))
