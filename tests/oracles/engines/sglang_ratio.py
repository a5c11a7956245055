"""SGLang's scheduler (source: docs/policies.md) in unit rounds: the ratio is stepped in each."""

from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

from heuristics.reference.round_worker import Job, Worker
from instances import Instance
from schedules import Schedule

Draw = Callable[[], float]


def sglang_ratio(
    instance: Instance, upper: Sequence[int], order: str, conservativeness: float, draw: Draw
) -> Schedule:
    """Reserves a falling share of the tokens to come; ``upper`` is each request's max_new."""
    return _Reserving(instance, upper, order, conservativeness, draw).serve("sglang-ratio")


class Ratio:
    """The ratio, what is noted of who waits, and the keys of the orders, in rounds and seconds."""

    queue: list[Any]
    max_new: Sequence[int]

    def begin(self, upper: Sequence[int], order: str, conservativeness: float, draw: Draw) -> None:
        self.max_new, self.order, self.draw = upper, order, draw
        self.first = min(Fraction(7, 10) * Fraction(str(conservativeness)), Fraction(1))
        self.last = Fraction(14, 100) * self.first
        self.step = (self.first - self.last) / 600
        self.ratio = self.first
        self.full = False
        self.draws: dict[int, float] = {}
        self.prefilled = 0
        self.stamps: dict[int, int] = {}

    def completed(self) -> None:
        self.full = False

    def arrive(self, job: Any) -> None:
        self.draws[job.position] = self.draw() if self.order == "random" else 0.0
        self.stamps[job.position] = self.prefilled
        self.queue.append(job)

    def keys(self) -> Callable[[Any], float]:
        keys: dict[str, Callable[[Any], float]] = {
            "fcfs": lambda job: self.draws[job.position],
            "lof": lambda job: -self.max_new[job.position],
            "shortest-prefill-first": lambda job: max(1, job.prompt + job.made),
            "random": lambda job: self.draws[job.position],
        }
        return keys[self.order]

    def to_come(self, job: Any) -> int:
        left: int = self.max_new[job.position] - job.made
        return min(left, 4096)


class _Reserving(Ratio, Worker):
    keeps_tokens = True

    def __init__(self, instance: Instance, *given: Any) -> None:
        super().__init__(instance)
        self.begin(*given)

    def start(self, job: Job) -> None:
        super().start(job)
        self.prefilled += job.prompt + job.made

    def place(self, job: Job) -> tuple[int, Fraction, str]:
        """Return the place by response ratio: first without a prompt, then the largest."""
        waited = self.prefilled - self.stamps[job.position]
        return bool(job.prompt), -Fraction(waited, max(1, job.prompt)), str(job.position)

    def in_order(self) -> list[Job]:
        if self.order == "hrrn":
            if len(self.queue) <= 128:
                self.queue.sort(key=lambda job: self.place(job))
            return list(self.queue)
        return sorted(self.queue, key=self.keys())

    def evict(self) -> None:
        # Retract the fewest output tokens (ties: longest prompt, then last admitted).
        while self.held_next() > self.memory:
            fewest = min(job.made for job in self.running)
            candidates = [job for job in self.running if job.made == fewest]
            longest = max(job.prompt for job in candidates)
            victim = [job for job in candidates if job.prompt == longest][-1]
            self.stop(victim)
            self.arrive(victim)
        if self.evicted_now:
            # The share of max_new that the others will have made in 20 rounds.
            made = sum(job.made for job in self.running) + 20 * len(self.running)
            max_new = sum(self.max_new[job.position] for job in self.running)
            self.ratio = min(Fraction(1), Fraction(made, max_new + 1))
            self.full = False

    def admit(self) -> None:
        if self.evicted_now:
            return
        decoding = bool(self.running)
        if not self.full:
            held = sum(job.prompt + job.made for job in self.running)
            charged = held + self.ratio * sum(map(self.to_come, self.running))
            for job in self.in_order():
                charged += job.prompt + job.made + self.to_come(job)
                if charged > self.memory or self.held_next() + job.next_tokens > self.memory:
                    self.full = True
                    break
                self.start(job)
        # Each decode round takes a step off the ratio, an idle one starts again at the top.
        if decoding:
            self.ratio = max(self.ratio - self.step, self.last)
        elif not self.running:
            self.ratio = self.first
