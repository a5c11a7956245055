"""The least total latency in seconds of five to eight requests, by dynamic programming alone."""

import random
from itertools import combinations

from tests.oracles.real_time import duration
from tests.oracles.real_time_brute_force import Coefficients, Requests

#: About those of Llama 2 70B on two A100: a prompt of 200 tokens takes as long as a round's base.
STAGGERED: Coefficients = (54_300_000_000, 270_000_000, 0, 80_000_000, 400_000)
#: How many tokens each request has made.
_Made = tuple[int, ...]
_Level = dict[_Made, list[tuple[int, int]]]


def staggered(
    rng: random.Random, n: int, prompt: int = 0, load: float | None = None
) -> tuple[Requests, int]:
    """Draw requests (arrival in nanoseconds, prompt, output) and the memory for half or all."""
    prompt = prompt or rng.choice([50, 1300])
    load = rng.choice([0.0, 0.3, 1.0]) if load is None else load
    sizes = [(rng.randint(prompt // 2, prompt * 3 // 2), rng.randint(1, 5)) for _ in range(n)]
    alone = sum(STAGGERED[0] * o + STAGGERED[1] * s for s, o in sizes) / 1000 / n
    requests, now = [], 0
    for s, o in sizes:
        requests.append((now, s, o))
        now += int(rng.expovariate(load) * alone) if load else 0
    peaks = [s + o for s, o in sizes]
    return requests, max(*peaks, sum(peaks) // rng.choice([1, 2]))


def least_latency_whole(
    requests: Requests, memory: int, coefficients: Coefficients, *, engine: bool = False
) -> int:
    """Return the least Σ (completion − arrival) of (arrival, prompt, output), in nanoseconds.

    For the engine the token that a round makes takes its place in the next one, as in vLLM.
    """
    return _Program(requests, memory, coefficients, engine).run()


class _Program:
    def __init__(
        self, requests: Requests, memory: int, coefficients: Coefficients, engine: bool
    ) -> None:
        self.requests, self.memory, self.coefficients = requests, memory, coefficients
        self.engine = engine
        # What each still takes alone, by the tokens that it has made.
        self.left = []
        for i, (_, _, output) in enumerate(requests):
            steps = [self._time([(i, made)]) for made in range(output)]
            self.left.append([sum(steps[before:]) for before in range(output + 1)])

    def run(self) -> int:
        first = min(arrival for arrival, _, _ in self.requests)
        self.best = self._one_after_another(first)
        begin = (0,) * len(self.requests)
        #: By what is made: time and latencies of all that is complete, none worse in both.
        levels: list[_Level] = [{} for _ in range(sum(o for _, _, o in self.requests) + 1)]
        levels[0][begin] = [(first, 0)]
        for number, level in enumerate(levels):
            for made, reached in level.items():
                self._expand(made, reached, levels)
            levels[number] = {}
        return self.best

    def _expand(self, made: _Made, reached: list[tuple[int, int]], levels: list[_Level]) -> None:
        open_ = [i for i, (_, _, output) in enumerate(self.requests) if made[i] < output]
        for size in range(1, len(open_) + 1):
            for batch in combinations(open_, size):
                after = tuple(count + (i in batch) for i, count in enumerate(made))
                if self._held(made, after) > self.memory:
                    continue
                takes = self._time([(i, made[i]) for i in batch])
                arrived = max(self.requests[i][0] for i in batch)
                done = [i for i in batch if after[i] == self.requests[i][2]]
                for now, paid in reached:
                    end = max(now, arrived) + takes
                    cost = paid + sum(end - self.requests[i][0] for i in done)
                    self._reach(after, end, cost, levels[sum(after)])

    def _reach(self, made: _Made, now: int, paid: int, level: _Level) -> None:
        rest = [
            max(now, arrival) - arrival + self.left[i][made[i]]
            for i, (arrival, _, output) in enumerate(self.requests)
            if made[i] < output
        ]
        if not rest:
            self.best = min(self.best, paid)
        elif paid + sum(rest) < self.best:
            front = level.setdefault(made, [])
            if not any(t <= now and c <= paid for t, c in front):
                front[:] = [(t, c) for t, c in front if t < now or c < paid]
                front.append((now, paid))

    def _held(self, before: _Made, after: _Made) -> int:
        """Return the tokens held at the end of a round, what completes in it included."""
        return sum(
            prompt + now - self.engine
            for (_, prompt, output), was, now in zip(self.requests, before, after, strict=True)
            if now and was < output
        )

    def _time(self, batch: list[tuple[int, int]]) -> int:
        """Return how long a round takes: of each request in it the tokens made before."""
        prompts = [(0, self.requests[i][1]) for i, made in batch if not made]
        reads = [self.requests[i][1] + made for i, made in batch if made]
        return duration(self.coefficients, prompts, reads)

    def _one_after_another(self, now: int) -> int:
        total = 0
        for i in sorted(range(len(self.requests)), key=lambda i: self.requests[i][0]):
            arrival, _, _ = self.requests[i]
            now = max(now, arrival) + self.left[i][0]
            total += now - arrival
        return total
