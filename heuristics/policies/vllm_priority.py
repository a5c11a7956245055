"""vLLM's V1 scheduler by priority: smaller predicted output first (source of vllm-project/vllm).

The engine with ``--scheduling-policy priority``; the priority of a request is the estimate of its
output.  A step is planned as in ``vllm-v1``, except for these rules:

- The queue is in order of priority, arrival, and position as a text ("10" before "9").
- The running request with the largest (priority, arrival) is preempted, of equals the first.  It
  may be the request that needs blocks; then those after it pause (``heuristics/engine_plan.py``).

The policy is not clairvoyant.  The parameters are the engine's (``docs/policies.md``).

Guarantee: none is claimed.  It always ends if no two requests have equal estimates and arrivals.
Proof: docs/proofs/termination.md (P11).
"""

from typing import Any

from heuristics.engine_plan import EnginePlan
from heuristics.engine_rules import PARAMETERS
from heuristics.policy import Known, RoundPolicy, State


class _PriorityRules(EnginePlan):
    name = "vllm-priority"

    def __init__(self, known: Known) -> None:
        super().__init__(known)
        rows = zip(known.estimates.tolist(), known.arrivals.tolist(), strict=True)
        self._places = [(*row, str(position)) for position, row in enumerate(rows)]

    def _place(self, request: int, preempted: bool) -> tuple[Any, ...]:
        del preempted
        return self._places[request]

    def victim(self, state: State, request: int) -> int:
        del state, request
        return max(self._running, key=lambda each: self._places[each][:2])


POLICY = RoundPolicy(
    "vllm-priority",
    clairvoyant=False,
    keeps_tokens=True,
    parameters=PARAMETERS,
    rules=_PriorityRules,
)
