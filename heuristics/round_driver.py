"""The round-by-round driver: any rules, unit rounds or real time, evictions, endless loops found.

In real time (integer nanoseconds) the worker runs rounds 0, 1, 2, ..., each with a batch that is
not empty; a round takes what the batch-time model gives its batch, and the next begins when it
ends, or later where nothing could run.  In unit rounds each takes 1, and rounds of an empty worker
count, so that round t begins at time t.
"""

import heapq
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from heuristics.equal_rounds import pass_rounds
from heuristics.policy import UNIT_ROUND, NotApplicableError, Rules
from instances.batch_time import BatchTime

#: Later than all times.
_NO_LIMIT = 1 << 200


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


class UninterruptedRun(NamedTuple):
    """A run without interruption: it makes tokens ``first``..``last`` of a request's output.

    The first of them is held one round after ``start``; it is 1 unless tokens were kept.  A run
    cancelled between chunks has ``last`` = ``first`` − 1, and ``start`` is its last chunk's round.
    """

    start: int
    first: int
    last: int
    #: Lengths of the chunks (tokens) under rules that cut prompts, the last in round ``start``.
    chunks: tuple[int, ...] = ()
    #: Tokens that it did not compute again.
    cached: int = 0


@dataclass
class RoundTrace:
    """Trace of a run: segments of each request, and its completion."""

    segments: list[list[UninterruptedRun]]
    #: When each request completed, and when its last run began: rounds, or nanoseconds.
    completions: list[int]
    begins: list[int]
    #: In real time (round, nanoseconds) of each round that begins after the one before has ended.
    gaps: list[tuple[int, int]] = field(default_factory=list)


@dataclass
class _State:
    """The worker as the rules see it (the protocol ``State``)."""

    memory: int
    prompts: Sequence[int]
    predicted: Callable[[int, int], int] | None = None
    now: int = 0
    time: int = 0
    starts: dict[int, int] = field(default_factory=dict)
    tokens_next: int = 0
    kept_tokens: dict[int, int] = field(default_factory=dict)
    prefilling: dict[int, int] = field(default_factory=dict)

    def made(self, request: int) -> int:
        return self.now - self.starts[request] + self.kept_tokens.get(request, 0)

    def kept(self, request: int) -> int:
        return self.kept_tokens.get(request, 0)

    def estimate(self, request: int) -> int:
        assert self.predicted is not None
        made = self.made(request) if request in self.starts else self.kept(request)
        return self.predicted(request, made)

    @property
    def active(self) -> bool:
        return bool(self.starts or self.prefilling)


def drive(
    name: str,
    rules: Rules,
    arrivals: Sequence[int],
    prompts: Sequence[int],
    outputs: Sequence[int],
    memory: int,
    *,
    batch_time: BatchTime | None = None,
    keeps_tokens: bool = False,
    estimate: Callable[[int, int], int] | None = None,
) -> RoundTrace:
    """Run rules until every request is complete.

    The arrivals are rounds, or nanoseconds with a batch time; a request is visible to the first
    round that begins at or after its arrival.  With ``keeps_tokens`` an evicted request keeps the
    tokens that it has made.  ``estimate`` is :meth:`heuristics.policy.Forecast.estimate`, for rules
    that ask.  It raises EndlessLoopError if the rules come back to an earlier state
    after the last arrival, PolicyError if they decide what cannot be done, NotApplicableError if
    they cut prompts or stall in unit rounds.
    """
    if batch_time is None and (rules.cuts_prompts or rules.stalls):
        raise NotApplicableError(
            f"{name}: chunks of prompts and stalled rounds have no place in unit rounds; "
            "expected arrivals in seconds"
        )
    state = _State(memory, prompts, estimate)
    run = _Run(name, rules, arrivals, outputs, state, keeps_tokens, batch_time or UNIT_ROUND)
    while run.unfinished:
        run.one_round()
    return run.trace


@dataclass
class _Run:
    """A run; time is the sum of what the batches take, and of the gaps between rounds."""

    name: str
    rules: Rules
    arrivals: Sequence[int]
    outputs: Sequence[int]
    state: _State
    keeps_tokens: bool
    batch_time: BatchTime

    def __post_init__(self) -> None:
        n = len(self.outputs)
        self.trace = RoundTrace([[] for _ in range(n)], [0] * n, [0] * n)
        self.unfinished = n
        self.time = self._ended = 0
        self.waiting: set[int] = set()
        self._to_come = sorted(range(n), key=lambda i: (self.arrivals[i], i), reverse=True)
        self._completions: list[tuple[int, int, int]] = []
        #: Prefills of this round: tokens computed before, and tokens of this round.
        self.prefills: list[tuple[int, int]] = []
        #: Requests that make a token after their first in this round, and what they hold (tokens).
        self.decoding = self.read = 0
        self._chunks: dict[int, list[int]] = {}
        self._cached: dict[int, int] = {}
        self._seen: set[object] = set()

    def one_round(self) -> None:
        """Run one round, and those after it in which nothing can change."""
        if not self.state.active and not self.waiting:
            self.skip_to_next_arrival()
        self._complete()
        while self._to_come and self.arrivals[self._to_come[-1]] <= self.time:
            request = self._to_come.pop()
            self.waiting.add(request)
            self.rules.arrive(request)
        if not self.unfinished:
            return
        self.state.time = self.time
        self._evict()
        if self.state.tokens_next > self.state.memory:
            # The rules stall: time passes without progress.
            self.time += self.batch_time.time_of(0, 0, 0, 0)
            return
        self._admit()
        self.advance()

    def skip_to_next_arrival(self) -> None:
        """Let the worker idle; an empty one runs no rounds, but unit rounds go on."""
        if not self._to_come:
            raise PolicyError(f"{self.name} starts nothing although nothing runs")
        self.time = max(self.time, self.arrivals[self._to_come[-1]])
        if self.batch_time is UNIT_ROUND:
            self.state.now = self._ended = self.time

    def _complete(self) -> None:
        state, completions = self.state, self._completions
        while completions and completions[0][0] <= state.now:
            _, request, start = heapq.heappop(completions)
            if state.starts.get(request) != start:
                continue  # evicted since
            output = self.outputs[request]
            state.tokens_next -= state.prompts[request] + output + 1
            self._end_run(request, start, output)
            self.trace.completions[request] = self.time
            del state.starts[request]
            self.unfinished -= 1
            self._seen.clear()  # no earlier state can come back
            self.rules.finish(request, output)

    def _end_run(self, request: int, start: int, last: int) -> None:
        first, runs = self.state.kept(request) + 1, self.trace.segments[request]
        if not self.rules.cuts_prompts:
            if last >= first:
                runs.append(UninterruptedRun(start, first, last))
        elif chunks := tuple(self._chunks.pop(request)):
            cached = self._cached.pop(request)
            runs.append(UninterruptedRun(start, first, last, chunks, cached))

    def _evict(self) -> None:
        state = self.state
        due = self.rules.next_eviction(state)
        early = due is not None and due <= state.now
        if state.tokens_next <= state.memory and not early:
            return
        if not self._to_come:
            self._refuse_repeat()
        while state.tokens_next > state.memory or early:
            early = False
            evicted = self.rules.evict(state)
            if not evicted and state.tokens_next > state.memory and not self.rules.stalls:
                raise PolicyError(
                    f"{self.name} evicts nothing although {state.tokens_next} tokens would be held "
                    f"at time {state.now + 1}, memory is {state.memory}"
                )
            for request in evicted:
                self._take_off(request)
            if self.rules.stalls:
                return

    def _take_off(self, request: int) -> None:
        state = self.state
        if request in state.starts:
            made = state.made(request)
            start = state.starts.pop(request)
            state.tokens_next -= state.prompts[request] + made + 1
            self._end_run(request, start, made)
            if self.keeps_tokens:
                state.kept_tokens[request] = made
        elif request in state.prefilling:
            state.tokens_next -= state.prefilling.pop(request)
            self._end_run(request, state.now - 1, state.kept(request))
        else:
            raise PolicyError(f"{self.name} evicts request {request}, which does not run")
        self.waiting.add(request)

    def _refuse_repeat(self) -> None:
        """Compare the whole state with all earlier ones; equal states prove an endless loop."""
        own = self.rules.fingerprint()
        if own is None:
            return
        state = self.state
        active = tuple((request, state.made(request)) for request in state.starts)
        kept = tuple(sorted(state.kept_tokens.items()))
        fingerprint = (own, active, kept, self.unfinished)
        if fingerprint in self._seen:
            n = len(self.outputs)
            raise EndlessLoopError(self.name, state.now, n - self.unfinished, n)
        self._seen.add(fingerprint)

    def _admit(self) -> None:
        state = self.state
        self.prefills.clear()
        self.decoding = len(state.starts)
        self.read = state.tokens_next - self.decoding - sum(state.prefilling.values())
        for request in self.rules.admit(state):
            if request not in self.waiting:
                raise PolicyError(f"{self.name} starts request {request}, which does not wait")
            self.waiting.remove(request)
            self.trace.begins[request] = self.time
            if self.rules.cuts_prompts:
                state.prefilling[request] = found = self.rules.cached.get(request, 0)
                state.tokens_next += found
                self._cached[request] = found
                self._chunks[request] = []
                continue
            tokens = state.prompts[request] + state.kept(request)
            self.prefills.append((0, tokens))
            state.tokens_next += tokens
            self._start(request)
        if self.rules.cuts_prompts:
            self._prefill(self.rules.chunks(state))
        if state.tokens_next > state.memory:
            raise PolicyError(f"{self.name} exceeds the memory at time {state.now + 1}")

    def _start(self, request: int) -> None:
        """Let a request make its first token in this round; its prompt is held already."""
        state = self.state
        state.starts[request] = state.now
        state.tokens_next += 1
        end = state.now + self.outputs[request] - state.kept(request)
        heapq.heappush(self._completions, (end, request, state.now))

    def _prefill(self, chunks: list[tuple[int, int]]) -> None:
        state = self.state
        if sorted(request for request, _ in chunks) != sorted(state.prefilling):
            raise PolicyError(f"{self.name} expected one chunk of each request that it prefills")
        for request, tokens in chunks:
            before = state.prefilling[request]
            whole = state.prompts[request] + state.kept(request)
            if not min(1, whole) <= tokens <= whole - before:
                raise PolicyError(
                    f"{self.name} prefills {tokens} tokens of request {request}, which has "
                    f"{whole - before} to prefill"
                )
            self.prefills.append((before, tokens))
            self._chunks[request].append(tokens)
            state.prefilling[request] += tokens
            state.tokens_next += tokens
            if before + tokens == whole:
                del state.prefilling[request]
                self._start(request)

    def quiet_rounds(self) -> int:
        """Return how many rounds pass before anything but an arrival can change; at least one."""
        state = self.state
        if state.prefilling or (self.waiting and not self.rules.quiet()):
            return 1
        # From now on every round adds a token for each active request: when is M exceeded?
        steps = (state.memory - state.tokens_next) // len(state.starts) + 1
        due = self.rules.next_eviction(state)
        if due is not None:
            steps = min(steps, due - state.now)
        while state.starts.get(self._completions[0][1]) != self._completions[0][2]:
            heapq.heappop(self._completions)
        return max(1, min(steps, self._completions[0][0] - state.now))

    def pass_rounds(self, rounds: int) -> None:
        """Let the active requests make a token in each of so many rounds."""
        self.state.now += rounds
        self.state.tokens_next += rounds * len(self.state.starts)

    def advance(self) -> None:
        """Let the round pass that has been decided, and those in which nothing can change."""
        if not self.state.active:
            # Requests wait, none runs, and nothing was admitted: only an arrival can help.
            self.skip_to_next_arrival()
            return
        if self.time > self._ended:
            self.trace.gaps.append((self.state.now, self.time))
        prefilled = sum(tokens for _, tokens in self.prefills)
        squares = sum(tokens * (2 * before + tokens) for before, tokens in self.prefills)
        self.time += self.batch_time.time_of(prefilled, squares, self.decoding, self.read)
        rounds = self.quiet_rounds() - 1
        self.pass_rounds(1)
        if rounds > 0:
            self._pass_decoding(rounds)
        self._ended = self.time

    def _pass_decoding(self, rounds: int) -> None:
        """Let at most so many rounds pass without prefills, until a request arrives."""
        model, decoding = self.batch_time, len(self.state.starts)
        read = self.state.tokens_next - decoding
        first = model.base + model.per_decode * decoding + model.per_read * read
        to_come = self.arrivals[self._to_come[-1]] if self._to_come else _NO_LIMIT
        limit = max(0, to_come - self.time)
        passed, time = pass_rounds(first, model.per_read * decoding, rounds, limit)
        self.pass_rounds(passed)
        self.time += time
