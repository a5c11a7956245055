"""Shortest prompt first with ageing, proposed for TensorRT-LLM (pull request 13096, closed).

No release has it: the request of 2026-04-16 was closed unmerged.  Read in ``SJFWaitingQueue`` of
its ``tensorrt_llm/_torch/pyexecutor/scheduler/waiting_queue.py``:

- Requests go by prompt · max(0, 1 − ``fade`` · waited), smallest first, ties first come first
  served.  The wait is in seconds; in rounds a round counts as a second.  No cache is shared, so the
  tokens to compute are the prompt.
- Admission is the engine's default, GUARANTEED_NO_EVICT: a request starts if the running requests
  and it can all reach their upper ends, Σ (prompt + upper end) <= M.  The first misfit ends the
  round.  The engine's limits on requests and tokens of a step, and its blocks, are left out.

The policy is not clairvoyant; the upper end of the prediction is ``max_tokens``.

Guarantee: none is claimed.  It evicts nothing, and after 1/``fade`` the oldest goes first.
"""

from heuristics.arrival_queue import exact_fraction
from heuristics.policy import Known, Parameter, RoundPolicy, Rules, State


class _AgedShortest(Rules):
    def __init__(self, known: Known) -> None:
        fade = exact_fraction(known.values["fade"])
        self._fade, self._whole = fade.numerator, fade.denominator * known.ticks
        self._arrivals: list[int] = known.arrivals.tolist()
        self._prompts: list[int] = known.prompts.tolist()
        self._peaks: list[int] = (known.prompts + known.upper).tolist()
        self._room = known.memory
        #: In order of arrival.
        self._queue: list[int] = []

    def arrive(self, request: int) -> None:
        self._queue.append(request)

    def finish(self, request: int, output: int) -> None:
        del output
        self._room += self._peaks[request]

    def admit(self, state: State) -> list[int]:
        def score(request: int) -> int:
            aged = self._fade * (state.time - self._arrivals[request])
            return self._prompts[request] * max(0, self._whole - aged)

        admitted: list[int] = []
        for request in sorted(self._queue, key=score):
            if self._peaks[request] > self._room:
                break
            self._room -= self._peaks[request]
            admitted.append(request)
        for request in admitted:
            self._queue.remove(request)
        return admitted

    def quiet(self) -> bool:
        return all(self._peaks[request] > self._room for request in self._queue)


POLICY = RoundPolicy(
    "trtllm-sjf",
    clairvoyant=False,
    parameters=(Parameter("fade", 0.005, 0.0, 1e3, "share of a key that a second takes off"),),
    rules=_AgedShortest,
)
