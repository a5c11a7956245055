"""The least total latency and the best goodput in real time by trying every batch of every round.

None of our code is used.  It is for about three small requests.

What a scheduler may do here is as much as possible: requests wait, are prefilled whole or in
chunks, make a token, pause with their memory, or are evicted (at most ``evictions`` times in all)
with or without the tokens that they made; the worker runs or is idle until the next arrival.
Idling for any other time only delays what follows.
"""

from collections.abc import Iterator
from fractions import Fraction
from itertools import product
from typing import NamedTuple

from tests.oracles.real_time import duration

Coefficients = tuple[int, int, int, int, int]
#: Arrival (ns), prompt and output (tokens) of each.
Requests = list[tuple[int, int, int]]


class _At(NamedTuple):
    """Where a request stands: tokens in memory, tokens made, whether its prompt is there."""

    cached: int
    made: int
    ready: bool


#: What a request is at the end of a round; tokens before and tokens prefilled, or tokens read, or
#: nothing; and how often it was evicted before.
_Choice = tuple[_At | None, tuple[int, int] | int | None, int]


class Limits(NamedTuple):
    """Nanoseconds at most, None for no limit."""

    ttft: int | None = None
    tpot: int | None = None
    e2el: int | None = None


class Moves(NamedTuple):
    """What is tried besides waiting, whole prefills and decode steps.

    With ``engine`` the token that a round makes takes its place in the next one, as in vLLM; a
    round processes at most ``running`` requests, any number for 0.
    """

    chunks: bool = True
    pauses: bool = True
    cancels: bool = True
    keeps: bool = True
    evictions: int = 2
    engine: bool = False
    running: int = 0


def least_total_latency(
    requests: Requests, memory: int, coefficients: Coefficients, moves: Moves | None = None
) -> int:
    """Return the least Σ (completion − arrival) of (arrival, prompt, output), in nanoseconds."""
    return _Search(requests, memory, coefficients, moves or Moves()).run()


def best_goodput(
    requests: Requests, memory: int, coefficients: Coefficients, limits: Limits, moves: Moves
) -> tuple[int, Fraction]:
    """Return the most requests that keep all limits, and the most a nanosecond.

    Each for itself; a nanosecond of the time from the first arrival to the last completion.
    """
    found = []
    for per_time in (False, True):
        search = _BestGoodput(requests, memory, coefficients, moves)
        search.limits, search.per_time = limits, per_time
        search.best_value = Fraction(0)
        search.run()
        found.append(search.best_value)
    return int(found[0]), found[1]


class _Search:
    def __init__(
        self, requests: Requests, memory: int, coefficients: Coefficients, moves: Moves
    ) -> None:
        self.requests, self.memory = requests, memory
        self.coefficients, self.moves = coefficients, moves
        self.shortest = max(1, -(-coefficients[0] // 1000))
        self.seen: dict[tuple[int, int, tuple[_At | None, ...]], int] = {}
        # One after the other, whole, in every round the next token.
        now = self.best = 0
        for arrival, prompt, output in sorted(requests):
            now = max(now, arrival) + duration(coefficients, [(0, prompt)], [])
            now += sum(duration(coefficients, [], [prompt + made]) for made in range(1, output))
            self.best += now - arrival

    def run(self) -> int:
        first = min(arrival for arrival, _, _ in self.requests)
        self._visit(first, tuple(_At(0, 0, False) for _ in self.requests), 0, 0)
        return self.best

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
        for taken in self._batches(now, state):
            self._round(now, paid, evicted, taken)
        later = [a for at, (a, _, _) in zip(state, self.requests, strict=True) if at and a > now]
        if later:
            self._visit(min(later), state, paid, evicted)

    def _batches(self, now: int, state: tuple[_At | None, ...]) -> Iterator[tuple[_Choice, ...]]:
        """Yield what all requests may be at the end of a round."""
        choices: list[list[_Choice]] = [
            list(self._choices(at, now, *request[:2])) if at is not None else [(None, None, 0)]
            for at, request in zip(state, self.requests, strict=True)
        ]
        return product(*choices)

    def _choices(self, at: _At, now: int, arrival: int, prompt: int) -> Iterator[_Choice]:
        """Yield what a request may be at the end of a round, what it does, and its evictions."""
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
        if self.moves.running and len(prefills) + len(read) > self.moves.running:
            return
        ends = [at for at, _, _ in taken if at is not None]
        if sum(at.cached - (self.moves.engine and at.ready) for at in ends) > self.memory:
            return
        end = now + duration(self.coefficients, prefills, read)
        state: list[_At | None] = []
        for (at, _, _), (arrival, _, output) in zip(taken, self.requests, strict=True):
            done = at is not None and at.made == output
            state.append(None if done else at)
            paid += end - arrival if done else 0
        self._visit(end, tuple(state), paid, evicted)


class _BestGoodput(_Search):
    """The same rounds, in which what counts is who keeps the limits; TPOT from the first token."""

    limits: Limits
    per_time: bool
    best_value: Fraction
    firsts: tuple[int | None, ...]

    def run(self) -> int:
        self.reached: dict[object, int] = {}
        self.begin = min(arrival for arrival, _, _ in self.requests)
        self.good, self.firsts = 0, (None,) * len(self.requests)
        self._visit(self.begin, tuple(_At(0, 0, False) for _ in self.requests), 0, 0)
        return 0

    def _value(self, good: int, end: int) -> Fraction:
        return Fraction(good, max(end - self.begin, 1) if self.per_time else 1)

    def _hopes(self, now: int, i: int, end: int) -> bool:
        """Tell whether a request that does not end before a time may yet keep the limits."""
        arrival, first = self.requests[i][0], self.firsts[i]
        if self.limits.e2el is not None and end > arrival + self.limits.e2el:
            return False
        soon = max(now, arrival) + self.shortest
        late = self.limits.ttft is not None and soon > arrival + self.limits.ttft
        return first is not None or not late

    def _visit(self, now: int, state: tuple[_At | None, ...], paid: int, evicted: int) -> None:
        del paid
        left = [i for i, at in enumerate(state) if at is not None]
        ends = [
            max(now, arrival) + self.shortest * (output - at.made)
            for at, (arrival, _, output) in zip(state, self.requests, strict=True)
            if at is not None
        ]
        hope = self.good + sum(map(self._hopes, [now] * len(left), left, ends))
        if self._value(hope, max([now, *ends])) <= self.best_value:
            return
        if not left or not self.per_time:
            # Who is left can always be completed.
            self.best_value = max(self.best_value, self._value(self.good, now))
        if not left:
            return
        key = (now, evicted, state, self.firsts)
        if self.reached.get(key, -1) >= self.good:
            return
        self.reached[key] = self.good
        before = self.firsts, self.good
        for taken in self._batches(now, state):
            self._enter(now, state, evicted, taken)
            self.firsts, self.good = before
        later = [self.requests[i][0] for i in left if self.requests[i][0] > now]
        if later:
            self._visit(min(later), state, 0, evicted)

    def _enter(
        self, now: int, state: tuple[_At | None, ...], evicted: int, taken: tuple[_Choice, ...]
    ) -> None:
        """Note who makes the first token in a round, and who ends there, before it is tried."""
        prefills = [does for _, does, _ in taken if isinstance(does, tuple)]
        read = [does for _, does, _ in taken if isinstance(does, int)]
        end = now + duration(self.coefficients, prefills, read)
        firsts = list(self.firsts)
        for i, (at, does, evictions) in enumerate(taken):
            old = state[i]
            if at is None or old is None:
                continue
            if not at.made:
                firsts[i] = None
            elif firsts[i] is None or (evictions and at.made == 1 and at.ready):
                firsts[i] = end
            if does is not None and at.made == self.requests[i][2]:
                self.good += self._keeps(i, firsts[i], end)
        self.firsts = tuple(firsts)
        self._round(now, 0, evicted, taken)

    def _keeps(self, i: int, first: int | None, end: int) -> bool:
        arrival, _, output = self.requests[i]
        assert first is not None
        spans = (first - arrival, end - first, end - arrival)
        tpot = None if self.limits.tpot is None else self.limits.tpot * (output - 1)
        return all(
            limit is None or span <= limit
            for span, limit in zip(spans, (self.limits.ttft, tpot, self.limits.e2el), strict=True)
        )
