"""Real time transcribed literally: second by second, round by round, by plain loops.

A policy sees of time only which requests have arrived by which round.  So its schedule in real time
is the one it makes of an instance in rounds whose arrivals are those rounds: here they are guessed,
the policy's transcription in unit rounds is run on the guess, its rounds are put on the clock one
after the other, and what had really arrived by each round is the next guess.  A guess that comes
back is the truth: by induction over rounds, since all before a round is right, so is its time, and
so is what has arrived by it.

An idle worker runs no rounds; in the transcription one round without requests stands for it.

Nothing of the simulator is used, nor of the checker.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from instances import Instance
from schedules import Schedule

Times = Sequence[int]
Numbers = tuple[int, ...]
Transcription = Callable[[Instance], Schedule]


@dataclass
class Literal:
    """What a schedule in real time must say: see the fields of a schedule and of its clock."""

    starts: list[int]
    attempts: list[list[tuple[int, int]]]
    kept: list[list[int]]
    begins: list[tuple[int, int]]
    completions: list[int]
    chunks: list[list[list[int]]]

    def tel(self, arrivals: Times) -> int:
        """Return the total latency (ns)."""
        return sum(self.completions) - sum(arrivals)


class UndecidedError(Exception):
    """No guess has come back."""


def duration(coefficients: Numbers, prefills: list[tuple[int, int]], reads: list[int]) -> int:
    """Return how long a round takes (ns); coefficients are those of a batch time.

    Prefills are (tokens computed before, tokens of this round) of each request that prefills; reads
    are the tokens that each request that decodes holds at the beginning of the round.
    """
    base, token, square, decode, each = coefficients
    picoseconds = base + decode * len(reads) + each * sum(reads)
    for before, tokens in prefills:
        picoseconds += token * tokens + square * ((before + tokens) ** 2 - before**2)
    return max(1, -(-picoseconds // 1000))


def in_real_time(
    instance: Instance, arrivals: Times, coefficients: Numbers, transcription: Transcription
) -> Literal:
    """Return what a transcription in unit rounds does of requests in order of their arrivals."""
    n = len(instance)
    # At first each is served alone, which no policy refuses.
    long = 1 + max(request.output for request in instance.requests)
    guess = [i * long for i in range(n)]
    for _ in range(20 * n + 20):
        requests = tuple(
            replace(request, arrival=guess[i]) for i, request in enumerate(instance.requests)
        )
        schedule = transcription(replace(instance, requests=requests, time_unit="round"))
        clock = _Clock(instance, schedule, arrivals, coefficients)
        seen = clock.seen(long)
        if seen == guess:
            return clock.literal()
        guess = seen
    raise UndecidedError


class _Clock:
    """The rounds of a schedule in unit rounds, one after the other."""

    def __init__(
        self, instance: Instance, schedule: Schedule, arrivals: Times, coefficients: Numbers
    ) -> None:
        self.instance, self.schedule = instance, schedule
        self.arrivals, self.coefficients = arrivals, coefficients
        #: (request, round of begin, tokens kept, tokens in the end) of every run.
        self.runs: list[tuple[int, int, int, int]] = []
        for i, request in enumerate(instance.requests):
            attempts = schedule.attempts[i] if schedule.attempts else ()
            tried = [*attempts, (schedule.starts[i], request.output)]
            kept = schedule.kept[i] if schedule.kept else [0] * len(tried)
            for (start, tokens), before in zip(tried, kept, strict=True):
                self.runs.append((i, start + before, before, tokens))
        self.begin_of: dict[int, int] = {}
        self.end_of: dict[int, int] = {}
        self.number_of: dict[int, int] = {}
        self.late: list[tuple[int, int]] = []
        self._play()

    def _batch(self, t: int) -> tuple[list[tuple[int, int]], list[int]]:
        """Return what is prefilled and read in round t."""
        prefills, reads = [], []
        for i, begin, kept, tokens in self.runs:
            prompt = self.instance.requests[i].prompt
            if t == begin:
                prefills.append((0, prompt + kept))
            elif begin < t < begin + tokens - kept:
                reads.append(prompt + kept + (t - begin))
        return prefills, reads

    def _play(self) -> None:
        last = max(begin + tokens - kept for _, begin, kept, tokens in self.runs)
        time, number = 0, 0
        idle = True
        for t in range(last):
            prefills, reads = self._batch(t)
            if not prefills and not reads:
                idle = True
                continue
            begin = time
            if idle:
                begin = max(time, min(self.arrivals[i] for i, b, _, _ in self.runs if b == t))
                idle = False
            if begin > time:
                self.late.append((number, begin))
            self.begin_of[t], self.number_of[t] = begin, number
            time = begin + duration(self.coefficients, prefills, reads)
            self.end_of[t] = time
            number += 1

    def seen(self, long: int) -> list[int]:
        """Return by which round of the transcription each request has arrived.

        What arrives at an idle worker is seen by the round after one without requests, but for the
        very first, before which nothing has been.  Where the guess was wrong the rounds that
        follow mean nothing, and what is still to come is put far off, ``long`` rounds each.
        """
        to_come = list(self.arrivals)
        seen: list[int] = []
        t, time = 0, 0
        while to_come:
            if t in self.begin_of:
                time = self.begin_of[t]
                while to_come and to_come[0] <= time:
                    seen.append(t)
                    to_come.pop(0)
                time = self.end_of[t]
                t += 1
                continue
            if seen and to_come[0] > time:
                t += 1  # a round without requests
            first = max(time, to_come[0])
            while to_come and to_come[0] <= first:
                seen.append(t)
                to_come.pop(0)
            if self.begin_of.get(t) != first:
                return seen + [t + long * (1 + k) for k in range(len(to_come))]
        return seen

    def literal(self) -> Literal:
        """Return the schedule in real time, rounds without requests left out."""
        n = len(self.instance)
        runs: list[list[tuple[int, int, int]]] = [[] for _ in range(n)]
        for i, begin, kept, tokens in self.runs:
            runs[i].append((self.number_of[begin], kept, tokens))
        prompts = [request.prompt for request in self.instance.requests]
        outputs = [request.output for request in self.instance.requests]
        lasts = [p + o - 1 for p, o in zip(self.schedule.starts, outputs, strict=True)]
        return Literal(
            starts=[each[-1][0] - each[-1][1] for each in runs],
            attempts=[[(begin - kept, made) for begin, kept, made in each[:-1]] for each in runs],
            kept=[[kept for _, kept, _ in each] for each in runs],
            begins=self.late,
            completions=[self.end_of[last] for last in lasts],
            chunks=[[[prompts[i] + kept] for _, kept, _ in each] for i, each in enumerate(runs)],
        )
