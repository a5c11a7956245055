"""vllm-ascend's short request first: prompts of at most 256 tokens first (source of vllm-ascend).

``vllm_ascend/core/short_request_first_scheduler.py``, lines 148-260 and 329-335, at commit
182b75ea of 2026-08-22: released, and off by default.  The queue has three parts, each first come
first served: preempted requests, the last one first; prompts of at most ``threshold`` tokens; all
others.  Everything else is ``vllm-v1``.  A long prompt may wait for ever while short ones arrive:
``long_max_wait_ms`` is 0, the source's default, and not offered.

The policy is not clairvoyant and uses no prediction.

Guarantee: none is claimed.  It always ends.  Proof: docs/proofs/termination.md (P11).
"""

from typing import Any

from heuristics.engine_rules import PARAMETERS, EngineRules
from heuristics.policy import Known, Parameter, RoundPolicy


class _ThreeLanes(EngineRules):
    name = "ascend-srf"

    def __init__(self, known: Known) -> None:
        super().__init__(known)
        self._is_long = (known.prompts > known.values["threshold"]).tolist()

    def _place(self, request: int, preempted: bool) -> tuple[Any, ...]:
        lane, entry = super()._place(request, preempted)
        return lane + self._is_long[request] * (not preempted), entry


POLICY = RoundPolicy(
    "ascend-srf",
    clairvoyant=False,
    blind=True,
    keeps_tokens=True,
    parameters=(
        *PARAMETERS,
        Parameter("threshold", 256, 0, 1e9, "longest short prompt, tokens", True),
    ),
    rules=_ThreeLanes,
)
