"""α-protection and β-clearing as J1 sec. 7 and J2 sec. 5.2 describe them (no pseudocode there)."""

from collections.abc import Callable
from fractions import Fraction
from math import floor

from heuristics.reference import EndlessError
from heuristics.reference.round_worker import Worker
from instances import Instance
from schedules import Schedule


def alpha_greedy(instance: Instance, alpha: float) -> Schedule:
    """On overflow all active requests are cleared."""
    return _Protection(instance, alpha, lambda: True, certain=True).serve("alpha-greedy")


def alpha_beta(
    instance: Instance, alpha: float, beta: float, draw: Callable[[], float]
) -> Schedule:
    """On overflow each active request is cleared with probability β, until the rest fits."""
    worker = _Protection(instance, alpha, lambda: draw() < beta, certain=beta == 1)
    return worker.serve("alpha-beta")


class _Protection(Worker):
    def __init__(
        self, instance: Instance, alpha: float, clears: Callable[[], bool], *, certain: bool
    ) -> None:
        super().__init__(instance)
        self.limit = floor((1 - Fraction(str(alpha))) * self.memory)  # (1 − α)M
        self.clears, self.certain = clears, certain
        self.cleared_without_completion = 0

    def completed(self) -> None:
        self.cleared_without_completion = 0

    def evict(self) -> None:
        # If the active requests overflow the memory, they are cleared and wait unprocessed.
        while self.held_next() > self.memory:
            if self.certain and self.all_arrived:
                # A clearing leaves an empty worker and all unfinished requests in arrival order.
                # If the one before left the same, everything repeats.
                self.cleared_without_completion += 1
                if self.cleared_without_completion == 2:
                    raise EndlessError
            for job in list(self.running):
                if self.clears():
                    self.stop(job)
                    self.queue.append(job)
        self.queue.sort(key=lambda job: (job.arrival, job.position))

    def admit(self) -> None:
        # Active requests go on; a new one with s + 1 joins while at most (1 − α)M are in use.
        while self.queue:
            job = self.queue[0]
            if self.running and self.held_next() + job.prompt + 1 > self.limit:
                break
            self.start(job)
