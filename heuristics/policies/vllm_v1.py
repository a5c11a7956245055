"""vLLM's V1 scheduler: arrival order, preempts the last admitted (source of vllm-project/vllm).

A step is planned so:

- The running requests come first, in order of admission: one token each, or the next chunk of a
prompt.  Where blocks do not suffice, the last one is preempted, and so on until the rest fits.  It
frees its memory, goes to the head of the queue and keeps its output tokens, which are prefilled
again with its prompt.
- Without a preemption, requests are admitted from the head of the queue: as long as fewer than
  ``running`` run, the step's token ``budget`` lasts, and the blocks for the prompt and what it kept
  are free.  Nothing is reserved for the output.  The first that does not fit ends the step.

With ``asynchronous=yes`` a step is planned when the one before begins: what completes in that one
still holds its blocks and its seat, what arrives in it waits.  An empty plan is made again.

The engine's ``victim`` is ``last``.  ``fewest-computed`` is proposed in vLLM's issue 54644 and pull
request 53723, both open on 2026-09-01: the request that needs blocks is spared unless it is alone,
and of equals the latest admitted goes.  ``largest`` is kvopt's own, with the same two rules.

The policy is not clairvoyant and uses no prediction.  ``docs/policies.md`` has its parameters, and
the comparison with the engine.

Guarantee: none is claimed.  It always ends.  Proof: docs/proofs/termination.md (P11).
"""

from heuristics.engine_plan import SparingPlan
from heuristics.engine_rules import PARAMETERS, EngineRules
from heuristics.policy import Choice, Known, RoundPolicy, State


class _FewestComputed(SparingPlan):
    name = "vllm-v1"

    def keeping(self, state: State, request: int) -> int:
        return self._tokens(state, request)[1]


class _Largest(SparingPlan):
    name = "vllm-v1"

    def keeping(self, state: State, request: int) -> int:
        return -self._tokens(state, request)[0]


_RULES: dict[str, type[EngineRules]] = {
    "last": EngineRules,
    "fewest-computed": _FewestComputed,
    "largest": _Largest,
}


def _rules(known: Known) -> EngineRules:
    return _RULES[known.values["victim"]](known)


POLICY = RoundPolicy(
    "vllm-v1",
    clairvoyant=False,
    blind=True,
    keeps_tokens=True,
    parameters=(*PARAMETERS, Choice("victim", tuple(_RULES), "running request to be preempted")),
    rules=_rules,
)
