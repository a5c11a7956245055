"""Fluid thresholds by output class, with look-ahead (arXiv 2504.11320, after WAIT, Algorithm 1).

- The class of a request is its output: 1, 2, 3–4, 5–8, ... tokens.
- The threshold of class j is n_j = ⌈scale · M · c_j / V⌉, where c_j requests of the class have
  arrived so far and V is the volume s·o + o(o+1)/2 of all that have arrived.  In unit rounds these
  are the largest thresholds of its conditions n_j ≥ λ_j and Σ n_j·volume_j ≤ M, rounded up.
- In a round, each class with at least n_j waiting offers its n_j oldest, classes by their oldest
  request.  One starts if no later time would hold more than M; the first misfit ends the round.
- An empty worker takes what there is, in order of arrival: so the last requests are served too.

The policy is clairvoyant, and uses nothing that has not arrived.  It differs from the source
(docs/policies.md), so the guarantee of the source is not claimed.
"""

from bisect import insort
from heapq import merge
from math import ceil

from heuristics.arrival_queue import exact_fraction
from heuristics.look_ahead_rules import LookAheadAdmission
from heuristics.policy import Known, Parameter, RoundPolicy, State

SCALE = Parameter("scale", 1.0, 0.001, 1e6, "factor on the thresholds of the fluid balance")


class ThresholdRules(LookAheadAdmission):
    """Classes that wait until enough has gathered, then start where the look-ahead allows it."""

    def __init__(self, known: Known) -> None:
        super().__init__()
        self.prompts: list[int] = known.prompts.tolist()
        self._flow = exact_fraction(known.values["scale"]) * known.memory
        self._arrived: list[int] = []
        self._places: dict[int, int] = {}
        self._waiting: dict[int, list[int]] = {}
        self._entered: dict[int, int] = {}
        self._volume = 0
        self._thresholds: dict[int, int] = {}

    def length(self, request: int, kept: int) -> int:
        """Return for how many rounds a request that kept tokens will run at most."""
        raise NotImplementedError

    def enter(self, request: int, kept: int, group: int) -> None:
        """Let a request wait in a class, in order of arrival."""
        length = self.length(request, kept)
        insort(self._waiting.setdefault(group, []), self.place(request))
        self._entered[group] = self._entered.get(group, 0) + 1
        self._thresholds.clear()
        self._volume += (self.prompts[request] + kept) * length + length * (length + 1) // 2

    def place(self, request: int) -> int:
        """Return how many requests had arrived before a request; the first call is its arrival."""
        if request not in self._places:
            self._places[request] = len(self._arrived)
            self._arrived.append(request)
        return self._places[request]

    def threshold(self, group: int) -> int:
        """Return how many must wait in a class before any of them starts."""
        if group not in self._thresholds:
            self._thresholds[group] = ceil(self._flow * self._entered[group] / self._volume)
        return self._thresholds[group]

    def admit(self, state: State) -> list[int]:
        ready = self._ready()
        offers = [
            place for group in ready for place in self._waiting[group][: self.threshold(group)]
        ]
        if not ready and not state.starts:
            offers = list(merge(*self._waiting.values()))
        admitted: list[int] = []
        tokens_next = state.tokens_next
        for place in offers:
            request = self._arrived[place]
            kept = state.kept(request)
            tokens, length = self.prompts[request] + kept, self.length(request, kept)
            if not self._ends.allows(state, tokens_next, tokens, length):
                break
            self._ends.add(request, tokens, length, state.now)
            self.started(request, state.now + length, state)
            tokens_next += tokens + 1
            admitted.append(request)
        started = set(map(self.place, admitted))
        for waiting in self._waiting.values():
            # What starts of a class is a prefix of it.
            del waiting[: sum(place in started for place in waiting[: len(started)])]
        self._quiet = self._nothing_next(state, tokens_next)
        return admitted

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

    def _nothing_next(self, state: State, tokens_next: int) -> bool:
        # The classes that are ready stay so until something arrives or leaves, and the first of
        # them decides whether a round admits anything.  The tokens held only grow until then.
        ready = self._ready()
        if not ready:
            return True
        request = self._arrived[self._waiting[ready[0]][0]]
        tokens = self.prompts[request] + state.kept(request)
        return tokens_next + tokens + 1 > state.memory


class _OutputClasses(ThresholdRules):
    def __init__(self, known: Known) -> None:
        super().__init__(known)
        self._outputs: list[int] = known.outputs.tolist()

    def length(self, request: int, kept: int) -> int:
        return self._outputs[request] - kept

    def arrive(self, request: int) -> None:
        self.enter(request, 0, (self._outputs[request] - 1).bit_length())


POLICY = RoundPolicy("wait", parameters=(SCALE,), rules=_OutputClasses)
