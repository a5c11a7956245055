"""E1 to E16 again from the library's JSON, by a program that imports nothing of kvopt."""

import json
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from itertools import combinations, product
from math import isqrt, log
from pathlib import Path

Row = tuple[int, int, int]
INSTANCES = Path(__file__).resolve().parents[2] / "instances"


def held(rows: Sequence[Row], starts: dict[int, int], time: int) -> int:
    """Return the tokens held at a time."""
    return sum(rows[i][1] + time - p for i, p in starts.items() if p < time <= p + rows[i][2])


def fits(rows: Sequence[Row], starts: dict[int, int], memory: int) -> bool:
    """Return True if the memory suffices at every time."""
    last = max(p + rows[i][2] for i, p in starts.items())
    return all(held(rows, starts, time) <= memory for time in range(1, last + 1))


def total(rows: Sequence[Row], starts: dict[int, int]) -> int:
    """Return the TEL."""
    return sum(p + rows[i][2] - rows[i][0] for i, p in starts.items())


def admit(rows: Sequence[Row], order: Sequence[int], memory: int) -> dict[int, int]:
    """Return starts: at each round the longest prefix of what waits that fits for ever."""
    starts: dict[int, int] = {}
    now = 0
    while len(starts) < len(rows):
        active = {i: p for i, p in starts.items() if p + rows[i][2] > now}
        for i in order:
            if i in starts or rows[i][0] > now:
                continue
            more = active | {i: now}
            ends = [p + rows[j][2] for j, p in more.items()]
            if any(held(rows, more, time) > memory for time in ends):
                break
            active = more
            starts[i] = now
        now += 1
    return starts


def by_output(rows: Sequence[Row]) -> list[int]:
    """Return the order of MC-SF."""
    return sorted(range(len(rows)), key=lambda i: rows[i][2])


def least(rows: Sequence[Row], memory: int, last: int) -> int:
    """Return the optimum with starts up to a round, by trying all."""
    every = product(*(range(row[0], last + 1) for row in rows))
    found = (dict(enumerate(each)) for each in every)
    return min(total(rows, each) for each in found if fits(rows, each, memory))


def e1() -> bool:
    """MC-SF 13, OPT 12."""
    rows = [(0, 1, 1), (0, 1, 1), (0, 1, 3), (0, 1, 3)]
    return (total(rows, admit(rows, by_output(rows), 5)), least(rows, 5, 5)) == (13, 12)


def e2() -> bool:
    """Without its own completion the second starts at 1, where 5 of 4 tokens are held at 2."""
    rows = [(0, 1, 3), (1, 1, 1)]
    listed = held(rows, {0: 0, 1: 1}, 3) <= 4  # the completion of the one that runs
    return listed and held(rows, {0: 0, 1: 1}, 2) == 5


def e3() -> bool:
    """The printed row counts s to s + o - 1 tokens, so M = 1 is enough for (1, 1)."""
    return max(1 + t for t in range(1)) == 1 < held([(0, 1, 1)], {0: 0}, 1)


def e4() -> bool:
    """At M = T three of x = 1 cost 6, at M = T + 3 they cost 3."""
    rows = [(0, 1, 1)] * 3
    return (least(rows, 3, 3), least(rows, 6, 3)) == (6, 3)


def to_the_letter(rows: Sequence[Row], memory: int) -> int:
    """Return the TEL of W Algorithm 1, Phase 2, as printed, in the order of the rows."""
    starts: dict[int, int] = {}
    now = 0
    while len(starts) < len(rows):
        i = len(starts)
        more = starts | {i: now}
        ends = [p + rows[j][2] for j, p in more.items() if p + rows[j][2] >= now]
        for time in [now, *ends]:
            tokens = sum(
                rows[j][1] + time - p for j, p in more.items() if p <= time <= p + rows[j][2]
            )
            if tokens > memory:
                now += 1
                break
        else:
            starts[i] = now
    return total(rows, starts)


def e5() -> bool:
    """Example 3.1: 85 and 46 to the letter, 64 and 45 by (9)."""
    mc_sf = [(0, 63, 1)] + [(0, 1, 2)] * 21
    sorted_f = mc_sf[1:] + mc_sf[:1]
    found = [(to_the_letter(r, 64), total(r, admit(r, range(22), 64))) for r in (mc_sf, sorted_f)]
    return found == [(85, 64), (46, 45)]


def e6() -> bool:
    """The two orders of batches: below 3 for ever with M^1.5, above 50 with M^1.25 at 16^8."""

    def ratio(memory: int, many: int) -> float:
        root = isqrt(memory)
        one, two = memory // root, many // root  # batches
        first, second = (root - 1) * root * one * (one + 1) // 2, root * two * (two + 1) // 2
        return (first + (root - 1) * one * many + second) / (first + two * memory + second)

    long = [ratio(16**k, 64**k) for k in range(1, 9)]
    return long == sorted(long) and 2.99 < long[-1] < 3 and ratio(16**8, 32**8) > 50


def _batches(rows: Sequence[Row], memory: int, *, peaks: bool, larger: bool) -> list[list[int]]:
    left, found = list(range(len(rows))), []
    while left:

        def allowed(batch: Sequence[int]) -> bool:
            if peaks:
                return sum(rows[i][1] + rows[i][2] for i in batch) <= memory
            return fits(rows, dict.fromkeys(batch, 0), memory)

        sizes = range(1, len(left) + 1)
        every = [b for k in sizes for b in combinations(left, k) if allowed(b)]
        sign = -1 if larger else 1
        best = min(
            every, key=lambda b: (Fraction(sum(rows[i][2] for i in b), len(b) ** 2), sign * len(b))
        )
        found.append(sorted(best, key=lambda i: rows[i][2]))
        left = [i for i in left if i not in best]
    return found


def e7() -> bool:
    """Both at once by Algorithm 1, one at a time by the sum of peaks."""
    rows = [(0, 1, 1), (0, 1, 2)]
    sizes = [[len(b) for b in _batches(rows, 4, peaks=p, larger=True)] for p in (False, True)]
    return sizes == [[2], [1, 1]]


def e8() -> bool:
    """Starts 0, 0, 3 with the larger of equal batches, 0, 2, 0 with the smaller."""
    rows, found = [(0, 1, 1), (0, 1, 3), (0, 7, 2)], []
    for larger in (True, False):
        order = [i for b in _batches(rows, 10, peaks=True, larger=larger) for i in b]
        found.append([p for _, p in sorted(admit(rows, order, 10).items())])
    return found == [[0, 0, 3], [0, 2, 0]]


def e9() -> bool:
    """2xo is the width of the interval."""
    return all(2 * x * 10 < 2 * y * 10 for x, y in ((0.1, 0.95), (0.95, 0.99)))


def e10() -> bool:
    """H-SF is MC-SF with known outputs."""
    return e1()


def e11() -> bool:
    """The largest x'Ax/x'Bx by power iteration: at 2 it is 1.25; from 20 the fit is within 1 %."""
    fit = {u: 0.2555 * log(u + 0.2793) + 1.1587 for u in (2, 5, 20, 50)}
    errors = {u: fit[u] / _largest(u) - 1 for u in fit}
    return abs(_largest(2) - 1.25) < 1e-9 and all(
        (abs(e) < 0.01) == (u >= 20) for u, e in errors.items()
    )


def _largest(u: int) -> float:
    """B is L diag(2k − 1) L' with L of ones, so B's inverse is two differences and a division."""
    a = [
        [min(i, j) ** 2 / (i * j) * ((i + j) ** 2 / 2 - min(i, j) ** 2) for j in range(1, u + 1)]
        for i in range(1, u + 1)
    ]
    x, value = [1.0] * u, 0.0
    for _ in range(3000):
        y = [sum(p * q for p, q in zip(row, x, strict=True)) for row in a]
        z = [(y[k] - (y[k - 1] if k else 0)) / (2 * k + 1) for k in range(u)]
        x = [z[k] - (z[k + 1] if k + 1 < u else 0) for k in range(u)]
        value = max(map(abs, x))
        x = [each / value for each in x]
    return value


def _read(name: str) -> tuple[list[Row], int]:
    data = json.loads((INSTANCES / name).read_text(encoding="utf-8"))
    return [(r["arrival"], r["prompt"], r["output"]) for r in data["requests"]], data["memory"]


def _excess() -> Iterator[float]:
    for k in range(10):
        rows, memory = _read(f"am1/am1_{k:02}.json")
        file = INSTANCES / "best_known" / "schedules" / f"am1_{k:02}.json"
        starts = dict(enumerate(json.loads(file.read_text(encoding="utf-8"))["starts"]))
        if not fits(rows, starts, memory):
            raise ValueError(f"{file.name}: exceeds the memory")
        yield total(rows, admit(rows, by_output(rows), memory)) / total(rows, starts) - 1


def e12() -> bool:
    """MC-SF is at least 4.1 % above a schedule that fits, on each of ten draws."""
    found = list(_excess())
    return min(found) > 0.041 and max(found) > 0.134 and sum(found) / 10 > 0.087


def e13() -> bool:
    """The volumes of one uniform draw alone give 3.7 times the printed total; FCFS has 4,000."""
    rows, memory = _read("uniform_100.json")
    bound = volume = 0
    for each in sorted(s * o + o * (o + 1) // 2 for _, s, o in rows):
        volume += each
        bound += -(-volume // memory)
    short, tokens = _read("exponential_100.json")
    served = total(short, admit(short, range(len(short)), tokens))
    return bound > 3.7 * 9748.3 and served == 4000 < 6016.9


def e14() -> bool:
    """20 GB over 2 · 80 · 8,192 · 2 bytes."""
    return (20 * 10**9 // 2_621_440, 20 * 2**30 // 2_621_440) == (7629, 8192)


def e15() -> bool:
    """1/6 s a request would be 1,667 s at 10,000 requests, which have arrived after 200 s."""
    return round(10_000 / 6) == 1667 > 10_000 / 50


def e16() -> bool:
    """The recursion of starts: 1.925 on outputs 1 and 20, u/ln u on P(o ≥ k) = 1/(2k)."""
    rare = [1.0] + [0.0045] * 19
    return (
        abs(_limit(rare) - 1.925) < 5e-4
        and abs(_limit([1.0] + [1 / (2 * k) for k in range(2, 21)]) - 4.884) < 5e-3
    )


def _limit(tail: Sequence[float]) -> float:
    """Return the mean time between starts over that of shortest first; a start is never below 0."""
    starts: list[float] = []
    for t in range(6000):
        running = ((a + 1) * tail[a] * starts[t - a] for a in range(1, min(len(tail), t + 1)))
        starts.append(1 - sum(running))
        if starts[-1] < 0:
            raise ValueError("a request is cancelled")
    late = starts[3000:]
    squares = sum((2 * k - 1) * p * p for k, p in enumerate(tail, 1))
    return len(late) / sum(late) / squares


CHECKS: tuple[Callable[[], bool], ...] = (
    e1, e2, e3, e4, e5, e6, e7, e8, e9, e10, e11, e12, e13, e14, e15, e16,
)  # fmt: skip

if __name__ == "__main__":
    for check in CHECKS:
        print(f"{check.__name__.upper()}: {'holds' if check() else 'DOES NOT HOLD'}")
