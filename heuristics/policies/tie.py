"""TIE: smallest mean and tail of the predicted law first, in vLLM's engine (arXiv 2604.00499).

The step of ``vllm-v1``, except that the queue is in order of score·γ^(waited/τ).  The score is
E[X] + β·CVaR(X) (Eq. 11), rounded, at least 1; X is the predicted output, CVaR the mean of its last
tenth.  Between two waiting requests the factor of the time cancels, so ageing is a fixed key.
β is fixed, or (Eq. 12) 0.1 for each batch that waits when the request begins to wait, within 0.1
and 0.5.  A preempted request is predicted anew from its prompt.

Read: the authors' code (Hyzheng-code/TIE ce6ddc4d, ua_score_calculator.py, ua_predictor.py and
request_queue.py), not the paper's text.  Ours: the last ten of 100 atoms are the tail, a prediction
without a law is uniform on its interval, and in rounds τ counts rounds.

Guarantee: none is claimed.  It always ends.  Proof: docs/proofs/termination.md (P11).
"""

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

    def _place(self, request: int, preempted: bool) -> tuple[Any, ...]:
        del preempted
        batches = (len(self._queue) + 1) / self._most
        beta = self._beta or min(0.5, max(0.1, 0.1 * batches))
        law, arrival = self._laws[request].tolist(), self._arrivals[request]
        tail = ATOMS // 10
        score = max(1, round(fsum(law) / ATOMS + beta * (fsum(law[-tail:]) / tail)))
        return log(score) + arrival * self._ageing, arrival, request


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
