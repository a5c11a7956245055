"""vLLM's V1 scheduler in unit rounds: blocks are handed out one request after the other.

The policy's docstring and docs/policies.md say what was read in the engine's source.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from math import ceil, floor
from typing import Any

from heuristics.reference import UnservableError
from heuristics.reference.round_worker import Job, Worker
from instances import Instance
from schedules import Schedule


def vllm_v1(
    instance: Instance, block: int, budget: int, running: int, watermark: float, accounting: str
) -> Schedule:
    """Serve running requests first, preempting the last; then admit by prompt blocks only."""
    worker = _Blocks(instance, (block, budget, running), watermark, accounting)
    return replace(worker.serve("vllm-v1"), engine_accounting=worker.engine)


def vllm_priority(
    instance: Instance,
    upper: list[int],
    arrived: list[float],
    block: int,
    budget: int,
    running: int,
    watermark: float,
    accounting: str,
) -> Schedule:
    """Serve by (upper end, arrival, position as a text), and preempt the largest of these."""
    worker = _ByPriority(instance, (block, budget, running), watermark, accounting)
    worker.places = list(zip(upper, arrived, map(str, range(len(upper))), strict=True))
    return replace(worker.serve("vllm-priority"), engine_accounting=worker.engine)


class _Blocks(Worker):
    keeps_tokens = True

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
        served = 0
        while served < len(self.running):
            job = self.running[served]
            needed = self.blocks_of(self.tokens_next(job)) - holds[job.position]
            while sum(holds.values()) + needed > self.blocks:
                # No block is left: the last is preempted and goes to the head of the queue.
                last = self.running[-1]
                if len(self.running) == 1:
                    raise UnservableError
                self.stop(last)
                self.queue.insert(0, last)
                del holds[last.position]
                if last is job:
                    break
            else:
                holds[job.position] += needed
                served += 1

    def admit(self) -> None:
        # Step 2: only in a round without a preemption, from the head of the queue.
        if self.evicted_now:
            return
        budget = self.budget - len(self.running)
        while self.queue and len(self.running) < self.most_running:
            job = self.queue[0]
            prefill = max(1, job.prompt + job.made)
            if prefill > self.budget:
                raise UnservableError
            if prefill > budget:
                break
            used = sum(self.blocks_of(self.tokens_next(other)) for other in self.running)
            free = self.blocks - used - (self.reserve if self.running else 0)
            if self.blocks_of(self.tokens_next(job)) > free:
                if not self.running:
                    raise UnservableError
                break
            self.start(job)
            budget -= prefill


class _ByPriority(_Blocks):
    #: Upper end, arrival and position of each request.
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
