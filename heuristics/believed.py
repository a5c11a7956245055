"""The look-ahead of rules that believe in outputs they do not know (chen2025 (3))."""

from __future__ import annotations

from bisect import bisect_left, bisect_right

from heuristics.admission import first_feasible_start
from heuristics.policy import State


class BelievedEnds:
    """When the active requests are believed to end, and what may start beside them.

    An active request is believed to make as many tokens as was said when it was added, and one
    more than it has made as soon as that is more: it is not finished, so its next token comes.
    """

    def __init__(self) -> None:
        # Of the requests that are believed to run beyond the next time, sorted by end, as in
        # ``heuristics.admission``; those overdue are believed to end at the next time, so all
        # that matters of them is in ``State.tokens_next``.
        self._ends: list[int] = []
        self._bases: list[int] = []
        self._ids: list[int] = []
        self._end_of: dict[int, int] = {}

    def add(self, request: int, prompt: int, belief: int, now: int) -> None:
        """Take note of a start in round ``now`` with a believed output (tokens)."""
        end = now + belief
        position = bisect_right(self._ends, end)
        self._ends.insert(position, end)
        self._bases.insert(position, prompt - now)
        self._ids.insert(position, request)
        self._end_of[request] = end

    def remove(self, request: int) -> None:
        """Take note that a request has completed or was cancelled."""
        end = self._end_of.pop(request)
        position = bisect_left(self._ends, end)
        while position < len(self._ends) and self._ends[position] == end:
            if self._ids[position] == request:
                self._delete(position, position + 1)
                return
            position += 1

    def allows(self, state: State, tokens_next: int, prompt: int, belief: int) -> bool:
        """Return whether a request can start now without exceeding M if all beliefs are true.

        Parameters
        ----------
        tokens_next
            Tokens held at time ``state.now + 1`` by what is active or was added in this round.
        prompt, belief
            Tokens of the candidate.
        """
        if tokens_next + prompt + 1 > state.memory:
            return False
        now = state.now
        self._delete(0, bisect_right(self._ends, now))
        begin = first_feasible_start(
            self._ends, self._bases, len(self._ends), prompt, belief, state.memory, now, now + 1
        )
        return bool(begin == now)

    def _delete(self, first: int, last: int) -> None:
        del self._ends[first:last], self._bases[first:last], self._ids[first:last]
