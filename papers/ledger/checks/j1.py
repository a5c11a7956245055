"""Checks of the statements of J1 (jaillet2025_v1)."""

import itertools
from bisect import insort
from collections.abc import Mapping, Sequence
from fractions import Fraction
from math import log, sqrt
from random import Random

from instances import Instance, Request
from instances.families import late_burst
from papers.ledger.check_results import (
    CheckedSchedule,
    CheckResult,
    arriving,
    by_policy,
    by_starts,
    refused,
    together,
)

Row = tuple[int, int, int]


def algorithms_1_2() -> CheckResult:
    """Run Algorithm 2 as printed on two requests."""
    rows = [(0, 1, 3), (1, 1, 1)]
    instance = arriving(4, rows)
    starts = look_ahead(4, rows, candidate=False)
    wrong = refused(instance, starts, "Algorithm 2 as printed")
    mended = by_starts(
        instance, look_ahead(4, rows, candidate=True), "with the candidate's completion"
    )
    lines = (f"as printed: {wrong.verdict}", f"with the candidate's completion: TEL {mended.tel}")
    return CheckResult(False, lines, (wrong, mended))


def look_ahead(memory: int, rows: Sequence[Row], *, candidate: bool) -> list[int]:
    """Return the starts of Algorithm 2, as printed or with the candidate's completion."""
    starts: dict[int, int] = {}
    now = 0
    while len(starts) < len(rows):
        chosen = {i: p for i, p in starts.items() if p + rows[i][2] > now}
        arrived = [i for i, row in enumerate(rows) if row[0] <= now and i not in starts]
        for i in sorted(arrived, key=lambda each: rows[each][2]):
            times = [p + rows[j][2] for j, p in chosen.items()] + candidate * [now + rows[i][2]]
            if any(_held(rows, chosen | {i: now}, time) > memory for time in times):
                break
            chosen[i] = starts[i] = now
        now += 1
    return [starts[i] for i in range(len(rows))]


def _held(rows: Sequence[Row], starts: Mapping[int, int], time: int) -> int:
    return sum(rows[i][1] + time - p for i, p in starts.items() if 1 <= time - p <= rows[i][2])


#: A completion, the requests that complete then or later, and the sum of their s − p.
Sums = tuple[int, int, int]


def proposition_4_1() -> CheckResult:
    """Count the sums of a round of MC-SF whose waiting requests are sorted, on random instances."""
    chance, most, same = Random(4), Fraction(0), True
    for _ in range(40):
        memory = chance.randint(4, 40)
        prompts = [chance.randint(0, memory - 1) for _ in range(60)]
        rows = [(chance.randint(0, 20), s, chance.randint(1, memory - s)) for s in prompts]
        instance = arriving(memory, rows)
        starts, sums = with_sums(instance)
        most = max(most, Fraction(sums, (memory + 1) ** 2))
        same &= by_policy("mc-sf", instance).schedule.starts == starts
    lines = (
        f"with sums kept for each completion the schedules are MC-SF's: {same}",
        f"a round has at most {float(most):.3f}·(M + 1)² sums",
    )
    return CheckResult(same and most <= 1, lines)


def with_sums(instance: Instance) -> tuple[tuple[int, ...], int]:
    """Return the starts of MC-SF by sums for each completion, and the most sums of a round."""
    waiting: list[tuple[int, int, int]] = []
    starts: dict[int, int] = {}
    kept: list[Sums] = []
    most = 0
    for now in itertools.count():
        for request in instance.requests:
            if request.arrival == now:
                insort(waiting, (request.output, now, request.id))
        kept, changed = [each for each in kept if each[0] > now], 0
        while waiting:
            output, _, place = waiting[0]
            trial = add_completion(kept, now + output, instance.requests[place].prompt - now)
            changed += sum(end <= now + output for end, _, _ in trial)
            if any(base + count * end > instance.memory for end, count, base in trial):
                break
            kept, starts[place] = trial, now
            del waiting[0]
        most = max(most, changed)
        if len(starts) == len(instance):
            return tuple(starts[place] for place in range(len(instance))), most
    raise AssertionError


def add_completion(kept: Sequence[Sums], completion: int, base: int) -> list[Sums]:
    """Return the sums with one request more, which completes at ``completion``."""
    later = [each for each in kept if each[0] > completion]
    upto = [(end, count + 1, held + base) for end, count, held in kept if end <= completion]
    if not upto or upto[-1][0] < completion:
        _, count, held = later[0] if later else (0, 0, 0)
        upto.append((completion, count + 1, held + base))
    return upto + later


def theorem_4_2() -> CheckResult:
    """Compare MC-SF with schedules of a smaller TEL, on three instances."""
    lines, drawn = [], []
    for instance, starts in (
        (together(5, (1, 1), (1, 1), (1, 3), (1, 3)), (0, 1, 0, 3)),
        (together(4, (0, 2), (0, 2), (0, 3), (0, 3)), (0, 2, 0, 3)),
        (together(9, *[(1, 3)] * 5), (0, 1, 2, 3, 4)),
    ):
        ours = by_starts(instance, starts, "another schedule")
        theirs = by_policy("mc-sf", instance)
        lines.append(f"M = {instance.memory}: MC-SF {theirs.tel}, another schedule {ours.tel}")
        drawn += [theirs, ours]
    holds = all(
        theirs.tel <= ours.tel for theirs, ours in zip(drawn[::2], drawn[1::2], strict=True)
    )
    return CheckResult(holds, tuple(lines), tuple(drawn[:2]))


def lemma_5_4() -> CheckResult:
    """Follow Off-Couple on five identical requests, up to its copy of the optimum's start at 4."""
    instance = together(9, *[(1, 3)] * 5)
    optimum = by_starts(instance, range(5), "one a round")
    couple = refused(instance, (0, 0, 3, 3, 4), "Off-Couple")
    return CheckResult(False, (f"Off-Couple: {couple.verdict}",), (optimum, couple))


#: Of Theorem 5.3: the probability that two requests arrive in a round, and rounds with arrivals.
CHANCE = Fraction(2, 5)
ROUNDS = (100, 400, 1600)
_DRAWS = 5


def theorem_5_3() -> CheckResult:
    """Compare MC-SF with one start a round, over T rounds with arrivals in pairs."""
    means = []
    for rounds in ROUNDS:
        regrets = []
        for seed in range(_DRAWS):
            instance = pairs_in(rounds, seed)
            paced = one_a_round(instance)
            regrets.append((by_policy("mc-sf", instance).tel - paced.tel) / len(instance))
        means.append(sum(regrets) / _DRAWS)
    lines = [
        f"T = {rounds}: the regret is at least {mean:.1f} rounds, mean of {_DRAWS} draws"
        for rounds, mean in zip(ROUNDS, means, strict=True)
    ]
    burst = arriving(9, [(t, 1, 3) for t in range(6) for _ in range(2)])
    drawn = by_policy("mc-sf", burst), one_a_round(burst)
    lines.append(f"six pairs in six rounds: MC-SF {drawn[0].tel}, one a round {drawn[1].tel}")
    grows = all(later > 2 * earlier for earlier, later in itertools.pairwise(means))
    return CheckResult(not grows, tuple(lines), drawn)


def pairs_in(rounds: int, seed: int) -> Instance:
    """Return requests (1, 3) that arrive in pairs by chance, M = 9."""
    chance = Random(seed)
    arrivals = [t for t in range(rounds) if chance.random() < CHANCE]
    return arriving(9, [(t, 1, 3) for t in arrivals for _ in range(2)])


def one_a_round(instance: Instance) -> CheckedSchedule:
    """Return the schedule that starts at most one request a round, in order of arrival."""
    starts: list[int] = []
    for arrival in instance.arrivals:
        starts.append(max(int(arrival), starts[-1] + 1 if starts else 0))
    return by_starts(instance, starts, "one a round")


def equations_3_to_6() -> CheckResult:
    """Add up, round by round, the requests that have arrived and have not completed."""
    lines, holds = [], True
    for seed in range(3):
        found = by_policy("mc-sf", pairs_in(60, seed))
        requests = zip(found.instance.requests, found.schedule.starts, strict=True)
        stays = [(request.arrival, start + request.output) for request, start in requests]
        last = max(end for _, end in stays)
        present = sum(a <= now < end for a, end in stays for now in range(last))
        holds &= present == found.tel
        lines.append(f"TEL {found.tel}, requests present, over all rounds: {present}")
    return CheckResult(holds, tuple(lines))


def behind_the_long(left: int, prompt: int, burst: int, memory: int) -> int:
    """Return the least TEL (rounds) of requests (s, 1) that arrive together.

    A request that grows to M runs for ``left`` more rounds.
    """
    total = 0
    for passed in itertools.count():
        free = memory if passed >= left else left - 1 - passed
        done = min(burst, free // (prompt + 1))
        total += done * (passed + 1)
        burst -= done
        if not burst:
            break
    return total


def theorem_6_2() -> CheckResult:
    """Compare the cost of the burst after any start with schedules and with MC-SF."""
    lines, holds = [], True
    for share in (4, 8, 16):
        memory, prompt = 16384, 16384 // share
        instance = late_burst.generate(memory=memory, variant="theorem-6.2", prompt=prompt)
        least, most = _burst_bounds(share, prompt)
        holds &= by_policy("mc-sf", instance).tel >= least and burst_first(instance).tel <= most
        least, most = _burst_bounds(share, 16 * share**3)
        holds &= least >= share * most
        lines.append(
            f"ε = 1/{share}, M = {16 * share**4:,}: any start costs {least / most:.1f} times OPT"
        )
    return CheckResult(holds, tuple(lines))


def _burst_bounds(share: int, prompt: int) -> tuple[int, int]:
    """Return the burst's least cost after any start, and OPT at most; ε = 1/share."""
    memory = share * prompt
    alone = behind_the_long(0, prompt, prompt, memory)
    return behind_the_long(prompt, prompt, prompt, memory), alone + 2 * memory


def theorem_6_4() -> CheckResult:
    """Compare a burst behind a start with the bound of the proof, and solve for the ratio."""
    lines, holds = [], True
    for share in (8, 16, 32):
        prompt = 4 * share
        for left in range(prompt + 1, (share - 2) * prompt + 1, 7):
            found = behind_the_long(left, prompt, prompt, share * prompt)
            holds &= 2 * (-(-left // prompt) - 1) * found >= prompt**2
    ratios = []
    for power in (2, 4, 8, 16, 32):
        # H(q − 3) is at least ln(q − 2); 2R(2R + 2) is at least H(q − 3)·(q − 1)/q.
        harmonic = log(10**power - 2) * (1 - 10.0**-power)
        ratios.append((sqrt(1 + harmonic) - 1) / 2)
        lines.append(f"ε = 10^-{power}: the ratio is at least {ratios[-1]:.2f}")
    return CheckResult(holds and ratios == sorted(ratios), tuple(lines))


def burst_first(instance: Instance) -> CheckedSchedule:
    """Return the schedule that lets the long request wait for the burst of short ones."""
    burst = instance.requests[1:]
    at_once = instance.memory // burst[0].peak
    release = int(burst[0].arrival)
    starts = [release + place // at_once for place in range(len(burst))]
    return by_starts(instance, [starts[-1] + 1, *starts], "the burst first")


def section_7_memory() -> CheckResult:
    """Divide 20 GB, and GiB, by the bytes of a token of 80 layers of 8,192 numbers."""
    a_token = 2 * 80 * 8192 * 2
    found = [20 * size // a_token for size in (10**9, 2**30)]
    lines = (f"20 GB hold {found[0]:,} tokens, 20 GiB {found[1]:,}; printed 16,492",)
    return CheckResult(16_492 in found, lines)


def figure_5_slopes() -> CheckResult:
    """Compare the slope with the last arrival and the end of the figure."""
    mean, last, end = 10_000 / 6, 10_000 / 50, 200
    lines = (
        f"1/6 s a request: {mean:,.0f} s; last arrival {last:.0f} s, the figure ends at {end} s",
    )
    return CheckResult(mean <= end, lines)


def appendix_b_1() -> CheckResult:
    """Evaluate the printed row for one request (1, 1)."""
    request, start = Request(0, 0, 1, 1), 0
    times = range(start, start + request.output)
    printed = max(request.prompt + time - start for time in times)
    return CheckResult(
        printed == request.peak, (f"printed row {printed} token, peak {request.peak}",)
    )
