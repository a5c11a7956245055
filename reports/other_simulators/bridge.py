"""One literal simulator of continuous batching in which each rule that differs is a switch.

With ``Rules()`` it is this suite's ``vllm-v1`` in real time, with the rules of ``TURNED`` turned it
is one of the others.  The page turns them one after the other and so shows what each is worth; that
with all of them turned every completion is the other's shows that nothing else differs.  It shares
no code with ``heuristics``.

Times are integers in nanoseconds, lengths in tokens.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from reports.other_simulators.blocks import Blocks, CachedBlocks
from reports.other_simulators.scenarios import (
    BLIS,
    KVOPT,
    SARATHI,
    VLLM,
    Machine,
    Row,
    ServedRequest,
)


@dataclass(frozen=True)
class Rules:
    """The rules that the simulators do not share; the defaults are this suite's."""

    token_held: bool = True  # the token that a round makes is held from its end on
    output_kept: bool = True  # an evicted request keeps the tokens that it has made
    whole_fits: bool = True  # a prompt is begun only when the blocks of all of it are free
    prefix_cached: bool = False  # a request that comes back finds blocks of its prompt
    admits_always: bool = False  # admits also in a round that evicted
    spare_block: bool = False  # a token is made only while one more block is free
    whole_prompt: bool = False  # a prompt that is cut has all its blocks from the first chunk
    cut_forgotten: bool = False  # evicted within its prompt, the rest of it becomes output
    overlaps: bool = False  # who arrives in a round that empties the worker does not wait for it
    prefill_alone: bool = False  # while requests can be admitted the running ones wait


#: Which rules of each simulator are not ours, in the order in which the page turns them.
TURNED = {
    KVOPT: (),
    SARATHI: ("token_held", "whole_prompt", "admits_always", "spare_block", "cut_forgotten"),
    VLLM: ("token_held", "spare_block", "prefill_alone"),
    BLIS: ("token_held", "whole_fits", "output_kept", "prefix_cached", "overlaps"),
}


def turned(*names: str) -> Rules:
    """Return our rules with some of them turned."""
    ours = Rules()
    return replace(ours, **{name: not getattr(ours, name) for name in names})


@dataclass
class _Request:
    number: int
    arrival: int
    prompt: int
    output: int
    made: int = 0
    length: int = 0  # tokens to prefill in this run
    computed: int = 0  # of these, done
    chunk: int = 0  # tokens that this round computes
    evictions: int = 0
    first_token: int = 0
    completion: int = 0
    decoding: bool = field(default=False)


class _Worker:
    def __init__(self, machine: Machine, rules: Rules) -> None:
        self._machine = machine
        self._rules = rules
        kind = CachedBlocks if rules.prefix_cached else Blocks
        self._memory = kind(machine.blocks, machine.block)
        self.queue: deque[_Request] = deque()
        self.running: list[_Request] = []
        self._budget = 0

    def form(self) -> list[_Request]:
        """Return the requests that compute in this round, with their ``chunk`` set."""
        self._budget = self._machine.budget
        before = len(self.running)
        if self._rules.prefill_alone:
            if self._admit_alone():
                return self.running[before:]
            self._serve()
            return list(self.running)
        evicted = self._serve()
        if self._rules.admits_always or not evicted:
            self._admit()
        return list(self.running)

    def _serve(self) -> bool:
        evicted = False
        position = 0
        while position < len(self.running):
            request = self.running[position]
            left = request.length - request.computed
            request.decoding = left == 0
            request.chunk = 1 if request.decoding else min(left, self._budget)
            while not self._grow(request):
                evicted = True
                victim = self.running.pop()
                self._evict(victim)
                if victim is request:
                    return True
            self._budget -= request.chunk
            position += 1
        return evicted

    def _grow(self, request: _Request) -> bool:
        if request.decoding:
            if self._rules.spare_block and self._memory.free < 1:
                return False
            return self._memory.grow(request.number, 1, request.prompt, prefill=False)
        tokens = request.chunk
        if self._rules.whole_prompt:
            tokens = request.length if request.computed == 0 else 0
        if self._rules.token_held and request.computed + request.chunk == request.length:
            tokens += 1
        return self._memory.grow(request.number, tokens, request.prompt, prefill=True)

    def _fits(self, length: int) -> bool:
        held = length + self._rules.token_held
        return -(-held // self._machine.block) <= self._memory.free

    def _evict(self, request: _Request) -> None:
        self._memory.release(request.number)
        if self._rules.cut_forgotten and request.computed < request.length:
            lost = request.length - request.computed
            request.prompt -= lost
            request.output += lost
        if not self._rules.output_kept:
            request.made = request.first_token = 0
        request.evictions += 1
        self.queue.appendleft(request)

    def _admit(self) -> None:
        while self.queue and len(self.running) < self._machine.running and self._budget > 0:
            if not self._start(self.queue[0], self._budget):
                return
            self._budget -= self.running[-1].chunk

    def _admit_alone(self) -> bool:
        longest = admitted = 0
        while self.queue and len(self.running) < self._machine.running:
            longest = max(longest, self.queue[0].prompt + self.queue[0].made)
            if longest * (admitted + 1) > self._machine.budget:
                break
            if not self._start(self.queue[0], longest):
                break
            admitted += 1
        return admitted > 0

    def _start(self, request: _Request, most: int) -> bool:
        request.length = request.prompt + request.made
        request.computed = 0
        cached = self._memory.cached(request.number, request.prompt)
        request.chunk = min(request.length - cached, most)
        request.decoding = False
        request.computed = cached
        if self._rules.whole_fits and not self._fits(request.length):
            return False
        if not self._grow(request):
            return False
        self.running.append(self.queue.popleft())
        return True

    def time(self, batch: Sequence[_Request]) -> int:
        """Return the batch time in nanoseconds."""
        working = [request for request in batch if request.chunk]
        if not working:
            return 1
        base, per_prefill, per_square, per_decode, per_read = self._machine.coefficients
        picoseconds = base
        for request in working:
            if request.decoding:
                picoseconds += per_decode + per_read * (request.prompt + request.made)
            else:
                after = request.computed + request.chunk
                picoseconds += per_prefill * request.chunk
                picoseconds += per_square * (after**2 - request.computed**2)
        return max(1, -(-picoseconds // 1000))

    def end(self, batch: Sequence[_Request], now: int) -> int:
        """Give each its tokens, and return how many have completed."""
        for request in batch:
            if not request.decoding:
                request.computed += request.chunk
                if request.computed < request.length:
                    continue
                request.first_token = request.first_token or now
            request.made += 1
            if request.made == request.output:
                request.completion = now
                self._memory.finish(request.number, request.prompt)
        left = [request for request in self.running if not request.completion]
        completed = len(self.running) - len(left)
        self.running = left
        return completed


def simulate(trace: Sequence[Row], machine: Machine, rules: Rules) -> list[ServedRequest]:
    """Run a trace of (arrival in ns, prompt, output), sorted by arrival, and return what came."""
    requests = [_Request(number, *row) for number, row in enumerate(trace)]
    coming = deque(requests)
    worker = _Worker(machine, rules)
    now = completed = 0
    while completed < len(requests):
        if not worker.queue and not worker.running:
            now = max(now, coming[0].arrival)
        while coming and coming[0].arrival <= now:
            worker.queue.append(coming.popleft())
        batch = worker.form()
        end = now + worker.time(batch)
        completed += worker.end(batch, end)
        emptied = not worker.running and not worker.queue
        now = now if rules.overlaps and emptied else end
    return [
        ServedRequest(request.first_token, request.completion, request.evictions)
        for request in requests
    ]
