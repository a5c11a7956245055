"""vLLM's steps with another order of the queue, in unit rounds: TIE and γ-boost.

The docstrings of the policies say what was read.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import exp, log
from statistics import fmean
from typing import Any

from heuristics.reference.round_worker import Job
from heuristics.reference.vllm_v1 import _Blocks
from instances import Instance
from schedules import Schedule


def tie(
    instance: Instance,
    laws: Sequence[Sequence[float]],
    arrived: Sequence[float],
    beta: float,
    gamma: float,
    tau: float,
    engine: tuple[Any, ...],
) -> Schedule:
    """By mean and tail of the law, times a factor for the time that a request has waited."""
    worker = _ByTail(instance, *engine)
    worker.arrived, worker.laws, worker.beta, worker.ageing = arrived, laws, beta, (gamma, tau)
    worker.scores = {}
    return replace(worker.serve("tie"), engine_accounting=worker.engine)


def gamma_boost(
    instance: Instance,
    arrived: Sequence[float],
    gamma: float,
    token: float,
    engine: tuple[Any, ...],
) -> Schedule:
    """By arrival less the boost of the prefill."""
    worker = _ByBoost(instance, *engine)
    worker.arrived, worker.gamma, worker.token = arrived, gamma, token
    return replace(worker.serve("gamma-boost"), engine_accounting=worker.engine)


class _Ordered(_Blocks):
    arrived: Sequence[float]

    def key(self, job: Job) -> float:
        raise NotImplementedError

    def admit(self) -> None:
        self.queue.sort(key=lambda job: (self.key(job), self.arrived[job.position], job.position))
        super().admit()


class _ByTail(_Ordered):
    laws: Sequence[Sequence[float]]
    beta: float
    #: Factor, and the time that it counts for.
    ageing: tuple[float, float]
    scores: dict[int, int]

    def arrive(self, job: Job) -> None:
        super().arrive(job)
        self.predict(job)

    def put_back(self, job: Job) -> None:
        super().put_back(job)
        self.predict(job)

    def predict(self, job: Job) -> None:
        """Note the score of a request that has begun to wait."""
        law, batches = self.laws[job.position], len(self.queue) / self.most_running
        beta = self.beta or min(0.5, max(0.1, 0.1 * batches))
        self.scores[job.position] = max(1, round(fmean(law) + beta * fmean(law[90:])))

    def key(self, job: Job) -> float:
        factor, time = self.ageing
        # At any time the order is the same; this is the last arrival.
        waited = max(self.arrived) - self.arrived[job.position]
        return float(self.scores[job.position] * factor ** (waited / time))


class _ByBoost(_Ordered):
    gamma: float
    token: float

    def key(self, job: Job) -> float:
        work = self.token * max(1, job.prompt + job.made)
        return self.arrived[job.position] - log(1 / (1 - exp(-self.gamma * work))) / self.gamma
