"""γ-boost: arrival less a boost for little work, in vLLM's engine (UniBoost, arXiv 2606.18431).

The step of ``vllm-v1``, except that the queue is in order of a − b(w), with a the arrival, w the
work that a request needs before its next token, and b(w) = ln(1/(1 − exp(−γw)))/γ.  A large γ means
the order of arrival, a small one the least work.  Nothing of outputs is used.

As in the author's code (yl3469/sglang 9979a9ac, schedule_policy.py) w is a time for each token of
the prompt and of the kept output; the paper's w is the service received.  Ours: vLLM's admission, a
token at least, and the defaults in rounds.  Not built, since no text at hand defines it: the
choice of who is swapped out, the hysteresis, and the fit of γ.  Guarantee: none is claimed.  It
always ends.  Proof: docs/proofs/termination.md (P11).
"""

from math import expm1, inf, log
from typing import Any

from heuristics.engine_rules import PARAMETERS, EngineRules
from heuristics.policy import Known, Parameter, RoundPolicy, State


class _BoostRules(EngineRules):
    name = "gamma-boost"

    def __init__(self, known: Known) -> None:
        super().__init__(known)
        timed = known.ticks > 1
        self._gamma = known.values["gamma"] or (10.0 if timed else 0.01)
        self._token = known.values["token"] or (64e-6 if timed else 1.0)
        self._ticks, self._arrivals = known.ticks, known.arrivals.tolist()
        #: Tokens to prefill before the next one of each request.
        self._work = known.prompts.tolist()

    def _preempt(self, state: State, request: int) -> None:
        super()._preempt(state, request)
        tokens = state.made if request in state.starts else state.kept
        self._work[request] = state.prompts[request] + tokens(request)

    def _place(self, request: int, preempted: bool) -> tuple[Any, ...]:
        del preempted
        work, arrival = self._token * max(1, self._work[request]), self._arrivals[request]
        share = -expm1(-self._gamma * work)
        boost = -log(share) / self._gamma if share > 0 else inf  # underflow
        return arrival / self._ticks - boost, arrival, request


POLICY = RoundPolicy(
    "gamma-boost",
    clairvoyant=False,
    blind=True,
    keeps_tokens=True,
    parameters=(
        Parameter("gamma", 0, 0, 1e6, "of the boost (0: 10 a second, 0.01 a round)"),
        Parameter("token", 0, 0, 1e6, "seconds or rounds of a token's work (0: 64 µs, 1 round)"),
        *PARAMETERS,
    ),
    rules=_BoostRules,
)
