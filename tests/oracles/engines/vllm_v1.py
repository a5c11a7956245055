"""vLLM's V1 scheduler in unit rounds: blocks are handed out one request after the other."""

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from math import ceil, floor
from typing import Any

from heuristics.reference import UnservableError
from heuristics.reference.round_worker import Job, Worker
from instances import Instance
from schedules import Schedule

#: Block, budget and most that run, then watermark and accounting.
Engine = tuple[Any, ...]


def vllm_v1(instance: Instance, engine: Engine, victim: str) -> Schedule:
    """Serve running requests first, preempting a victim; then admit by prompt blocks only."""
    worker = _Blocks(instance, *engine)
    tokens: dict[str, Callable[[Job], int]] = {
        "fewest-computed": lambda job: job.prompt + job.made,
        "largest": lambda job: -worker.tokens_next(job),
    }
    worker.keeping = tokens.get(victim)
    return replace(worker.serve("vllm-v1"), engine_accounting=worker.engine)


def vllm_most_left(instance: Instance, estimates: list[list[int]], engine: Engine) -> Schedule:
    """Serve as vllm-v1, and preempt the largest estimate less the tokens made."""
    worker = _Blocks(instance, *engine)
    worker.keeping = lambda job: job.made - estimates[job.position][job.made]
    return replace(worker.serve("vllm-most-left"), engine_accounting=worker.engine)


def vllm_priority(
    instance: Instance, estimates: list[list[int]], arrived: list[float], engine: Engine
) -> Schedule:
    """Serve by (estimate, arrival, position as a text), and preempt the largest of these."""
    worker = _ByPriority(instance, *engine)
    first = [each[0] for each in estimates]
    worker.places = list(zip(first, arrived, map(str, range(len(first))), strict=True))
    return replace(worker.serve("vllm-priority"), engine_accounting=worker.engine)


def ascend_srf(instance: Instance, threshold: int, engine: Engine) -> Schedule:
    """Serve as vllm-v1: preempted requests first, then short prompts, then the others."""
    worker = _ThreeLanes(instance, *engine)
    worker.threshold = threshold
    return replace(worker.serve("ascend-srf"), engine_accounting=worker.engine)


def ascend_lpt(instance: Instance, engine: Engine) -> Schedule:
    """Serve as vllm-v1: one of the first three, then the prompt that fits best."""
    worker = _OneJob(instance, *engine)
    return replace(worker.serve("ascend-lpt"), engine_accounting=worker.engine)


class _Blocks(Worker):
    keeps_tokens = True
    #: Key of a running request, the smallest to be preempted; None for the last admitted.
    keeping: Callable[[Job], int] | None = None

    def __init__(
        self, instance: Instance, limits: tuple[int, int, int], watermark: float, accounting: str
    ) -> None:
        super().__init__(instance)
        self.block, self.budget, self.most_running = limits
        self.engine = accounting == "engine"
        blocks = self.memory // self.block
        self.reserve = floor(Fraction(str(watermark)) * blocks)
        # One is the null block.
        self.blocks = blocks - 1 if self.engine else blocks

    def tokens_next(self, job: Job) -> int:
        """Tokens with a slot at the next time; in the engine the newest has none yet."""
        return max(job.prompt, 1) + job.made if self.engine else job.next_tokens

    def held_next(self) -> int:
        return sum(map(self.tokens_next, self.running))

    def blocks_of(self, tokens: int) -> int:
        return ceil(Fraction(tokens, self.block))

    def evict(self) -> None:
        # Step 1: the running requests in order of admission take the blocks of their next token.
        holds = {job.position: self.blocks_of(self.tokens_next(job) - 1) for job in self.running}
        for job in list(self.running):
            while job in self.running:
                needed = self.blocks_of(self.tokens_next(job))
                others = [held for position, held in holds.items() if position != job.position]
                if sum(others) + needed <= self.blocks:
                    holds[job.position] = needed
                    break
                # No block is left: the victim is preempted and goes to the head of the queue.
                if len(self.running) == 1:
                    raise UnservableError
                victim = self.victim(job)
                self.stop(victim)
                self.put_back(victim)
                del holds[victim.position]

    def put_back(self, job: Job) -> None:
        """Let a preempted request wait."""
        self.queue.insert(0, job)

    def head(self) -> Job | None:
        """Return who is next, or None for nobody in this round."""
        return self.queue[0]

    def victim(self, job: Job) -> Job:
        """Return the last admitted, or of the others the last with the smallest key."""
        if self.keeping is None:
            return self.running[-1]
        return min([each for each in self.running[::-1] if each is not job], key=self.keeping)

    def free(self) -> int:
        """Return the blocks that no running request will hold."""
        return self.blocks - sum(self.blocks_of(self.tokens_next(job)) for job in self.running)

    def admit(self) -> None:
        # Step 2: only in a round without a preemption, from the head of the queue.
        if self.evicted_now:
            return
        budget = self.budget - len(self.running)
        while self.queue and budget > 0 and len(self.running) < self.most_running:
            job = self.head()
            if job is None:
                break
            prefill = max(1, job.prompt + job.made)
            if prefill > self.budget:
                raise UnservableError
            if prefill > budget:
                break
            free = self.free() - (self.reserve if self.running else 0)
            if self.blocks_of(self.tokens_next(job)) > free:
                if not self.running:
                    raise UnservableError
                break
            self.start(job)
            budget -= prefill


class _ThreeLanes(_Blocks):
    threshold: int

    def head(self) -> Job:
        lanes: list[list[Job]] = [[], [], []]
        for job in self.queue:
            lanes[0 if job.runs else 1 if job.prompt <= self.threshold else 2].append(job)
        return next(lane for lane in lanes if lane)[0]


class _OneJob(_Blocks):
    def __init__(self, *limits: Any) -> None:
        super().__init__(*limits)
        self.buckets: dict[int, list[Job]] = {}
        self.first: list[Job] = []
        self.added = 0
        self.chosen: Job | None = None

    def arrive(self, job: Job) -> None:
        super().arrive(job)
        self.buckets.setdefault(job.prompt, []).append(job)
        self.added += 1
        if self.added <= 3:
            self.first.append(job)

    put_back = arrive

    def start(self, job: Job) -> None:
        super().start(job)
        self.chosen = None
        self.buckets[job.prompt].remove(job)
        if not self.buckets[job.prompt]:
            del self.buckets[job.prompt]
        self.first = [each for each in self.first if each is not job]
        if not self.buckets:
            self.added = 0

    def head(self) -> Job | None:
        held = [self.tokens_next(job) for job in self.running]
        next_blocks = sum(self.blocks_of(each + 1) - self.blocks_of(each) for each in held)
        room = max(0, self.free() - min(next_blocks + 2, 8)) * self.block
        if room == 0 and not self.running:
            raise UnservableError
        if room == 0:
            return None
        if self.chosen is None:
            waiting = [job for bucket in self.buckets.values() for job in bucket]
            fits = [prompt for prompt in self.buckets if prompt <= room]
            best = self.buckets[max(fits) if fits else min(self.buckets)][0]
            self.chosen = next((job for job in waiting if job in self.first), best)
        return self.chosen


class _ByPriority(_Blocks):
    #: Estimate, arrival and position of each request.
    places: list[tuple[int, float, str]]

    def __init__(self, *limits: Any) -> None:
        super().__init__(*limits)
        #: In order of admission, with those that make no token in this round.
        self.seats: list[Job] = []

    def evict(self) -> None:
        self.seats = [job for job in self.seats if job.made < job.output]
        served = self.serve_seats()
        while self.evicted_now and not served:
            served = self.serve_seats()
        for job in [job for job in self.running if job not in served]:
            self._end_run(job)
        for job in [job for job in served if job not in self.running]:
            job.begin, job.kept = self.now, job.made
            self.running.append(job)

    def serve_seats(self) -> list[Job]:
        """Return the requests that make a token in this round."""
        self.evicted_now = False
        served: list[Job] = []
        for job in list(self.seats):
            if job not in self.seats:
                continue
            while self.blocks_with([*served, job]) > self.blocks:
                worst = max(self.seats, key=lambda each: self.places[each.position][:2])
                if self.seats == [worst]:
                    raise UnservableError
                self.seats.remove(worst)
                self.queue.append(worst)
                self.evicted_now = True
                served = [each for each in served if each is not worst]
                if worst is job:
                    return served
            served.append(job)
        return served

    def blocks_with(self, served: list[Job]) -> int:
        """Blocks of all seats if these make a token."""
        return sum(self.blocks_of(self.tokens_next(x) - (x not in served)) for x in self.seats)

    def admit(self) -> None:
        self.queue.sort(key=lambda each: self.places[each.position])
        before = list(self.running)
        super().admit()
        self.seats += [job for job in self.running if job not in before]
