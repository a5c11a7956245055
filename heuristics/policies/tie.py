"""TIE: smallest mean and tail of the predicted law first, in vLLM's engine (arXiv 2604.00499).

The step of ``vllm-v1``, except that the queue is in order of score·γ^(waited/τ).  The score is
E[X] + β·CVaR(X) (Eq. 11), rounded, at least 1; X is the predicted output, CVaR the mean of its last
tenth.  Between two waiting requests the factor of the time cancels, so ageing is a fixed key.
Fixed β, or (Eq. 12) 0.1 for each batch that waits when the request arrives, within 0.1 and 0.5.

Ours: the largest ten of 100 atoms are the tail; a preempted request keeps its score; a prediction
without a law is uniform on its interval; in rounds τ counts rounds.  Read: the authors' code, not
the paper's text (Hyzheng-code/TIE ce6ddc4d: ua_score_calculator, ua_predictor, request_queue.py).

Guarantee: none is claimed.  It always ends.  Proof: docs/proofs/termination.md (P11).

Reference: ``heuristics/reference/queue_orders.py``.
"""

from __future__ import annotations

from math import fsum, log
from typing import Any

from heuristics.engine_rules import PARAMETERS, EngineRules
from heuristics.policy import ATOMS, Known, Parameter, RoundPolicy


class _TailRules(EngineRules):
    name = "tie"

    def __init__(self, known: Known) -> None:
        super().__init__(known)
        self._laws = known.laws
        self._beta = known.values["beta"]
        #: Share of the logarithm of a score for each unit of the arrivals.
        self._ageing = -log(known.values["gamma"]) / (known.values["tau"] * known.ticks)
        self._arrivals = known.arrivals.tolist()
        self._keys: dict[int, tuple[float, int, int]] = {}

    def arrive(self, request: int) -> None:
        super().arrive(request)
        waiting = len(self._queue) + len(self._arrived)
        beta = self._beta or min(0.5, max(0.1, 0.1 * waiting / self._most))
        law, arrival = self._laws[request].tolist(), self._arrivals[request]
        tail = ATOMS // 10
        score = max(1, round(fsum(law) / ATOMS + beta * (fsum(law[-tail:]) / tail)))
        self._keys[request] = (log(score) + arrival * self._ageing, arrival, request)

    def _place(self, request: int, preempted: bool) -> tuple[Any, ...]:
        del preempted
        return self._keys[request]


POLICY = RoundPolicy(
    "tie",
    clairvoyant=False,
    keeps_tokens=True,
    parameters=(
        Parameter("beta", 0.1, 0.0, 1e6, "weight of the tail (0: by the queue, Eq. 12)"),
        Parameter("gamma", 0.9, 1e-6, 1.0, "factor of the score in each tau that is waited"),
        Parameter("tau", 30.0, 1e-3, 1e9, "seconds, or rounds"),
        *PARAMETERS,
    ),
    rules=_TailRules,
)
