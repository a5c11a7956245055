"""The least total latency in real time by trying every batch of every round; none of our code.

What a scheduler may do here is as much as possible: requests wait, are prefilled whole or in
chunks, make a token, pause with their memory, or are evicted (at most ``evictions`` times in all)
with or without the tokens that they made; the worker runs or is idle until the next arrival.
Idling for any other time only delays what follows.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import NamedTuple

Coefficients = tuple[int, int, int, int, int]


class _At(NamedTuple):
    """Where a request stands: tokens in memory, tokens made, whether its prompt is there."""

    cached: int
    made: int
    ready: bool


#: What a request is at the end of a round; tokens before and tokens prefilled, or tokens read, or
#: nothing; and how often it was evicted before.
_Choice = tuple[_At | None, tuple[int, int] | int | None, int]


class Moves(NamedTuple):
    """What is tried besides waiting, whole prefills and decode steps."""

    chunks: bool = True
    pauses: bool = True
    cancels: bool = True
    keeps: bool = True
    evictions: int = 2


def least_total_latency(
    requests: list[tuple[int, int, int]],
    memory: int,
    coefficients: Coefficients,
    moves: Moves | None = None,
) -> int:
    """Return the least Σ (completion − arrival), nanoseconds; for about three small requests.

    Parameters
    ----------
    requests
        (arrival in nanoseconds, prompt, output).
    coefficients
        Picoseconds: base, per prefilled token, per square, per decoding request, per token read.
    """
    return _Search(requests, memory, coefficients, moves or Moves()).run()


class _Search:
    def __init__(
        self,
        requests: list[tuple[int, int, int]],
        memory: int,
        coefficients: Coefficients,
        moves: Moves,
    ) -> None:
        self.requests, self.memory = requests, memory
        self.coefficients, self.moves = coefficients, moves
        self.shortest = max(1, -(-coefficients[0] // 1000))
        self.seen: dict[tuple[int, int, tuple[_At | None, ...]], int] = {}
        # One after the other, whole, in every round the next token.
        now = self.best = 0
        for arrival, prompt, output in sorted(requests):
            now = max(now, arrival) + self._time([(0, prompt)], [])
            now += sum(self._time([], [prompt + made]) for made in range(1, output))
            self.best += now - arrival

    def run(self) -> int:
        first = min(arrival for arrival, _, _ in self.requests)
        self._visit(first, tuple(_At(0, 0, False) for _ in self.requests), 0, 0)
        return self.best

    def _time(self, prefills: list[tuple[int, int]], read: list[int]) -> int:
        base, token, square, decode, each = self.coefficients
        picoseconds = base + decode * len(read) + each * sum(read)
        for before, tokens in prefills:
            picoseconds += token * tokens + square * ((before + tokens) ** 2 - before**2)
        return max(1, -(-picoseconds // 1000))

    def _visit(self, now: int, state: tuple[_At | None, ...], paid: int, evicted: int) -> None:
        """Try everything from a state on; None stands for a request that is complete."""
        least = paid
        for at, (arrival, _, output) in zip(state, self.requests, strict=True):
            if at is not None:
                left = self.shortest * (output - at.made if at.ready else 1)
                least += max(now, arrival) + left - arrival
        if least >= self.best:
            return
        if all(at is None for at in state):
            self.best = paid
            return
        if self.seen.get((now, evicted, state), paid + 1) <= paid:
            return
        self.seen[now, evicted, state] = paid
        choices = [
            list(self._choices(at, now, *request)) if at is not None else [(None, None, 0)]
            for at, request in zip(state, self.requests, strict=True)
        ]
        for taken in product(*choices):
            self._round(now, paid, evicted, taken)
        later = [a for at, (a, _, _) in zip(state, self.requests, strict=True) if at and a > now]
        if later:
            self._visit(min(later), state, paid, evicted)

    def _choices(
        self, at: _At, now: int, arrival: int, prompt: int, output: int
    ) -> Iterator[_Choice]:
        """Yield what a request may be at the end of a round, what it does, and its evictions."""
        del output
        if arrival > now:
            yield at, None, 0
            return
        if at.ready:
            yield _At(at.cached + 1, at.made + 1, True), at.cached, 0
        else:
            yield from self._prefills(at, prompt, 0)
        if not at.cached or self.moves.pauses:
            yield at, None, 0
        # What it kept may be prefilled again at once, or later.
        losses = [at.made] if self.moves.keeps else []
        losses += [0] if self.moves.cancels and 0 not in losses else []
        for made in losses if at.cached else []:
            yield _At(0, made, False), None, 1
            yield from self._prefills(_At(0, made, False), prompt, 1)

    def _prefills(self, at: _At, prompt: int, evictions: int) -> Iterator[_Choice]:
        whole = prompt + at.made
        left = whole - at.cached
        yield _At(whole + 1, at.made + 1, True), (at.cached, left), evictions
        if self.moves.chunks:
            for tokens in range(1, left):
                yield _At(at.cached + tokens, at.made, False), (at.cached, tokens), evictions

    def _round(self, now: int, paid: int, evicted: int, taken: tuple[_Choice, ...]) -> None:
        prefills = [does for _, does, _ in taken if isinstance(does, tuple)]
        read = [does for _, does, _ in taken if isinstance(does, int)]
        evicted += sum(evictions for _, _, evictions in taken)
        if evicted > self.moves.evictions or not (prefills or read):
            return
        if sum(at.cached for at, _, _ in taken if at is not None) > self.memory:
            return
        end = now + self._time(prefills, read)
        state: list[_At | None] = []
        for (at, _, _), (arrival, _, output) in zip(taken, self.requests, strict=True):
            done = at is not None and at.made == output
            state.append(None if done else at)
            paid += end - arrival if done else 0
        self._visit(end, tuple(state), paid, evicted)
