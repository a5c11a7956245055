"""Checks of the statements of J2 (jaillet2025_v2)."""

from collections.abc import Callable, Iterator
from fractions import Fraction
from itertools import product
from math import ceil, isqrt
from random import Random

import kvopt
from formulations.valid.volume_bounds import volume_bound
from heuristics.guarantee import largest_share
from heuristics.policy import ListPolicy
from heuristics.reference.mc_sf import mc_sf
from heuristics.simulator import run_policy
from instances import Instance, Request
from instances.families import late_burst
from papers.ledger.check_results import (
    CheckResult,
    accepted,
    arriving,
    by_policy,
    by_starts,
    together,
)
from papers.ledger.checks.j1 import behind_the_long, burst_first, proposition_4_1
from papers.worst_cases.exhaustive import optimum

#: s, o, n, M of identical requests.
Case = tuple[int, int, int, int]


def equations_1_to_4() -> CheckResult:
    """Solve two instances by the program and by an exact search."""
    lines, agree = [], True
    for name in ("tiny_handover", "example_3_1"):
        by_program, by_search = (kvopt.solve(name, each) for each in ("highs:ilp", "search:counts"))
        agree &= by_program.status == by_search.status == "optimal"
        agree &= by_program.tel == by_search.tel
        lines.append(f"{name}: {by_program.tel} by the program, {by_search.tel} by search")
    return CheckResult(agree, tuple(lines))


def theorem_4_1() -> CheckResult:
    """Compare the cost of the burst after any start with schedules and with MC-SF."""
    lines, holds = [], True
    for memory in (64, 256, 1024, 4096):
        least = behind_the_long(isqrt(memory) // 2 - 1, 1, memory // 2, memory)
        most = max(_little(memory, begin) for begin in (0, memory))
        holds &= by_policy("mc-sf", late_burst.generate(memory=memory)).tel >= least
        holds &= 2 * most <= 5 * memory and (28 * least) ** 2 >= memory * most**2
        lines.append(
            f"M = {memory}: any start costs {least / most:.2f} times OPT, √M/28 is "
            f"{memory**0.5 / 28:.2f}"
        )
    return CheckResult(holds, tuple(lines))


def _little(memory: int, begin: int) -> int:
    """Return the TEL of a schedule of the adversary's answer to a start at ``begin``."""
    instance = late_burst.respond(lambda _: begin, memory)
    release = int(instance.arrivals[-1])
    if release < memory - 1:
        return burst_first(instance).tel
    return by_starts(instance, [0] + [release] * (memory // 2), "the long one first").tel


def algorithm_1() -> CheckResult:
    """Run simulator and pseudocode on random instances with arrivals."""
    chance, equal = Random(1), 0
    for _ in range(60):
        memory = chance.randint(4, 14)
        rows = []
        for _ in range(chance.randint(2, 7)):
            prompt = chance.randint(0, memory - 1)
            rows.append((chance.randint(0, 5), prompt, chance.randint(1, memory - prompt)))
        instance = arriving(memory, rows)
        equal += by_policy("mc-sf", instance).schedule.starts == mc_sf(instance).starts
    return CheckResult(equal == 60, (f"{equal} of 60 schedules are the pseudocode's",))


def proposition_4_2() -> CheckResult:
    """Count as for J1 Proposition 4.1."""
    return proposition_4_1()


def equal_prompts(draws: int, seed: int) -> Iterator[Instance]:
    """Draw instances with equal prompts whose memory is at least twice the largest peak."""
    chance = Random(seed)
    for _ in range(draws):
        prompt, longest = chance.randint(0, 6), chance.choice((2, 5, 20))
        memory = chance.randint(2, 8) * (prompt + longest)
        outputs = [chance.randint(1, longest) for _ in range(chance.choice((5, 40, 200)))]
        yield together(memory, *((prompt, output) for output in outputs))


def theorem_4_3_equal_prompts() -> CheckResult:
    """Compare MC-SF with SVF and with 1 + 2/(1 − α) times the volume bound."""
    worst, same = Fraction(0), True
    for instance in equal_prompts(150, 2):
        found = by_policy("mc-sf", instance).tel
        same &= found == by_policy("svf", instance).tel
        allowed = (1 + 2 / (1 - largest_share(instance))) * volume_bound(instance)
        worst = max(worst, found / allowed)
    lines = (
        "MC-SF is SVF on all 150 draws" if same else "MC-SF is not SVF",
        f"TEL over (1 + 2/(1 − α)) times the volume bound is at most {float(worst):.3f}",
    )
    return CheckResult(same and worst <= 1, lines)


def theorem_4_3_equal_outputs() -> CheckResult:
    """Compare MC-SF on identical requests with the steps of the proof."""
    worst, steps = Fraction(0), True
    for s, o, n, memory in identical(7):
        instance = together(memory, *[(s, o)] * n)
        found = by_policy("mc-sf", instance).tel
        at_once = memory // (s + o)
        batches = sum(o * ceil(Fraction(j, at_once)) for j in range(1, n + 1))
        steps &= found <= batches
        worst = max(worst, Fraction(found, volume_bound(instance)))
    lines = (
        "MC-SF is no worse than batches of floor(M/(s + o))" if steps else "a step fails",
        f"TEL over the volume bound is at most {float(worst):.3f}, stated 4",
    )
    return CheckResult(steps and worst <= 4, lines)


def identical(step: int) -> Iterator[Case]:
    """Return cases that Theorem 4.3 allows: M at least twice the peak, n above floor(M/(s + o))."""
    for s in range(0, 7, 2):
        for o in (1, 2, 3, 5, 8):
            for memory in range(2 * (s + o), 60, step):
                for n in (memory // (s + o) + 1, 5 * (memory // (s + o))):
                    yield s, o, n, memory


def _ordered_volumes(instance: Instance) -> int:
    """Return Σ n_o n_o' vol_o' over o' ≤ o (token-rounds)."""
    volumes = [(r.output, r.volume) for r in instance.requests]
    return sum(volume for longer, _ in volumes for output, volume in volumes if output <= longer)


def lemma_4_4() -> CheckResult:
    """Compare MC-SF with the stated bound, in fractions."""
    return _worst(
        equal_prompts(60, 3),
        lambda instance: Fraction(
            by_policy("mc-sf", instance).tel,
            Fraction(1536 * _ordered_volumes(instance), instance.memory)
            + 24 * int(sum(instance.outputs)),
        ),
        "TEL over the stated bound",
    )


def lemma_4_5() -> CheckResult:
    """Compare MC-SF's time at a class of outputs with the stated bound."""
    worst, classes = Fraction(0), 0
    for instance in equal_prompts(60, 5):
        levels: dict[int, list[tuple[int, Request]]] = {}
        starts = by_policy("mc-sf", instance).schedule.starts
        for start, request in zip(starts, instance.requests, strict=True):
            levels.setdefault(request.output.bit_length(), []).append((start, request))
        for level, runs in levels.items():
            took = max(p + each.output for p, each in runs) - min(p for p, _ in runs)
            volumes = sum(each.volume for _, each in runs)
            stated = Fraction(192 * volumes, instance.memory) + 5 * (2**level - 1)
            worst, classes = max(worst, took / stated), classes + 1
    lines = (f"{classes} classes: at most {float(worst):.3f} of the stated length",)
    return CheckResult(worst <= 1, lines)


def lemma_4_7() -> CheckResult:
    """Compare the stated bound with the volume bound, which is at most OPT."""
    return _worst(
        equal_prompts(100, 4),
        lambda instance: (
            (
                Fraction(_ordered_volumes(instance), 6 * instance.memory)
                + Fraction(int(sum(instance.outputs)), 6)
            )
            / volume_bound(instance)
        ),
        "the stated bound over the volume bound",
    )


def _worst(
    drawn: Iterator[Instance], ratio: Callable[[Instance], Fraction], words: str
) -> CheckResult:
    worst = max(map(ratio, drawn))
    return CheckResult(worst <= 1, (f"{words} is at most {float(worst):.4f}",))


def dual(s: int, o: int, n: int, memory: int) -> tuple[Fraction, list[Fraction], Fraction]:
    """Return ȳ, the λ_t that are positive, and d, as (25) to (27) define them."""
    width = 2 * s + o + 1
    lost = Fraction((o - 1) * (3 * s + 2 * o + 2), 3 * width)
    y = max(Fraction(0), Fraction(width * o * n, 2 * memory) - lost)
    first, d = (2 * y + 2 * lost) / (width * o), Fraction(2, width * o)
    return y, [first - d * k for k in range(int(first / d) + 1) if first > d * k], d


def exact_value(case: Case) -> Fraction:
    """Return the value (22) of that dual solution."""
    _, o, n, memory = case
    y, multipliers, _ = dual(*case)
    return n * o + n * y - memory * sum(multipliers)


def printed_value(case: Case) -> Fraction:
    """Return the closed form that is printed for it."""
    _, o, n, memory = case
    y, multipliers, d = dual(*case)
    first = multipliers[0] if multipliers else Fraction(0)
    return n * o + n * y - memory * first**2 / (2 * d)


def lemma_b_1() -> CheckResult:
    """Test row (23) for every t, in fractions."""
    cases, wrong = 0, 0
    for s, o, n, memory in identical(3):
        y, multipliers, _ = dual(s, o, n, memory)
        cases += 1
        for t in range(len(multipliers) + int(y) + o + 2):
            running = zip(range(s + 1, s + o + 1), multipliers[t : t + o], strict=False)
            wrong += y - sum(tokens * multiplier for tokens, multiplier in running) > t
    return CheckResult(not wrong, (f"{cases} cases, {wrong} rows violated",))


def dual_value_after_lemma_b_1() -> CheckResult:
    """Compare the printed form with the value, and with a schedule."""
    case = (0, 1, 3, 2)
    found = by_policy("mc-sf", together(2, *[(0, 1)] * 3))
    below = sum(exact_value(each) <= printed_value(each) for each in identical(3))
    cases = sum(1 for _ in identical(3))
    lines = (
        f"s = 0, o = 1, n = 3, M = 2: value {float(exact_value(case))}, printed "
        f"{float(printed_value(case))}, MC-SF {found.tel}",
        f"the value is at most the printed form in {below} of {cases} cases",
    )
    return CheckResult(printed_value(case) <= found.tel, lines, (found,))


def lemma_b_2() -> CheckResult:
    """Evaluate the quotient, in fractions."""
    found = _quotient((0, 2, 1, 23))
    inside = max(map(_quotient, identical(3)))
    lines = (
        f"with n > m and M ≥ 2(s + o) at most {float(inside):.2f}, stated at most 4",
        f"s = 0, o = 2, n = 1, M = 23, where n ≤ m: {float(found):.2f}",
    )
    return CheckResult(inside <= 4, lines)


def _quotient(case: Case) -> Fraction:
    s, o, n, memory = case
    return (Fraction(5 * o * n, 8) + Fraction(o * (s + o) * n * n, memory)) / printed_value(case)


def v5_theorem_4_3() -> CheckResult:
    """Compare MC-SF by over-estimates with 1 + 2α³/(1 − P/M), all small instances and ties."""
    policy = ListPolicy("mc-sf", clairvoyant=False, rank=lambda known: (known.upper,))
    worst, used, count = Fraction(0), Fraction(0), 0
    for memory, n in ((3, 2), (4, 2), (5, 2), (6, 2), (4, 3), (5, 3)):
        for prompt in range(memory - 1):
            ends = range(1, memory - prompt)
            pairs = [(output, upper) for upper in ends for output in range(1, upper + 1)]
            for kinds in product(pairs, repeat=n):
                requests = tuple(
                    Request(i, 0, prompt, o, output_lower=1, output_upper=upper)
                    for i, (o, upper) in enumerate(kinds)
                )
                instance = Instance("predicted", memory, requests)
                tel = accepted(instance, run_policy(policy, instance)).tel
                ratio = Fraction(tel, optimum([(0, prompt, o) for o, _ in kinds], memory))
                alpha = max(Fraction(upper, o) for o, upper in kinds)
                left = memory - prompt - max(upper for _, upper in kinds)
                bound = 1 + 2 * alpha**3 * memory / left
                worst, used, count = max(worst, ratio), max(used, ratio / bound), count + 1
    lines = (f"{count} cases: largest ratio {worst}, at most {float(used):.3f} of the bound",)
    return CheckResult(used <= 1, lines)
