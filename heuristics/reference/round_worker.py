"""A worker and its rounds, for the policies that decide anew in each round and may evict."""

from dataclasses import dataclass, field

from heuristics.reference import ManyRoundsError
from instances import Instance
from schedules import Schedule, make_schedule

#: Rounds after which a policy that clears at random is given up.
MOST_ROUNDS = 2000


@dataclass
class Job:
    """A request on its way; ``runs`` holds (round of begin, tokens kept, tokens at the end)."""

    position: int
    arrival: int
    prompt: int
    output: int
    made: int = 0
    begin: int = -1
    kept: int = 0
    runs: list[tuple[int, int, int]] = field(default_factory=list)

    @property
    def next_tokens(self) -> int:
        """Tokens that it will hold at the next time, if it runs."""
        return self.prompt + self.made + 1


class Worker:
    """A worker's rounds; a policy says what to evict and what to admit."""

    keeps_tokens = False

    def __init__(self, instance: Instance) -> None:
        self.instance = instance
        self.memory = instance.memory
        self.jobs = [
            Job(i, int(r.arrival), r.prompt, r.output) for i, r in enumerate(instance.requests)
        ]
        self.running: list[Job] = []
        self.queue: list[Job] = []
        self.now = 0
        self.evicted_now = False
        self.all_arrived = False

    def evict(self) -> None:
        """Stop what must not run on in this round."""
        raise NotImplementedError

    def admit(self) -> None:
        """Start what may start in this round."""
        raise NotImplementedError

    def arrive(self, job: Job) -> None:
        """Let a request wait."""
        self.queue.append(job)

    def completed(self) -> None:
        """Note that a request has completed."""

    def start(self, job: Job) -> None:
        """Take a request from the queue to the worker."""
        self.queue.remove(job)
        job.begin, job.kept = self.now, job.made
        self.running.append(job)

    def stop(self, job: Job) -> None:
        """Take a request off the worker; who puts it back into the queue decides where."""
        self._end_run(job)
        if not self.keeps_tokens:
            job.made = 0
        self.evicted_now = True

    def held_next(self) -> int:
        """Return the tokens that the running requests will hold at the next time."""
        return sum(job.next_tokens for job in self.running)

    def serve(self, name: str) -> Schedule:
        """Return the schedule; it raises ManyRoundsError after ``MOST_ROUNDS``."""
        to_come = sorted(self.jobs, key=lambda job: (job.arrival, job.position))
        unfinished = len(self.jobs)
        while unfinished:
            for job in [job for job in self.running if job.made == job.output]:
                self._end_run(job)
                unfinished -= 1
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
                raise ManyRoundsError
        return self._schedule(name)

    def _end_run(self, job: Job) -> None:
        self.running.remove(job)
        job.runs.append((job.begin, job.kept, job.made))

    def _schedule(self, name: str) -> Schedule:
        starts, attempts, kept = [], [], []
        for job in self.jobs:
            *cancelled, (begin, kept_last, _) = job.runs
            starts.append(begin - kept_last)
            attempts.append([(round_ - before, made) for round_, before, made in cancelled])
            kept.append([before for _, before, _ in job.runs])
        return make_schedule(self.instance, starts, name, attempts=attempts, kept=kept)
