"""Forward dynamic programming over how many of each kind have started and which still run.

    level ← {nothing started}
    for t = 0, 1, ... until no state is left:
        following ← every state with every number of starts of each kind that fits
        drop states that have waited longer than the best schedule known, or that another dominates

Source: ours, for instances of few kinds, as the papers' traps.  Proof: docs/proofs/counts.md (P16).
A state's *base* are the running requests with their ages.  Its *waiting* counts arrived requests
without a start, over the rounds so far.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from formulations.dp.exact_search import ExactSearch
from instances import Instance, Request
from schedules.evidence import ProofArgument

if TYPE_CHECKING:
    from formulations.valid.windows import Windows

#: Most requests of an instance.
REQUESTS_UP_TO = 20_000
#: Sums stay below the known TEL, so that 64 bits hold them.
TEL_BELOW = 2**62
#: Bytes of a state: the counts of two kinds and the waiting.
ENTRY_BYTES = 24

#: Running requests: (kind, rounds since the start, number), sorted.
Base = tuple[tuple[int, int, int], ...]
#: A row a state: starts of each kind, and the waiting; shape (states, kinds + 1).
States = NDArray[np.int64]
Level = dict[Base, States]


@dataclass(frozen=True)
class CountsOptimum:
    """The optimum, its starts (rounds, in the instance's order), and the number of states kept."""

    tel: int
    starts: list[int]
    states: int


def search(
    instance: Instance, upper_bound: int, expired: Callable[[], bool] = lambda: False
) -> CountsOptimum | None:
    """Return the optimum; None if time was up, or no schedule has a TEL up to ``upper_bound``."""
    kinds = _Kinds(instance)
    budget = upper_bound - sum(request.output for request in instance.requests)
    levels: list[Level] = [{(): np.zeros((1, len(kinds.kinds) + 1), dtype=np.int64)}]
    best: tuple[int, int, Base] | None = None
    while levels[-1]:
        time, following = len(levels) - 1, dict[Base, list[States]]()
        for base, states in levels[-1].items():
            if expired():
                return None
            for after, reached in kinds.steps(time, base, states):
                done = reached[(reached[:, :-1] == kinds.count).all(axis=1), -1]
                if done.size and done.min() <= budget:
                    best, budget = (int(done.min()), time + 1, after), int(done.min()) - 1
                reached = reached[reached[:, -1] <= budget]
                if reached.size:
                    following.setdefault(after, []).append(reached)
        kept = {base: _undominated(parts, budget) for base, parts in following.items()}
        levels.append({base: states for base, states in kept.items() if states.size})
    if best is None:
        return None
    number = sum(len(states) for level in levels for states in level.values())
    starts = kinds.assigned(_traced(kinds, levels, best))
    outputs = sum(request.output for request in instance.requests)
    return CountsOptimum(best[0] + outputs, starts, number)


class _Kinds:
    """The kinds of an instance, and their possible starts at a round."""

    def __init__(self, instance: Instance) -> None:
        self._instance = instance
        counts = Counter(_kind(request) for request in instance.requests)
        self.kinds = sorted(counts)
        self.count = np.array([counts[kind] for kind in self.kinds], dtype=np.int64)
        # The kind of one token, which fills the memory left.
        self._filler = next((k for k, kind in enumerate(self.kinds) if kind[2] == 1), None)

    def steps(self, time: int, base: Base, states: States) -> Iterator[tuple[Base, States]]:
        """Yield the states after a round from states of one base, by the next base."""
        arrived = [k for k, kind in enumerate(self.kinds) if kind[0] <= time]
        tried = [k for k in arrived if k != self._filler]
        free = self._free(base)
        present = self.present(time)
        most = present - states[:, :-1].min(axis=0)
        for chosen in self._choices(tried, most, free):
            reached = states.copy()
            for k, number in chosen:
                reached[:, k] += number
            reached = reached[(reached[:, :-1] <= present).all(axis=1)]
            left = int(free[0]) - sum(self._tokens(k, 1) * number for k, number in chosen)
            if self._filler in arrived and self._filler is not None:
                fits = left // self._tokens(self._filler, 1)
                waiting = self.count[self._filler] - reached[:, self._filler]
                reached[:, self._filler] += np.minimum(waiting, fits)
            reached[:, -1] += (present - reached[:, :-1]).sum(axis=1)
            yield self._next(base, chosen), reached

    def present(self, time: int) -> NDArray[np.int64]:
        """Return how many of each kind have arrived by a round."""
        return np.where([kind[0] <= time for kind in self.kinds], self.count, 0)

    def assigned(self, started: list[tuple[int, ...]]) -> list[int]:
        """Return the start of each request, given the number of each kind at each round."""
        rounds = [
            iter([time for time, numbers in enumerate(started) for _ in range(numbers[k])])
            for k in range(len(self.kinds))
        ]
        place = {kind: k for k, kind in enumerate(self.kinds)}
        return [next(rounds[place[_kind(request)]]) for request in self._instance.requests]

    def _tokens(self, k: int, age: int) -> int:
        """Return the tokens of a request ``age`` rounds after its start, 0 once it is complete."""
        _, prompt, output = self.kinds[k]
        return prompt + age if age <= output else 0

    def _free(self, base: Base) -> NDArray[np.int64]:
        """Return the tokens that a base leaves at the next time and at those after it."""
        ahead = max((self.kinds[k][2] - age for k, age, _ in base), default=0)
        longest = max(kind[2] for kind in self.kinds)
        free = np.full(max(ahead, longest), self._instance.memory, dtype=np.int64)
        for k, age, number in base:
            left = self.kinds[k][2] - age
            free[:left] -= number * (self.kinds[k][1] + age + 1 + np.arange(left))
        return free

    def _choices(
        self, tried: list[int], most: NDArray[np.int64], free: NDArray[np.int64]
    ) -> Iterator[tuple[tuple[int, int], ...]]:
        """Yield all numbers of starts of some kinds that fit until they complete."""
        if not tried:
            yield ()
            return
        k, *others = tried
        output = self.kinds[k][2]
        profile = np.zeros_like(free)
        profile[:output] = self.kinds[k][1] + 1 + np.arange(output)
        for number in range(int(most[k]) + 1):
            left = free - number * profile
            if left.min() < 0:
                return
            here = ((k, number),) if number else ()
            for more in self._choices(others, most, left):
                yield (*here, *more)

    def _next(self, base: Base, chosen: tuple[tuple[int, int], ...]) -> Base:
        older = [(k, age + 1, number) for k, age, number in base]
        young = [(k, 1, number) for k, number in chosen]
        return tuple(sorted(each for each in older + young if each[1] < self.kinds[each[0]][2]))


def _kind(request: Request) -> tuple[int, int, int]:
    return int(request.arrival), request.prompt, request.output


def _undominated(parts: list[States], budget: int) -> States:
    """Return the states that no other one dominates, for each kind by itself.

    Of two that differ in one kind the one with more of it stays if it waited no longer.
    """
    states = np.concatenate(parts)
    states = states[states[:, -1] <= budget]
    for k in range(states.shape[1] - 1):
        others = [j for j in range(states.shape[1] - 1) if j != k]
        # Groups of equal others, by falling count of k, then by waiting.
        order = np.lexsort((states[:, -1], -states[:, k], *(states[:, j] for j in others)))
        states = states[order]
        new = np.ones(len(states), dtype=bool)
        new[1:] = (states[1:, others] != states[:-1, others]).any(axis=1)
        group = np.cumsum(new)
        # Ranks of the waiting, each group's below the last group's.
        shifted = np.unique(states[:, -1], return_inverse=True)[1] - group * (len(states) + 1)
        least = np.minimum.accumulate(shifted)
        keep = new.copy()
        keep[1:] |= shifted[1:] < least[:-1]
        states = states[keep]
    return states


def _traced(
    kinds: _Kinds, levels: list[Level], best: tuple[int, int, Base]
) -> list[tuple[int, ...]]:
    """Return the number of each kind at each round on a way to the best state."""
    waiting, time, base = best
    target = np.append(kinds.count, waiting)
    started: list[tuple[int, ...]] = []
    while time:
        time -= 1
        base, before = next(
            (earlier, states[position])
            for earlier, states in levels[time].items()
            for after, position in _ways(kinds, time, earlier, states, target)
            if after == base
        )
        started.append(tuple(int(each) for each in (target - before)[:-1]))
        target = before
    return started[::-1]


def _ways(
    kinds: _Kinds, time: int, base: Base, states: States, target: NDArray[np.int64]
) -> Iterator[tuple[Base, int]]:
    """Yield each base that reaches a target, and the position of its state."""
    waited = target[-1] - (kinds.present(time) - target[:-1]).sum()
    near = (states[:, :-1] <= target[:-1]).all(axis=1) & (states[:, -1] == waited)
    for position in map(int, np.flatnonzero(near)):
        for after, reached in kinds.steps(time, base, states[position : position + 1]):
            if len(reached) and (reached[0] == target).all():
                yield after, position


def model_size(instance: Instance, windows: Windows) -> int:
    """Return the most states of one base; the number of bases is unknown before."""
    del windows
    counts = Counter(_kind(request) for request in instance.requests)
    return prod(number + 1 for number in counts.values())


FORMULATION = ExactSearch(
    name="counts",
    size=model_size,
    entry_bytes=ENTRY_BYTES,
    requests_up_to=REQUESTS_UP_TO,
    argument=ProofArgument.FORWARD_COUNTS,
)
