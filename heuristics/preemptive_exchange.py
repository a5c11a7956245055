"""Preemption for less work: a waiting request replaces a running one that has much more.

An evicted request keeps its output tokens and prefills them again with its prompt.  A round:

1. If the running requests would hold more than M tokens at the next time, those that hold the
   fewest, of equals the last, are evicted until the rest fits, and nothing else happens.
2. Else the waiting requests are taken by their keys, the smallest first.  Each starts if as
   believed M is not exceeded until it completes.  Where it is, running requests with more than
   ``factor`` times its key go first, the largest key before others, of equals the last, until it
   fits.  If it does not fit then, these stay, and the round's admission ends.

A request that starts in a round is not evicted in it, nor the other way round.  Ties go by arrival,
then by position.  Every request completes.  Proof: docs/proofs/termination.md (P11).
"""

from bisect import insort
from functools import partial

from heuristics.arrival_queue import exact_fraction
from heuristics.look_ahead_rules import LookAheadAdmission
from heuristics.machine_time import machine_time
from heuristics.policy import Ints, Known, Parameter, State

#: Factor by which a running request has to exceed a waiting one, to be evicted for it.
FACTOR = Parameter("factor", 12.0, 1.0, 1e9, "a running request goes for one of so much less")


class RemainingWork:
    """Keys by the machine time that is left, by believed outputs (tokens, shape (n,)).

    The keys are integers; made and kept are output tokens.
    """

    def __init__(self, known: Known, believed: Ints, *, falls: bool = False) -> None:
        self._prompts: list[int] = known.prompts.tolist()
        self.believed: list[int] = believed.tolist()
        #: True where the key of a running request never rises.
        self.falls = falls
        self._time = partial(machine_time, known.batch_time, known.memory)

    def waiting(self, request: int, kept: int) -> int:
        """Return the key of a waiting request, which is prefilled anew."""
        held = self._prompts[request] + kept
        return self._time(held, self.left(request, kept), prefilled=False)

    def running(self, request: int, made: int) -> int:
        """Return the key of a running request."""
        held = self._prompts[request] + made
        return self._time(held, self.left(request, made), prefilled=True)

    def left(self, request: int, made: int) -> int:
        """Return how many tokens a request is believed to make yet, at least one."""
        return max(self.believed[request] - made, 1)


class PreemptiveRules(LookAheadAdmission):
    """The rules of one run (``heuristics.policy.Rules``)."""

    def __init__(self, known: Known, work: RemainingWork) -> None:
        super().__init__()
        self._work = work
        self._factor = exact_fraction(known.values["factor"])
        self._places: dict[int, int] = {}
        #: Key, place by arrival and request of those that wait, the smallest first.
        self._waiting: list[tuple[int, int, int]] = []
        self._starting: list[int] = []

    def arrive(self, request: int) -> None:
        self._places[request] = len(self._places)
        self._wait(request, 0)

    def finish(self, request: int, output: int) -> None:
        super().finish(request, output)
        self._quiet = False

    def next_eviction(self, state: State) -> int | None:
        return state.now if self._waiting and not self._quiet else None

    def evict(self, state: State) -> list[int]:
        running = sorted(
            (self._work.running(i, state.made(i)), self._places[i], i) for i in state.starts
        )
        if state.tokens_next > state.memory:
            evicted = self._relieve(state, running)
        else:
            evicted = self._exchange(state, running)
        for request in evicted:
            self._wait(request, state.made(request))
        return evicted

    def admit(self, state: State) -> list[int]:
        del state
        starting, self._starting = self._starting, []
        return starting

    def _wait(self, request: int, kept: int) -> None:
        insort(self._waiting, (self._work.waiting(request, kept), self._places[request], request))
        self._quiet = False

    def _relieve(self, state: State, running: list[tuple[int, int, int]]) -> list[int]:
        evicted = []
        tokens_next = state.tokens_next
        by_tokens = [(state.prompts[i] + state.made(i), -place, i) for _, place, i in running]
        for held, _, request in sorted(by_tokens):
            if tokens_next <= state.memory:
                break
            tokens_next -= held + 1
            self._ends.remove(request)
            evicted.append(request)
        return evicted

    def _exchange(self, state: State, running: list[tuple[int, int, int]]) -> list[int]:
        evicted: list[int] = []
        tokens_next = state.tokens_next
        while self._waiting:
            key, _, request = self._waiting[0]
            kept = state.kept(request)
            held, left = state.prompts[request] + kept, self._work.left(request, kept)
            gone: list[int] = []
            while not self._ends.allows(state, tokens_next, held, left):
                if not running or running[-1][0] <= self._factor * key:
                    # Until something ends or comes, keys that fall let no one else go, and the
                    # tokens of those that stay only grow.
                    self._quiet = self._work.falls and tokens_next + held + 1 > state.memory
                    for stays in gone:
                        self._run(state, stays, state.made(stays))
                    return evicted
                gone.append(running.pop()[2])
                tokens_next -= state.prompts[gone[-1]] + state.made(gone[-1]) + 1
                self._ends.remove(gone[-1])
            del self._waiting[0]
            self._run(state, request, kept)
            tokens_next += held + 1
            self._starting.append(request)
            evicted += gone
        return evicted

    def _run(self, state: State, request: int, made: int) -> None:
        held = state.prompts[request] + made
        self._ends.add(request, held, self._work.left(request, made), state.now)
