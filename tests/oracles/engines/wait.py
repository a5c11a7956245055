"""Fluid thresholds by class, after WAIT and Nested WAIT (arXiv 2504.11320), step by step."""

from fractions import Fraction
from math import ceil

from heuristics.reference.round_worker import Job, Worker
from instances import Instance
from schedules import Schedule


def wait(instance: Instance, scale: float) -> Schedule:
    """Classes are those of the output: 1, 2, 3–4, 5–8, ... tokens."""
    return _Thresholds(instance, scale).serve("wait")


def nested_wait(instance: Instance, segment: int, scale: float) -> Schedule:
    """Classes are segments of the output, each twice as long as what came before."""
    return _Segments(instance, scale, segment).serve("nested-wait")


class _Thresholds(Worker):
    def __init__(self, instance: Instance, scale: float) -> None:
        super().__init__(instance)
        self.scale = Fraction(str(scale))
        self.entries: list[tuple[int, int]] = []
        self.reach: dict[int, int] = {}

    def group(self, job: Job) -> int:
        """Return the class of a request."""
        return next(bound for bound in range(job.output) if 2**bound >= job.output)

    def end_of_run(self, job: Job) -> int:
        """Return the output tokens that it will have made at the end of its run, at most."""
        return job.output

    def arrive(self, job: Job) -> None:
        tokens = range(job.made + 1, self.end_of_run(job) + 1)
        self.entries.append((self.group(job), sum(job.prompt + j for j in tokens)))
        self.queue.append(job)
        self.queue.sort(key=lambda job: (job.arrival, job.position))

    def evict(self) -> None:
        """Evict nothing: the look-ahead keeps to M."""

    def threshold(self, group: int) -> int:
        """Return ⌈scale · M · c_j / V⌉ from all that have entered so far."""
        entered = sum(each == group for each, _ in self.entries)
        volume = sum(volume for _, volume in self.entries)
        return ceil(self.scale * self.memory * entered / volume)

    def fits(self, candidate: Job) -> bool:
        """Return whether no time would hold more than M if all run to their reach."""
        jobs = [*self.running, candidate]
        # While a job runs, made only grows, so what it reaches is known from the kept tokens.
        reach = self.reach | {candidate.position: self.end_of_run(candidate)}
        for ahead in range(1, self.memory + 1):
            active = [job for job in jobs if job.made + ahead <= reach[job.position]]
            if sum(job.prompt + job.made + ahead for job in active) > self.memory:
                return False
        return True

    def admit(self) -> None:
        groups: dict[int, list[Job]] = {}
        for job in self.queue:
            groups.setdefault(self.group(job), []).append(job)
        # Each class that has gathered its threshold offers as many, the oldest first.  The queue
        # is in order of arrival and dictionaries keep theirs: classes come by their oldest.
        ready = [g for g, jobs in groups.items() if len(jobs) >= self.threshold(g)]
        offers = [job for g in ready for job in groups[g][: self.threshold(g)]]
        if not ready and not self.running:
            offers = list(self.queue)  # an empty worker takes what there is
        for job in offers:
            if not self.fits(job):
                break  # the first that does not fit ends the round
            self.reach[job.position] = self.end_of_run(job)
            self.start(job)


class _Segments(_Thresholds):
    keeps_tokens = True

    def __init__(self, instance: Instance, scale: float, segment: int) -> None:
        super().__init__(instance, scale)
        self.segment = segment

    def group(self, job: Job) -> int:
        end = self.segment
        while end <= job.made:
            end *= 2
        return end

    def end_of_run(self, job: Job) -> int:
        return min(self.group(job), self.memory - job.prompt)

    def evict(self) -> None:
        # What reaches the end of its segment leaves and queues for the next.
        for job in sorted(self.running, key=lambda job: (job.arrival, job.position)):
            if job.made == self.reach[job.position]:
                self.stop(job)
                self.arrive(job)
