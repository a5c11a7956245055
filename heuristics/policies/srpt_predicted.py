"""Shortest remaining processing time by predicted outputs, refreshed as tokens are made (ours).

The rules of ``srpt``, with estimates for the true outputs.  A running request has the estimate that
its tokens give in this round, an evicted one keeps its last, as TRAIL does (arXiv 2410.01035).  A
request that has made as many tokens is believed to make one more.
"""

from heuristics.policy import Known, RoundPolicy, State
from heuristics.preemptive_exchange import FACTOR, PreemptiveRules, RemainingWork


class _RefreshedRules(PreemptiveRules):
    def __init__(self, known: Known) -> None:
        super().__init__(known, RemainingWork(known, known.estimates))

    def evict(self, state: State) -> list[int]:
        for request in state.starts:
            if (estimate := state.estimate(request)) != self._work.believed[request]:
                self._work.believed[request] = estimate
                self._ends.remove(request)
                self._run(state, request, state.made(request))
        return super().evict(state)


POLICY = RoundPolicy(
    "srpt-predicted",
    clairvoyant=False,
    keeps_tokens=True,
    parameters=(FACTOR,),
    rules=_RefreshedRules,
)
