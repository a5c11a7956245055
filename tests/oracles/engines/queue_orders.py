"""vLLM's steps with another order of the queue, in unit rounds: TIE and γ-boost."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from math import exp, log
from statistics import fmean

from heuristics.reference.round_worker import Job
from instances import Instance
from schedules import Schedule
from tests.oracles.engines.vllm_v1 import Engine, _Blocks


def tie(
    instance: Instance,
    laws: Sequence[Sequence[float]],
    arrived: Sequence[float],
    beta: float,
    gamma: float,
    tau: float,
    engine: Engine,
) -> Schedule:
    """By mean and tail of the law, times a factor for the time that a request has waited."""

    def key(job: Job) -> float:
        law, batches = laws[job.position], len(worker.queue) / worker.most_running
        weight = beta or min(0.5, max(0.1, 0.1 * batches))
        score = max(1, round(fmean(law) + weight * fmean(law[90:])))
        # At any time the order is the same; this is the last arrival.
        return float(score * gamma ** ((max(arrived) - arrived[job.position]) / tau))

    worker = _Ordered(instance, *engine)
    worker.key, worker.places = key, {}
    return replace(worker.serve("tie"), engine_accounting=worker.engine)


def gamma_boost(
    instance: Instance, arrived: Sequence[float], gamma: float, token: float, engine: Engine
) -> Schedule:
    """By arrival less the boost of the prefill."""

    def key(job: Job) -> float:
        work = token * max(1, job.prompt + job.made)
        return arrived[job.position] - log(1 / (1 - exp(-gamma * work))) / gamma

    worker = _Ordered(instance, *engine)
    worker.key, worker.places = key, {}
    return replace(worker.serve("gamma-boost"), engine_accounting=worker.engine)


class _Ordered(_Blocks):
    #: Key of a request that has just begun to wait.
    key: Callable[[Job], float]
    places: dict[int, tuple[float, int, int]]

    def arrive(self, job: Job) -> None:
        super().arrive(job)
        self.places[job.position] = self.key(job), job.arrival, job.position

    def put_back(self, job: Job) -> None:
        super().put_back(job)
        self.places[job.position] = self.key(job), job.arrival, job.position

    def admit(self) -> None:
        self.queue.sort(key=lambda job: self.places[job.position])
        super().admit()
