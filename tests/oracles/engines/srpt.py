"""Smallest work first, and preemption for less work; coefficients of a round in picoseconds."""

from collections.abc import Sequence
from fractions import Fraction

from heuristics.reference.mc_sf import in_order
from heuristics.reference.round_worker import Job, Worker
from instances import Instance
from schedules import Schedule, make_schedule

Coefficients = tuple[int, int, int, int, int]


def _work(
    instance: Instance, coefficients: Coefficients, prompt: int, made: int, tokens: int, new: bool
) -> Fraction:
    """Return the machine time of the tokens after the first so many, one after the other."""
    base, per_prefill, per_square, per_decode, per_read = coefficients
    total = Fraction(0)
    for j in range(made + 1, made + tokens + 1):
        total += Fraction(base * (prompt + j), instance.memory)
        held = prompt + j - 1
        if new and j == made + 1:
            total += per_prefill * held + per_square * held * held
        else:
            total += per_decode + per_read * held
    return total


def swf(instance: Instance, coefficients: Coefficients) -> Schedule:
    """In ascending order of the machine time, the largest prefix that fits."""
    starts = in_order(
        instance, lambda r: _work(instance, coefficients, r.prompt, 0, r.output, True)
    )
    return make_schedule(instance, starts, "swf")


def srpt(instance: Instance, factor: float, coefficients: Coefficients) -> Schedule:
    """By the work that is left."""
    outputs = [[request.output] * request.output for request in instance.requests]
    return _Preemptive(instance, outputs, factor, coefficients).serve("srpt")


def srpt_predicted(
    instance: Instance,
    estimates: Sequence[Sequence[int]],
    factor: float,
    coefficients: Coefficients,
) -> Schedule:
    """By the work that is left if each output is its estimate after the tokens made so far."""
    return _Preemptive(instance, estimates, factor, coefficients).serve("srpt-predicted")


def las(instance: Instance, factor: float, coefficients: Coefficients) -> Schedule:
    """By the work that was done."""
    nothing = [[0] * request.output for request in instance.requests]
    return _Attained(instance, nothing, factor, coefficients).serve("las")


class _Preemptive(Worker):
    keeps_tokens = True

    def __init__(
        self,
        instance: Instance,
        estimates: Sequence[Sequence[int]],
        factor: float,
        coefficients: Coefficients,
    ) -> None:
        super().__init__(instance)
        self.estimates = estimates
        self.factor, self.coefficients = Fraction(str(factor)), coefficients

    def left(self, job: Job) -> int:
        return max(1, self.estimates[job.position][job.made] - job.made)

    def key_waiting(self, job: Job) -> Fraction:
        return self.work(job, job.made, self.left(job), new=True)

    def key_running(self, job: Job) -> Fraction:
        return self.work(job, job.made, self.left(job), new=False)

    def work(self, job: Job, made: int, tokens: int, new: bool) -> Fraction:
        return _work(self.instance, self.coefficients, job.prompt, made, tokens, new)

    def fits(self, new: Job, stay: Sequence[Job]) -> bool:
        """Return whether M suffices as believed at each time until a new request completes."""
        return all(
            sum(j.prompt + j.made + d for j in (new, *stay) if d <= self.left(j)) <= self.memory
            for d in range(1, self.left(new) + 1)
        )

    def evict(self) -> None:
        def largest(jobs: list[Job]) -> Job:
            return max(jobs, key=lambda job: (self.key_running(job), job.arrival, job.position))

        def smallest(jobs: list[Job]) -> Job:
            return min(jobs, key=lambda job: (self.key_waiting(job), job.arrival, job.position))

        if self.held_next() > self.memory:
            while self.held_next() > self.memory:
                fewest = min(job.next_tokens for job in self.running)
                equal = [job for job in self.running if job.next_tokens == fewest]
                last = max(equal, key=lambda job: (job.arrival, job.position))
                self.stop(last)
                self.queue.append(last)
            return
        before = list(self.running)
        waiting = list(self.queue)
        while waiting:
            job = smallest(waiting)
            stay, gone = list(self.running), []
            while not self.fits(job, stay):
                old = [other for other in stay if other in before]
                if not old or self.key_running(largest(old)) <= self.factor * self.key_waiting(job):
                    return
                gone.append(largest(old))
                stay.remove(gone[-1])
            for other in gone:
                self.stop(other)
                self.queue.append(other)
            waiting.remove(job)
            self.start(job)

    def admit(self) -> None:
        pass


class _Attained(_Preemptive):
    def key_waiting(self, job: Job) -> Fraction:
        return self.key_running(job) + self.work(job, job.made, 1, new=True)

    def key_running(self, job: Job) -> Fraction:
        return self.work(job, 0, job.made, new=True)
