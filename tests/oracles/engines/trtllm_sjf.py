"""Shortest prompt first with ageing, as proposed for TensorRT-LLM; a round counts as a second."""

from collections.abc import Sequence
from fractions import Fraction

from heuristics.reference.round_worker import Job, Worker
from instances import Instance
from schedules import Schedule


def trtllm_sjf(instance: Instance, upper: Sequence[int], fade: float) -> Schedule:
    """Admit by prompt · max(0, 1 − fade · waited) while all can reach their upper ends."""
    worker = _Ageing(instance)
    worker.upper, worker.fade = upper, Fraction(str(fade))
    return worker.serve("trtllm-sjf")


class _Ageing(Worker):
    upper: Sequence[int]
    fade: Fraction

    def score(self, job: Job) -> Fraction:
        """Return the key of a waiting request."""
        return job.prompt * max(Fraction(0), 1 - self.fade * (self.now - job.arrival))

    def evict(self) -> None:
        """All can reach their upper ends."""

    def admit(self) -> None:
        while self.queue:
            first = min(self.queue, key=self.score)
            peaks = sum(job.prompt + self.upper[job.position] for job in [*self.running, first])
            if peaks > self.memory:
                break
            self.start(first)
