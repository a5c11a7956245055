"""Serving engines in real time, round by round with plain lists, from the policies' docstrings."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from math import ceil, floor
from typing import Any

from instances import Instance
from tests.oracles.engines.sglang_ratio import Draw, Ratio
from tests.oracles.real_time import Literal, duration

#: Decisions after which a run that clears at random is given up.
MOST_DECISIONS = 600


class CannotServeError(Exception):
    """A request alone does not fit into the blocks."""


class TooLongError(Exception):
    """A random run has not finished within ``MOST_DECISIONS``."""


@dataclass(eq=False)
class Job:
    """A request on its way."""

    position: int
    prompt: int
    output: int
    made: int = 0
    computed: int = 0
    chunk: int = 0
    kept: int = 0
    chunks: list[int] = field(default_factory=list)
    #: (round of the last chunk, kept, tokens in the end, chunks) of every run.
    runs: list[tuple[int, int, int, list[int]]] = field(default_factory=list)
    last_chunk: int = -1
    completion: int = -1
    #: Tokens held beyond those computed, once the prompt is: the slot of the newest token.
    ahead: int = 1

    @property
    def whole(self) -> int:
        """Tokens to be prefilled in this run."""
        return self.prompt + self.kept

    @property
    def decodes(self) -> bool:
        """Whether its prompt is computed."""
        return self.made > self.kept

    @property
    def held(self) -> int:
        """Tokens held now."""
        return self.prompt + self.made - 1 + self.ahead if self.decodes else self.computed

    @property
    def held_next(self) -> int:
        """Tokens held at the end of this round with the chunk that was chosen for it."""
        if self.decodes:
            return self.held + 1
        after = self.computed + self.chunk
        return after + self.ahead if after == self.whole else after


class Serving:
    """The rounds; what is evicted and admitted is told by those below."""

    keeps_tokens = True

    def __init__(
        self, instance: Instance, arrivals: Sequence[int], coefficients: tuple[int, ...]
    ) -> None:
        self.memory = instance.memory
        self.jobs = [Job(i, r.prompt, r.output) for i, r in enumerate(instance.requests)]
        self.arrivals, self.coefficients = arrivals, coefficients
        self.running: list[Job] = []
        self.queue: list[Job] = []
        self.round = self.time = self.ended = 0
        self.begins: list[tuple[int, int]] = []

    def decide(self) -> bool:
        """Evict and admit; return whether the round can be run."""
        raise NotImplementedError

    def arrive(self, job: Job) -> None:
        """Let a request wait."""
        self.queue.append(job)

    def completed(self) -> None:
        """Take note that a request has completed."""

    def idle(self) -> None:
        """Take note that nothing runs and nothing waits."""

    def start(self, job: Job, chunk: int) -> None:
        """Begin a run with its first chunk."""
        self.queue.remove(job)
        self.running.append(job)
        job.kept, job.computed, job.chunk, job.chunks = job.made, 0, chunk, []

    def stop(self, job: Job) -> None:
        """Take a request off the worker."""
        self.running.remove(job)
        self._end(job)
        if not self.keeps_tokens:
            job.made = 0

    def _end(self, job: Job) -> None:
        job.runs.append((job.last_chunk, job.kept, job.made, job.chunks))
        job.chunk = 0

    def serve(self) -> Literal:
        """Go through the rounds until every request is complete."""
        to_come = sorted(self.jobs, key=lambda job: (self.arrivals[job.position], job.position))
        for _ in range(MOST_DECISIONS):
            for job in [job for job in self.running if job.made == job.output]:
                job.completion = self.time
                self.running.remove(job)
                self._end(job)
                self.completed()
            if all(job.completion >= 0 for job in self.jobs):
                return self._literal()
            if not self.running and not self.queue:
                later = self.arrivals[to_come[0].position]
                if later > self.time:
                    self.idle()
                self.time = max(self.time, later)
            while to_come and self.arrivals[to_come[0].position] <= self.time:
                self.arrive(to_come.pop(0))
            if self.decide():
                self._run()
            else:
                self.time += duration(self.coefficients, [], [])
        raise TooLongError

    def _run(self) -> None:
        assert sum(job.held_next for job in self.running) <= self.memory
        if self.time > self.ended:
            self.begins.append((self.round, self.time))
        prefills = [(job.computed, job.chunk) for job in self.running if not job.decodes]
        reads = [job.prompt + job.made for job in self.running if job.decodes]
        for job in self.running:
            if job.decodes:
                job.made += 1
                continue
            job.chunks.append(job.chunk)
            job.computed += job.chunk
            job.last_chunk = self.round
            if job.computed == job.whole:
                job.made += 1
        self.time += duration(self.coefficients, prefills, reads)
        self.ended = self.time
        self.round += 1

    def _literal(self) -> Literal:
        runs = [job.runs for job in self.jobs]
        return Literal(
            starts=[each[-1][0] - each[-1][1] for each in runs],
            attempts=[[(begin - kept, made) for begin, kept, made, _ in r[:-1]] for r in runs],
            kept=[[kept for _, kept, _, _ in each] for each in runs],
            begins=self.begins,
            completions=[job.completion for job in self.jobs],
            chunks=[[chunks for _, _, _, chunks in each] for each in runs],
        )


class _Vllm(Serving):
    block = budget = most_running = reserve = blocks = 1
    victim = "last"

    def blocks_of(self, tokens: int) -> int:
        return ceil(Fraction(tokens, self.block))

    def gone(self, job: Job) -> Job:
        """Return the victim."""
        others = [each for each in reversed(self.running) if each is not job]
        if self.victim == "fewest-computed":
            return min(others, key=lambda x: x.prompt + x.made - 1 if x.decodes else x.computed)
        return max(others, key=lambda x: x.held) if self.victim == "largest" else self.running[-1]

    def decide(self) -> bool:
        budget = self.budget
        holds = {job.position: self.blocks_of(job.held) for job in self.running}
        given: dict[int, int] = {}
        preempted = False
        for job in list(self.running):
            if job not in self.running:
                continue
            # Decoding requests take a token of the budget, the last one's prompt what is left.
            job.chunk = 0 if job.decodes else min(job.whole - job.computed, budget)
            needed = self.blocks_of(job.held_next)
            while job in self.running and sum(holds.values()) - holds[job.position] + needed > (
                self.blocks
            ):
                if len(self.running) == 1:
                    raise CannotServeError
                gone = self.gone(job)
                self.stop(gone)
                self.queue.insert(0, gone)
                preempted = True
                del holds[gone.position]
                budget += given.pop(gone.position, 0)
            if job in self.running:
                holds[job.position] = needed
                given[job.position] = 1 if job.decodes else job.chunk
                budget -= given[job.position]
        while not preempted and self.queue and len(self.running) < self.most_running and budget > 0:
            job = self.queue[0]
            whole = job.prompt + job.made
            free = self.blocks - sum(holds.values()) - (self.reserve if self.running else 0)
            if self.blocks_of(whole + job.ahead) > free:
                if not self.running:
                    raise CannotServeError
                break
            self.start(job, min(whole, budget))
            holds[job.position] = self.blocks_of(job.held_next)
            budget -= max(1, job.chunk)
        return True


def vllm_in_chunks(
    *run: Any, block: int, budget: int, running: int, watermark: float, accounting: str, victim: str
) -> Literal:
    """Serve running requests in order, then the head of the queue, cut at the budget."""
    worker = _Vllm(*run)
    worker.victim = victim
    engine = accounting != "tokens"
    for job in worker.jobs:
        job.ahead = 0 if engine and job.prompt else 1
    worker.blocks = worker.memory // block - engine
    worker.block, worker.budget, worker.most_running = block, budget, running
    worker.reserve = floor(Fraction(str(watermark)) * (worker.memory // block))
    return worker.serve()


class _Sglang(Ratio, Serving):
    most: int

    def idle(self) -> None:
        self.ratio = self.first

    def in_order(self) -> list[Job]:
        if self.order == "hrrn":
            waited = {job: self.prefilled - self.stamps[job.position] for job in self.queue}
            return sorted(
                self.queue,
                key=lambda x: (x.prompt > 0, -Fraction(waited[x], x.prompt or 1), str(x.position)),
            )
        return sorted(self.queue, key=self.keys())

    def decide(self) -> bool:
        left = self.most
        for job in self.running:
            if not job.decodes:
                rest = job.whole - job.computed
                job.chunk = min(rest, left - self._shorter(rest))
                left -= job.chunk
        self._serve(left)
        self.prefilled += sum(job.chunk for job in self.running if not job.decodes)
        return True

    def _shorter(self, rest: int) -> int:
        """Return the tokens that prompts below the rest of the one on its way are to get."""
        found = 0
        if self.order == "shortest-prefill-first":
            for tokens in sorted(max(1, job.prompt + job.made) for job in self.queue):
                if tokens >= rest or found + tokens > self.most - 1:
                    break
                found += tokens
        return found

    def _serve(self, left: int) -> None:
        if self._retract():
            return
        decoding = [job for job in self.running if job.decodes]
        on_their_way = [job for job in self.running if not job.decodes]
        if not self.full or on_their_way:
            self._admit(left)
        if decoding:
            self.ratio = max(self.ratio - self.step, self.last)

    def _retract(self) -> bool:
        retracted = False
        while sum(job.held_next for job in self.running) > self.memory:
            decoding = [job for job in self.running if job.decodes]
            if len(decoding) == 1:
                (victim,) = (job for job in self.running if not job.decodes)
            else:
                fewest = min(job.made for job in decoding)
                among = [job for job in decoding if job.made == fewest]
                longest = max(job.prompt for job in among)
                victim = [job for job in among if job.prompt == longest][-1]
            self.stop(victim)
            self.arrive(victim)
            retracted = True
        if retracted:
            decoding = [job for job in self.running if job.decodes]
            made = sum(job.made for job in decoding) + 20 * len(decoding)
            max_new = sum(self.max_new[job.position] for job in decoding)
            self.ratio = min(Fraction(1), Fraction(made, max_new + 1))
            self.full = False
        return retracted

    def _admit(self, left: int) -> None:
        charged = Fraction(0)
        for job in self.running:
            if job.decodes:
                charged += job.held + self.ratio * self.to_come(job)
            else:
                charged += job.computed + job.chunk
                if job.computed + job.chunk == job.whole:
                    charged += self.to_come(job)
        for job in self.in_order():
            if left == 0:
                return
            whole = job.prompt + job.made
            if left < whole and any(x.computed + x.chunk < x.whole for x in self.running):
                return
            held_next = sum(other.held_next for other in self.running)
            if charged + whole + self.to_come(job) > self.memory or (
                held_next + whole + 1 > self.memory
            ):
                self.full = True
                return
            self.start(job, min(whole, left))
            left -= job.chunk
            charged += job.chunk + (self.to_come(job) if job.chunk == whole else 0)


def sglang_in_chunks(
    *run: Any, upper: Sequence[int], order: str, conservativeness: float, chunk: int, draw: Draw
) -> Literal:
    """Reserve a falling share of the tokens to come; prefill at most ``chunk`` tokens a round."""
    worker = _Sglang(*run)
    worker.most = chunk
    worker.begin(upper, order, conservativeness, draw)
    return worker.serve()


class _Stalling(Serving):
    keeps_tokens = False
    limit: int
    beta: float
    draw: Draw

    def decide(self) -> bool:
        if sum(job.held_next for job in self.running) > self.memory:
            for job in list(self.running):
                if self.draw() < self.beta:
                    self.stop(job)
                    self.queue.append(job)
            self.queue.sort(key=lambda job: (self.arrivals[job.position], job.position))
            if sum(job.held_next for job in self.running) > self.memory:
                return False
        while self.queue:
            job = self.queue[0]
            held_next = sum(other.held_next for other in self.running)
            if self.running and held_next + job.prompt + 1 > self.limit:
                break
            self.start(job, job.prompt)
        return True


def alpha_beta_stalling(*run: Any, alpha: float, beta: float, draw: Draw) -> Literal:
    """Draw once for each active request; a round passes while the rest does not fit."""
    worker = _Stalling(*run)
    worker.limit = floor((1 - Fraction(str(alpha))) * worker.memory)
    worker.beta, worker.draw = beta, draw
    return worker.serve()
