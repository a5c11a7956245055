"""The round-by-round driver: any rules, any clock, with evictions and endless loops found."""

from __future__ import annotations

import heapq
import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol, runtime_checkable

from heuristics.clock import UNIT, Batch, Clock
from heuristics.policy import Rules, State


@runtime_checkable
class EarlyEvictions(Protocol):
    """What rules add that evict although memory suffices: ``evict`` is also called when due."""

    def next_eviction(self, state: State) -> int | None:
        """Return the round of the next planned eviction, None if none is planned.

        In a round at or after it the simulator calls ``evict``, which may return nothing then.
        It is asked in every round before evictions and again after admissions.
        """


class EndlessLoopError(Exception):
    """A policy came back to a state it had been in, so it would never finish."""

    def __init__(self, policy: str, round_of_repeat: int, finished: int, n: int) -> None:
        super().__init__(
            f"policy {policy} loops for ever: at round {round_of_repeat} it is in a state that it "
            f"had been in before, with {finished} of {n} requests finished and no arrival to come"
        )
        self.round_of_repeat = round_of_repeat


class PolicyError(Exception):
    """A policy decided something that cannot be done: a bug in the policy."""


@dataclass(frozen=True)
class Segment:
    """A run without interruption: it makes tokens ``first``..``last`` of a request's output.

    The first of them is held one round after ``start``.  ``first`` is 1 unless the request kept
    tokens when it was preempted.
    """

    start: int
    first: int
    last: int


@dataclass
class Trace:
    """What happened: segments of each request, and when it completed.

    ``completions`` and ``begins`` are on the clock: seconds, or rounds under the unit clock;
    ``rounds`` is the number of rounds that were run.
    """

    segments: list[list[Segment]]
    completions: list[float]
    begins: list[float]
    rounds: int = 0


@dataclass
class _State:
    """The worker as the rules see it (the protocol ``State``)."""

    memory: int
    prompts: Sequence[int]
    now: int = 0
    starts: dict[int, int] = field(default_factory=dict)
    tokens_next: int = 0
    kept_tokens: dict[int, int] = field(default_factory=dict)

    def made(self, request: int) -> int:
        return self.now - self.starts[request] + self.kept_tokens.get(request, 0)

    def kept(self, request: int) -> int:
        return self.kept_tokens.get(request, 0)


def drive(
    name: str,
    rules: Rules,
    arrivals: Sequence[float],
    prompts: Sequence[int],
    outputs: Sequence[int],
    memory: int,
    *,
    clock: Clock = UNIT,
    keeps_tokens: bool = False,
) -> Trace:
    """Run rules until every request is complete.

    Parameters
    ----------
    arrivals
        When each request arrives, on the clock; it is visible to the first round that begins at
        or after its arrival.
    prompts, outputs
        Tokens; the rules learn an output when its request completes.
    keeps_tokens
        Whether an evicted request keeps the tokens it has made.

    Raises
    ------
    EndlessLoopError
        If the rules come back to an earlier state after the last arrival.
    PolicyError
        If the rules start what does not wait, evict what does not run or nothing although memory
        is exceeded, exceed the memory, or start nothing although nothing runs or is to come.
    """
    run = _Run(name, rules, arrivals, prompts, outputs, memory, clock, keeps_tokens)
    while run.unfinished:
        run.one_round()
    return run.trace


class _Run:
    def __init__(
        self,
        name: str,
        rules: Rules,
        arrivals: Sequence[float],
        prompts: Sequence[int],
        outputs: Sequence[int],
        memory: int,
        clock: Clock,
        keeps_tokens: bool,
    ) -> None:
        n = len(outputs)
        self.name = name
        self.rules = rules
        self.outputs = outputs
        self.clock = clock
        self.keeps_tokens = keeps_tokens
        self.trace = Trace([[] for _ in range(n)], [0.0] * n, [0.0] * n)
        self.unfinished = n
        self._n = n
        self._early = rules if isinstance(rules, EarlyEvictions) else None
        self._state = _State(memory, prompts)
        self._time: float = 0
        self._waiting: set[int] = set()
        self._to_come = sorted(range(n), key=lambda i: (arrivals[i], i), reverse=True)
        self._arrivals = arrivals
        self._completions: list[tuple[int, int, int]] = []
        self._begun: list[int] = []
        self._seen: set[object] = set()

    def one_round(self) -> None:
        """Decide one round and run it, together with the rounds in which nothing can change."""
        state = self._state
        if not state.starts and not self._waiting:
            # An empty worker runs no rounds: under the unit clock rounds and time are the same.
            self._skip_to_next_arrival()
            if self.clock == UNIT:
                self._time = state.now = math.ceil(self._time)
        self._complete()
        while self._to_come and self._arrivals[self._to_come[-1]] <= self._time:
            request = self._to_come.pop()
            self._waiting.add(request)
            self.rules.arrive(request)
        if not self.unfinished:
            return
        self._evict()
        self._admit()
        self._advance()

    def _skip_to_next_arrival(self) -> None:
        if not self._to_come:
            raise PolicyError(f"{self.name} starts nothing although nothing runs")
        self._time = max(self._time, self._arrivals[self._to_come[-1]])

    def _complete(self) -> None:
        state = self._state
        while self._completions and self._completions[0][0] <= state.now:
            _, request, start = heapq.heappop(self._completions)
            if state.starts.get(request) != start:
                continue  # evicted since
            kept = state.kept(request)
            state.tokens_next -= state.prompts[request] + self.outputs[request] + 1
            self.trace.segments[request].append(Segment(start, kept + 1, self.outputs[request]))
            self.trace.completions[request] = self._time
            del state.starts[request]
            self.unfinished -= 1
            self._seen.clear()  # no earlier state can come back
            self.rules.finish(request, self.outputs[request])

    def _evict(self) -> None:
        state = self._state
        due = self._next_eviction()
        early = due is not None and due <= state.now
        if state.tokens_next <= state.memory and not early:
            return
        if not self._to_come:
            self._refuse_repeat()
        while state.tokens_next > state.memory or early:
            early = False
            evicted = self.rules.evict(state)
            if not evicted and state.tokens_next > state.memory:
                raise PolicyError(
                    f"{self.name} evicts nothing although {state.tokens_next} tokens would be held "
                    f"at time {state.now + 1}, memory is {state.memory}"
                )
            for request in evicted:
                if request not in state.starts:
                    raise PolicyError(f"{self.name} evicts request {request}, which does not run")
                made = state.made(request)
                start = state.starts.pop(request)
                state.tokens_next -= state.prompts[request] + made + 1
                if made > state.kept(request):
                    segment = Segment(start, state.kept(request) + 1, made)
                    self.trace.segments[request].append(segment)
                if self.keeps_tokens:
                    state.kept_tokens[request] = made
                self._waiting.add(request)

    def _next_eviction(self) -> int | None:
        """Return the round of the next eviction that the rules plan, memory exceeded or not."""
        return None if self._early is None else self._early.next_eviction(self._state)

    def _refuse_repeat(self) -> None:
        """Compare the whole state with all earlier ones; equal states prove an endless loop."""
        own = self.rules.fingerprint()
        if own is None:
            return
        state = self._state
        active = tuple((request, state.made(request)) for request in state.starts)
        kept = tuple(sorted(state.kept_tokens.items()))
        fingerprint = (own, active, kept, self.unfinished)
        if fingerprint in self._seen:
            raise EndlessLoopError(self.name, state.now, self._n - self.unfinished, self._n)
        self._seen.add(fingerprint)

    def _admit(self) -> None:
        state = self._state
        for request in self.rules.admit(state):
            if request not in self._waiting:
                raise PolicyError(f"{self.name} starts request {request}, which does not wait")
            self._waiting.remove(request)
            kept = state.kept(request)
            state.starts[request] = state.now
            state.tokens_next += state.prompts[request] + kept + 1
            end = state.now + self.outputs[request] - kept
            heapq.heappush(self._completions, (end, request, state.now))
            self.trace.begins[request] = self._time
            self._begun.append(request)
        if state.tokens_next > state.memory:
            raise PolicyError(f"{self.name} exceeds the memory at time {state.now + 1}")

    def _advance(self) -> None:
        state = self._state
        if self.clock == UNIT:
            steps = self._quiet_rounds()
            self._time += steps
        elif state.starts:
            steps = 1
            prefills = tuple(state.prompts[i] + state.kept(i) for i in self._begun)
            batch = Batch(prefills, len(state.starts) - len(prefills), state.tokens_next)
            self._time += self.clock.seconds(batch)
        else:
            # Requests wait, none runs, and nothing was admitted: only an arrival can help.
            steps = 0
            self._skip_to_next_arrival()
        state.now += steps
        state.tokens_next += steps * len(state.starts)
        if state.starts:
            self.trace.rounds += steps
        self._begun.clear()

    def _quiet_rounds(self) -> int:
        """Return how many rounds pass before anything can change; at least one."""
        state = self._state
        if not state.starts:
            if not self._to_come:
                raise PolicyError(f"{self.name} starts nothing although nothing runs")
            return math.ceil(self._arrivals[self._to_come[-1]]) - state.now
        if self._waiting and not self.rules.quiet():
            return 1
        # From now on every round adds a token for each active request: when is M exceeded?
        steps = (state.memory - state.tokens_next) // len(state.starts) + 1
        if self._to_come:
            steps = min(steps, math.ceil(self._arrivals[self._to_come[-1]]) - state.now)
        due = self._next_eviction()
        if due is not None:
            steps = min(steps, due - state.now)
        while state.starts.get(self._completions[0][1]) != self._completions[0][2]:
            heapq.heappop(self._completions)
        return max(1, min(steps, self._completions[0][0] - state.now))
