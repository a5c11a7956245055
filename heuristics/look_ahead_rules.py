"""The look-ahead of rules that believe in outputs they do not know (chen2025 (3))."""

from bisect import bisect_left, bisect_right, insort
from collections.abc import Callable, Iterator, Sequence

import numpy as np

from heuristics.policy import Ints, Rules, State


class BelievedEnds:
    """Believed ends of the active requests, and the look-ahead among them.

    A request is believed to make as many tokens as was said when it was added, and one more than it
    has made as soon as that is more.  Those of one end are counted together, so a look-ahead costs
    as many steps as there are different ends.
    """

    def __init__(self) -> None:
        # Only ends after the round of the last look-ahead: a request that has outlived its end is
        # believed to end at the next time, and what it holds then is in ``State.tokens_next``.
        self._ends: list[int] = []
        #: Number of requests by end, and the sum of prompt − start (they hold that + time each).
        self._groups: dict[int, list[int]] = {}
        self._all = [0, 0]
        self._of: dict[int, tuple[int, int]] = {}

    def add(self, request: int, prompt: int, belief: int, now: int) -> None:
        """Take note of a start in round ``now`` with a believed output (tokens)."""
        end, base = now + belief, prompt - now
        if end not in self._groups:
            insort(self._ends, end)
            self._groups[end] = [0, 0]
        self._of[request] = (end, base)
        self._change(end, 1, base)

    def remove(self, request: int) -> None:
        """Take note that a request has completed or was cancelled."""
        end, base = self._of.pop(request)
        if end not in self._groups:
            return
        self._change(end, -1, -base)
        if not self._groups[end][0]:
            del self._groups[end], self._ends[bisect_left(self._ends, end)]

    def allows(self, state: State, tokens_next: int, prompt: int, belief: int) -> bool:
        """Return whether a request can start now without exceeding M if all beliefs are true.

        ``tokens_next`` are held at time ``state.now + 1`` by all that run or start now.
        """
        if tokens_next + prompt + 1 > state.memory:
            return False
        past = bisect_right(self._ends, state.now)
        for end in self._ends[:past]:
            count, bases = self._groups[end]
            self._change(end, -count, -bases)
            del self._groups[end]
        del self._ends[:past]
        count, bases = self._all
        last = state.now + belief
        # Tokens held only grow between two ends, so it is enough to look at the ends.
        for end in self._ends:
            if end >= last:
                break
            if bases + count * end + prompt + end - state.now > state.memory:
                return False
            ended, their_bases = self._groups[end]
            count -= ended
            bases -= their_bases
        return count == 0 or bases + count * last + prompt + belief <= state.memory

    def _change(self, end: int, count: int, base: int) -> None:
        for totals in (self._groups[end], self._all):
            totals[0] += count
            totals[1] += base


class LookAheadAdmission(Rules):
    """Admission in an order, until the look-ahead refuses the next request."""

    #: True where another request may be next in the next round.
    redraws = False

    def __init__(self, beliefs: Sequence[int] = ()) -> None:
        self._ends = BelievedEnds()
        self._quiet = False
        #: Believed output of each request (tokens).
        self._beliefs = [*beliefs]

    def head(self) -> int | None:
        """Return the next waiting request, None if there is none."""
        raise NotImplementedError

    def take(self, request: int, now: int) -> None:
        """Take note that the next waiting request starts."""
        raise NotImplementedError

    def finish(self, request: int, output: int) -> None:
        del output
        self._ends.remove(request)

    def admit(self, state: State) -> list[int]:
        admitted: list[int] = []
        tokens_next = state.tokens_next
        self._quiet = False
        while (request := self.head()) is not None:
            prompt, belief = state.prompts[request], self._beliefs[request]
            if not self._ends.allows(state, tokens_next, prompt, belief):
                # The tokens of the active requests only grow until something ends.
                self._quiet = tokens_next + (0 if self.redraws else prompt) + 1 > state.memory
                break
            self._ends.add(request, prompt, belief, state.now)
            self.take(request, state.now)
            tokens_next += prompt + 1
            admitted.append(request)
        return admitted

    def quiet(self) -> bool:
        return self._quiet


class PlannedRules(LookAheadAdmission):
    """Rules with a plan of what waits: it yields places in the positions given, piece by piece."""

    def __init__(self, beliefs: list[int], plan: Callable[[Ints], Iterator[Ints]]) -> None:
        super().__init__(beliefs)
        self._plan_of = plan
        self._waits = np.zeros(len(beliefs), dtype=np.bool_)
        self._stale = False
        #: Begin of the plan, the next request last, and what yields the rest.
        self._line: list[int] = []
        self._rest: Iterator[Ints] = iter(())

    def arrive(self, request: int) -> None:
        self._waits[request] = self._stale = True

    def head(self) -> int | None:
        if self._stale:
            self.plan()
        if not self._line:
            for piece in self._rest:
                self.enter(piece.tolist())
                break
        return self._line[-1] if self._line else None

    def take(self, request: int, now: int) -> None:
        del now
        self._waits[request] = False
        self._line.pop()

    def plan(self) -> None:
        """Plan anew."""
        waiting = np.flatnonzero(self._waits)
        self._rest = (waiting[piece] for piece in self._plan_of(waiting))
        self._line = []
        self._stale = False

    def enter(self, piece: list[int]) -> None:
        """Take the next piece of the plan."""
        self._line = piece[::-1]
