"""Fluid thresholds by output class, with look-ahead (arXiv 2504.11320, WAIT; our reading).

The source groups prompts by type, gives each type a threshold from the balance of a fluid model
and runs a type only when as many of its prompts have gathered, at most that many per stage.  Its
full text was not at hand when this was written (abstract, summaries and the authors' simulator
were), and its worker can pause a request without freeing memory, which no schedule here can.  So
this is our reading in unit rounds:

- The type of a request is its output class: 1, 2, 3–4, 5–8, ... tokens.
- The threshold of class j is n_j = ⌈scale · M · c_j / V⌉, where c_j requests of the class have
  arrived so far and V is the volume s·o + o(o+1)/2 of all that have arrived.  With that mix, a
  worker that keeps its M tokens full finishes M · c_j / V requests of the class per round.
- In a round, each class with at least n_j waiting offers its n_j oldest.  Classes take turns by
  the arrival of their oldest request, and a request starts if no later time would hold more than
  M tokens; the first that does not fit ends the round.
- Below the thresholds everything waits, except that an empty worker takes what there is, in
  order of arrival: so the last requests are served too, and a lone one starts at once.

It is clairvoyant, and uses nothing that has not arrived.

Guarantee: the source states near-optimal throughput in heavy traffic; none is claimed for this
reading.

Reference: ``heuristics/reference/wait.py``.
"""

from __future__ import annotations

from bisect import insort
from heapq import merge
from math import ceil

from heuristics.admission import first_feasible_start, insert_active, remove_active
from heuristics.policy import Known, Parameter, RoundPolicy, Rules, State
from heuristics.queues import exact

SCALE = Parameter("scale", 1.0, 0.001, 1e6, "factor on the thresholds of the fluid balance")


class ThresholdRules:
    """Classes that wait until enough has gathered, then start where the look-ahead allows it.

    Parameters
    ----------
    scale
        Factor on the thresholds.
    """

    def __init__(self, known: Known, scale: float) -> None:
        n = len(known)
        self.prompts: list[int] = known.prompts.tolist()
        self._flow = exact(scale) * known.memory
        self._arrived: list[int] = []
        self._places: dict[int, int] = {}
        self._waiting: dict[int, list[int]] = {}
        self._entered: dict[int, int] = {}
        self._volume = 0
        self._ends, self._bases, self._ids = [0] * n, [0] * n, [0] * n
        self._active = 0
        self._quiet = True

    def length(self, request: int, kept: int) -> int:
        """Return for how many rounds a request that kept tokens will run at most."""
        raise NotImplementedError

    def enter(self, request: int, kept: int, group: int) -> None:
        """Let a request wait in a class, in order of arrival."""
        length = self.length(request, kept)
        insort(self._waiting.setdefault(group, []), self.place(request))
        self._entered[group] = self._entered.get(group, 0) + 1
        self._volume += (self.prompts[request] + kept) * length + length * (length + 1) // 2

    def place(self, request: int) -> int:
        """Return how many requests had arrived before a request; the first call is its arrival."""
        if request not in self._places:
            self._places[request] = len(self._arrived)
            self._arrived.append(request)
        return self._places[request]

    def threshold(self, group: int) -> int:
        """Return how many must wait in a class before any of them starts."""
        return ceil(self._flow * self._entered[group] / self._volume)

    def leave(self, request: int) -> None:
        """Take note that a request is no longer active."""
        remove_active(self._ends, self._bases, self._ids, self._active, request)
        self._active -= 1

    def finish(self, request: int, output: int) -> None:
        del output
        self.leave(request)

    def admit(self, state: State) -> list[int]:
        ready = self._ready()
        offers = [
            place for group in ready for place in self._waiting[group][: self.threshold(group)]
        ]
        if not ready and not state.starts:
            offers = list(merge(*self._waiting.values()))
        admitted = []
        for place in offers:
            request = self._arrived[place]
            if self._begin(request, state) > state.now:
                break
            self._start(request, state)
            admitted.append(request)
        started = set(map(self.place, admitted))
        for waiting in self._waiting.values():
            # What starts of a class is a prefix of it.
            del waiting[: sum(place in started for place in waiting[: len(started)])]
        self._quiet = self._nothing_next(state)
        return admitted

    def quiet(self) -> bool:
        return self._quiet

    def fingerprint(self) -> object:
        return None

    def started(self, request: int, end: int, state: State) -> None:
        """Take note that a request starts now and will have left the worker at ``end``."""

    def _ready(self) -> list[int]:
        """Return the classes that have gathered their threshold, by their oldest request."""
        ready = [
            group
            for group, waiting in self._waiting.items()
            if waiting and len(waiting) >= self.threshold(group)
        ]
        return sorted(ready, key=lambda group: self._waiting[group][0])

    def _begin(self, request: int, state: State) -> int:
        """Return the first round in which a request fits; the next end if not before it."""
        if self._active == 0:
            return state.now
        kept = state.kept(request)
        prompt, length = self.prompts[request] + kept, self.length(request, kept)
        lists = (self._ends, self._bases)
        begin: int = first_feasible_start(
            *lists, self._active, prompt, length, state.memory, state.now, self._ends[0]
        )
        return begin

    def _start(self, request: int, state: State) -> None:
        kept = state.kept(request)
        end = state.now + self.length(request, kept)
        base = self.prompts[request] + kept - state.now
        insert_active(self._ends, self._bases, self._ids, self._active, end, base, request)
        self._active += 1
        self.started(request, end, state)

    def _nothing_next(self, state: State) -> bool:
        # The classes that are ready stay so until something arrives or leaves, and the first of
        # them decides whether a round admits anything.
        ready = self._ready()
        if not ready or self._active == 0:
            return True
        return self._begin(self._arrived[self._waiting[ready[0]][0]], state) >= self._ends[0]


class _OutputClasses(ThresholdRules):
    def __init__(self, known: Known, scale: float) -> None:
        super().__init__(known, scale)
        self._outputs: list[int] = known.outputs.tolist()

    def length(self, request: int, kept: int) -> int:
        return self._outputs[request] - kept

    def arrive(self, request: int) -> None:
        self.place(request)
        self.enter(request, 0, (self._outputs[request] - 1).bit_length())

    def evict(self, state: State) -> list[int]:
        del state
        raise AssertionError("look-ahead admission never exceeds the memory")


def rules(known: Known) -> Rules:
    """Return the rules of one run."""
    return _OutputClasses(known, known.values["scale"])


POLICY = RoundPolicy("wait", parameters=(SCALE,), rules=rules)
