"""The machine time that requests are believed to need yet, by which ``srpt`` compares them."""

from __future__ import annotations

from heuristics.machine_time import machine_time
from heuristics.policy import Ints, Known


class RemainingWork:
    """Keys by believed outputs (tokens, shape (n,)); who outlives one is believed to make a token.

    A waiting request has to prefill its prompt and what it kept.
    """

    def __init__(self, known: Known, believed: Ints, *, falls: bool) -> None:
        self.falls = falls
        self._model, self._memory = known.batch_time, known.memory
        self._prompts, self._believed = known.prompts.tolist(), believed.tolist()

    def waiting(self, request: int, kept: int) -> int:
        return self._time(request, kept, prefilled=False)

    def running(self, request: int, made: int) -> int:
        return self._time(request, made, prefilled=True)

    def left(self, request: int, made: int) -> int:
        believed: int = self._believed[request]
        return max(believed - made, 1)

    def _time(self, request: int, made: int, *, prefilled: bool) -> int:
        held, left = self._prompts[request] + made, self.left(request, made)
        return machine_time(self._model, self._memory, held, left, prefilled=prefilled)
