"""vLLM's V1 scheduler that preempts the most predicted tokens left (kvopt; no engine has it).

As ``vllm-v1`` with ``victim=fewest-computed``, but the victim is the running request with the
largest estimated output less the tokens made.  Refreshed estimates count as they are then.

The policy is not clairvoyant.  The parameters are the engine's (``docs/policies.md``).

Guarantee: none is claimed.  It always ends.  Proof: docs/proofs/termination.md (P11).
"""

from heuristics.engine_plan import SparingPlan
from heuristics.engine_rules import PARAMETERS
from heuristics.policy import RoundPolicy, State


class _MostLeft(SparingPlan):
    name = "vllm-most-left"

    def keeping(self, state: State, request: int) -> int:
        if request in self._still_held:
            return 0
        made = state.made(request) if request in state.starts else state.kept(request)
        return made - state.estimate(request)


POLICY = RoundPolicy(
    "vllm-most-left",
    clairvoyant=False,
    keeps_tokens=True,
    parameters=PARAMETERS,
    rules=_MostLeft,
)
