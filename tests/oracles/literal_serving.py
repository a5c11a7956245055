"""Round-by-round transcriptions of the serving policies: every round, every sum from scratch.

Of the simulator only the seeded generator is used: a round is decided as the docstrings of the
policies say, and then every running request makes one token.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from math import ceil, floor
from typing import Any

from heuristics.simulator import policy_generator
from instances import Instance
from schedules import Schedule, make_schedule


class LoopError(Exception):
    """The policy would go on for ever."""


class RefusedError(Exception):
    """The policy cannot serve the instance."""


class TooLongError(Exception):
    """A random policy has not finished within ``MOST_ROUNDS``."""


MOST_ROUNDS = 2000


@dataclass
class Job:
    """A request on its way; ``runs`` holds (round of begin, tokens kept, tokens at the end)."""

    position: int
    arrival: int
    prompt: int
    output: int
    upper: int
    made: int = 0
    begin: int = -1
    kept: int = 0
    runs: list[tuple[int, int, int]] = field(default_factory=list)

    @property
    def next_tokens(self) -> int:
        """Tokens that it will hold at the next time, if it runs."""
        return self.prompt + self.made + 1


class Literal:
    """The worker and its clock; a policy says what to evict and what to admit."""

    keeps_tokens = False

    def __init__(self, instance: Instance, values: dict[str, Any], seed: int, high: int) -> None:
        self.memory = instance.memory
        self.values = values
        self.rng = policy_generator(seed)
        self.jobs = [
            Job(i, int(r.arrival), r.prompt, r.output, min(max(r.output, high), self.memory))
            for i, r in enumerate(instance.requests)
        ]
        for job in self.jobs:
            job.upper = min(job.upper, self.memory - job.prompt)
        self.running: list[Job] = []
        self.queue: list[Job] = []
        self.finished = 0
        self.now = 0
        self.evicted_now = False

    def arrive(self, job: Job) -> None:
        self.queue.append(job)

    def evict(self) -> None:
        raise NotImplementedError

    def admit(self) -> None:
        raise NotImplementedError

    def start(self, job: Job) -> None:
        self.queue.remove(job)
        job.begin, job.kept = self.now, job.made
        self.running.append(job)

    def stop(self, job: Job) -> None:
        self.running.remove(job)
        job.runs.append((job.begin, job.kept, job.made))
        if not self.keeps_tokens:
            job.made = 0
        self.evicted_now = True

    def held_next(self) -> int:
        return sum(job.next_tokens for job in self.running)

    def run(self) -> None:
        to_come = sorted(self.jobs, key=lambda job: (job.arrival, job.position))
        while self.finished < len(self.jobs):
            for job in [job for job in self.running if job.made == job.output]:
                self.running.remove(job)
                job.runs.append((job.begin, job.kept, job.made))
                self.finished += 1
                self.completed()
            while to_come and to_come[0].arrival <= self.now:
                self.arrive(to_come.pop(0))
            self.all_arrived = not to_come
            self.evicted_now = False
            self.evict()
            self.admit()
            assert self.held_next() <= self.memory
            for job in self.running:
                job.made += 1
            self.now += 1
            if self.now > MOST_ROUNDS:
                raise TooLongError

    def completed(self) -> None:
        """Note that a request has completed."""


class AlphaBeta(Literal):
    """alpha-greedy where ``beta`` is 1."""

    cleared_without_completion = 0

    def completed(self) -> None:
        self.cleared_without_completion = 0

    def evict(self) -> None:
        while self.held_next() > self.memory:
            beta = self.values.get("beta", 1.0)
            if beta == 1.0 and self.all_arrived:
                # A clearing leaves an empty worker and all unfinished requests in arrival order.
                # If the one before left the same, everything repeats.
                self.cleared_without_completion += 1
                if self.cleared_without_completion == 2:
                    raise LoopError
            for job in list(self.running):
                if "beta" not in self.values or self.rng.random() < beta:
                    self.stop(job)
                    self.queue.append(job)
        self.queue.sort(key=lambda job: (job.arrival, job.position))

    def admit(self) -> None:
        limit = floor((1 - Fraction(str(self.values["alpha"]))) * self.memory)
        while self.queue:
            job = self.queue[0]
            if self.running and self.held_next() + job.prompt + 1 > limit:
                break
            self.start(job)


class Vllm(Literal):
    """Blocks are handed out one request after the other, as in the engine."""

    keeps_tokens = True

    def blocks_of(self, tokens: int) -> int:
        return ceil(Fraction(tokens, self.values["block"]))

    def evict(self) -> None:
        blocks = self.memory // self.values["block"]
        holds = {job.position: self.blocks_of(job.next_tokens - 1) for job in self.running}
        served = 0
        while served < len(self.running):
            job = self.running[served]
            needed = self.blocks_of(job.next_tokens) - holds[job.position]
            while sum(holds.values()) + needed > blocks:
                last = self.running[-1]
                if len(self.running) == 1:
                    raise RefusedError
                self.stop(last)
                self.queue.insert(0, last)
                del holds[last.position]
                if last is job:
                    break
            else:
                holds[job.position] += needed
                served += 1

    def admit(self) -> None:
        if self.evicted_now:
            return
        blocks = self.memory // self.values["block"]
        reserve = floor(Fraction(str(self.values["watermark"])) * blocks)
        budget = self.values["budget"] - len(self.running)
        first = True
        while self.queue and len(self.running) < self.values["running"] and budget >= 1:
            job = self.queue[0]
            prefill = max(1, job.prompt + job.made)
            if prefill > budget and not first:
                break
            used = sum(self.blocks_of(other.next_tokens) for other in self.running)
            free = blocks - used - (reserve if self.running else 0)
            if self.blocks_of(job.next_tokens) > free:
                if not self.running:
                    raise RefusedError
                break
            self.start(job)
            budget -= prefill
            first = False


class Sglang(Literal):
    """The ratio is stepped in every round."""

    keeps_tokens = True

    def __init__(self, instance: Instance, values: dict[str, Any], seed: int, high: int) -> None:
        super().__init__(instance, values, seed, high)
        self.first = min(Fraction(7, 10) * Fraction(str(values["conservativeness"])), Fraction(1))
        self.last = Fraction(14, 100) * self.first
        self.step = (self.first - self.last) / 600
        self.ratio = self.first
        self.full = False
        self.draws: dict[int, float] = {}

    def completed(self) -> None:
        self.full = False

    def arrive(self, job: Job) -> None:
        self.draws[job.position] = self.rng.random() if self.values["order"] == "random" else 0.0
        self.queue.append(job)

    def in_order(self) -> list[Job]:
        keys = {
            "fcfs": lambda job: self.draws[job.position],
            "lof": lambda job: -job.upper,
            "spf": lambda job: job.prompt + job.made,
            "random": lambda job: self.draws[job.position],
        }
        return sorted(self.queue, key=keys[self.values["order"]])

    def evict(self) -> None:
        while self.held_next() > self.memory:
            fewest = min(job.made for job in self.running)
            candidates = [job for job in self.running if job.made == fewest]
            longest = max(job.prompt for job in candidates)
            victim = [job for job in candidates if job.prompt == longest][-1]
            self.stop(victim)
            self.arrive(victim)
        if self.evicted_now:
            made = sum(job.made for job in self.running) + 20 * len(self.running)
            self.ratio = min(Fraction(1), Fraction(made, sum(job.upper for job in self.running)))
            self.full = False

    def admit(self) -> None:
        if self.evicted_now:
            return
        decoding = bool(self.running)
        if not self.full:
            held = sum(job.prompt + job.made for job in self.running)
            reserved = self.ratio * sum(min(job.upper - job.made, 4096) for job in self.running)
            charged = held + reserved
            for job in self.in_order():
                charged += job.prompt + job.made + min(job.upper - job.made, 4096)
                if charged > self.memory or self.held_next() + job.next_tokens > self.memory:
                    self.full = True
                    break
                self.start(job)
        if decoding:
            self.ratio = max(self.ratio - self.step, self.last)
        elif not self.running:
            self.ratio = self.first


class Wait(Literal):
    """Classes of outputs; ``NestedWait`` overrides what a class is and how far it looks."""

    def __init__(self, instance: Instance, values: dict[str, Any], seed: int, high: int) -> None:
        super().__init__(instance, values, seed, high)
        self.entries: list[tuple[int, int]] = []

    def group(self, job: Job) -> int:
        bound = group = 0
        while max(1, 2**bound) < job.output:
            bound += 1
            group += 1
        return group

    def end_of_run(self, job: Job) -> int:
        """Return the output tokens that it will have made at the end of its run, at most."""
        return job.output

    def arrive(self, job: Job) -> None:
        tokens = range(job.made + 1, self.end_of_run(job) + 1)
        self.entries.append((self.group(job), sum(job.prompt + j for j in tokens)))
        self.queue.append(job)
        self.queue.sort(key=lambda job: (job.arrival, job.position))

    def evict(self) -> None:
        pass

    def threshold(self, group: int) -> int:
        entered = sum(each == group for each, _ in self.entries)
        volume = sum(volume for _, volume in self.entries)
        return ceil(Fraction(str(self.values["scale"])) * self.memory * entered / volume)

    def fits(self, candidate: Job) -> bool:
        jobs = [*self.running, candidate]
        # While a job runs, made only grows, so what it reaches is known from the kept tokens.
        reach = {
            job.position: self.end_of_run(job) if job is candidate else self.reach[job.position]
            for job in jobs
        }
        for ahead in range(1, self.memory + 1):
            held = sum(
                job.prompt + job.made + ahead
                for job in jobs
                if job.made + ahead <= reach[job.position]
            )
            if held > self.memory:
                return False
        return True

    reach: dict[int, int]

    def admit(self) -> None:
        self.reach = getattr(self, "reach", {})
        groups: dict[int, list[Job]] = {}
        for job in self.queue:
            groups.setdefault(self.group(job), []).append(job)
        # Dictionaries keep their order, so classes come by their oldest request.
        ready = [g for g, jobs in groups.items() if len(jobs) >= self.threshold(g)]
        offers = [job for g in ready for job in groups[g][: self.threshold(g)]]
        if not ready and not self.running:
            offers = list(self.queue)
        for job in offers:
            if not self.fits(job):
                break
            self.reach[job.position] = self.end_of_run(job)
            self.start(job)


class NestedWait(Wait):
    """Classes are segments of the output."""

    keeps_tokens = True

    def segment_end(self, made: int) -> int:
        end = self.values["segment"]
        while end <= made:
            end *= 2
        return int(end)

    def group(self, job: Job) -> int:
        return self.segment_end(job.made)

    def end_of_run(self, job: Job) -> int:
        return min(self.segment_end(job.made), self.memory - job.prompt)

    def evict(self) -> None:
        for job in sorted(self.running, key=lambda job: (job.arrival, job.position)):
            if job.made == self.reach[job.position]:
                self.stop(job)
                self.arrive(job)


LITERALS: dict[str, type[Literal]] = {
    "alpha-greedy": AlphaBeta,
    "alpha-beta": AlphaBeta,
    "vllm-v1": Vllm,
    "sglang-ratio": Sglang,
    "wait": Wait,
    "nested-wait": NestedWait,
}


def literal_schedule(
    instance: Instance, policy: str, values: dict[str, Any], seed: int = 0, high: int = 1
) -> Schedule:
    """Return the schedule of a serving policy, one round at a time.

    Parameters
    ----------
    high
        Upper end of the prediction (tokens), where the output is not larger and memory allows it.

    Raises
    ------
    LoopError, RefusedError, TooLongError
        Where the policy loops for ever, cannot serve the instance, or is given up.
    """
    literal = LITERALS[policy](instance, values, seed, high)
    literal.run()
    starts, attempts, kept = [], [], []
    for job in literal.jobs:
        *cancelled, (begin, kept_last, _) = job.runs
        starts.append(begin - kept_last)
        attempts.append([(round_ - held, made) for round_, held, made in cancelled])
        kept.append([held for _, held, _ in job.runs])
    return make_schedule(instance, starts, policy, attempts=attempts, kept=kept)
