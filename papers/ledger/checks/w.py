"""Checks of the statements of W (wang2025)."""

from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import combinations_with_replacement, pairwise
from random import Random

from formulations.valid.volume_bounds import volume_bound
from heuristics.reference.sorted_f import Item, items_of, least_f
from instances import Instance, read_instance
from instances.families import example_3_1 as example
from instances.families import mcsf_trap, total_trap
from instances.instance_names import find_instance
from papers.ledger.check_results import CheckedSchedule, CheckResult, by_policy, by_starts, together


def theorem_2_1() -> CheckResult:
    """Compare MC-SF with the other order, for three memories, and both bounds for more."""
    lines, holds = [], True
    for root in (2, 3, 4):
        instance = mcsf_trap.generate(memory=root**4)
        least, most = trap_bounds(root)
        first = by_policy("mc-sf", instance).tel
        second = by_starts(instance, second_kind_first(root), "the second kind first").tel
        holds &= least <= first and second <= most
        lines.append(f"M = {root}^4: MC-SF {first}, at least {least}; {second}, at most {most}")
    bounds = [trap_bounds(root) for root in range(2, 1000)]
    above = all(11 * least >= root * most for root, (least, most) in enumerate(bounds, 2))
    lines.append(f"the bounds' ratio is at least M^(1/4)/11 up to M = 999^4: {above}")
    return CheckResult(holds and above, tuple(lines))


def trap_bounds(root: int) -> tuple[int, int]:
    """Return what MC-SF costs at least and the other order at most, M^(1/4) given (rounds)."""
    return root**5 * (root**2 + 2), 9 * root**6 + 8 * root**5


def second_kind_first(root: int) -> list[int]:
    """Return the starts of groups of floor(M/3) every two rounds, and then of √M a round."""
    memory, at_once = root**4, root**4 // 3
    second = [2 * (place // at_once) for place in range(root * memory)]
    return [second[-1] + 2 + place // root**2 for place in range(memory)] + second


def theorem_2_2() -> CheckResult:
    """Run three requests of x = 1 with M = T, and with M = T + 3."""
    tight, wide = (by_policy("svf", together(memory, *[(1, 1)] * 3)) for memory in (3, 6))
    least = volume_bound(tight.instance)
    lines = (
        f"M = T = 3: every schedule needs {least} at least, printed 3; one has {tight.tel}",
        f"M = T + 3 = 6: {wide.tel}",
    )
    return CheckResult(least <= 3 or wide.tel != 3, lines, (tight,))


def example_3_1() -> CheckResult:
    """Run MC-SF and Sorted-F."""
    instance = example.generate()
    first, second = by_policy("mc-sf", instance), by_policy("sorted-f-exact", instance)
    lines = (f"MC-SF {first.tel}, Sorted-F {second.tel}; printed 64 and 45",)
    return CheckResult((first.tel, second.tel) == (64, 45), lines, (first, second))


def example_3_2() -> CheckResult:
    """Compare both orders of two batches that each fill the memory."""
    cases, wrong, memory = 0, 0, 24
    full = [(memory // n - o, o, n) for n in (1, 2, 3, 4, 6) for o in range(1, memory // n + 1)]
    for one in full:
        for two in full:
            batches = [[(s, o)] * n for s, o, n in (one, two)]
            instance = together(memory, *batches[0], *batches[1])
            starts = [[0] * one[2] + [one[1]] * two[2], [two[1]] * one[2] + [0] * two[2]]
            first, second = (by_starts(instance, each, "batches").tel for each in starts)
            cases += 1
            wrong += (one[1] * two[2] < two[1] * one[2]) != (first < second)
    return CheckResult(not wrong, (f"{cases} pairs of batches, {wrong} of them otherwise",))


def batches(instance: Instance) -> list[list[Item]]:
    """Return the batches of Algorithm 1, Phase 1, each by output."""
    items, found = items_of(instance), []
    while items:
        chosen = least_f(items, instance.memory)
        found.append(sorted(chosen, key=lambda item: (item.output, item)))
        items = [item for item in items if item not in chosen]
    return found


def small_instances(n: int, memory: int) -> Iterator[Instance]:
    """Return all instances of n requests, up to order; all arrive at 0."""
    pairs = [(s, o) for s in range(memory) for o in range(1, memory - s + 1)]
    for chosen in combinations_with_replacement(pairs, n):
        yield together(memory, *chosen)


def lemma_3_3() -> CheckResult:
    """Compare mean and largest output of every batch, on all small instances."""
    cases, wrong = 0, 0
    for memory in (3, 4, 5):
        for instance in small_instances(3, memory):
            for batch in batches(instance):
                outputs = [item.output for item in batch]
                cases += 1
                wrong += 2 * sum(outputs) <= len(outputs) * max(outputs)
    return CheckResult(not wrong, (f"{cases} batches, {wrong} of them otherwise",))


def waits(batches: Sequence[list[Item]], lengths: Sequence[int | Fraction]) -> Fraction:
    """Return Σ o, and what each length costs the requests of later batches (rounds)."""
    total, later = Fraction(0), 0
    for batch, length in zip(reversed(batches), reversed(lengths), strict=True):
        total += length * later + sum(item.output for item in batch)
        later += len(batch)
    return total


def one_after_the_other(found: Sequence[list[Item]]) -> Fraction:
    """Return the TEL of Definition 4.3: all of the first batch start at 0."""
    return waits(found, [batch[-1].output for batch in found])


def ends_of_groups(found: Sequence[list[Item]]) -> list[bool]:
    """Return for each batch whether a group of Proof 4.9 ends: one more would not raise F."""
    ends = []
    for batch, after in pairwise(found):
        total, n = sum(item.output for item in batch), len(batch)
        ends.append((total + after[0].output) * n**2 <= total * (n + 1) ** 2)
    return [*ends, True]


def grouped(found: Sequence[list[Item]], *, aligned: bool) -> Fraction:
    """Return the TEL of groups by Proof 9.2, or of aligned groups by Proof 4.14."""
    lengths = [
        _length(batch, aligned=aligned) if end else 0
        for batch, end in zip(found, ends_of_groups(found), strict=True)
    ]
    return waits(found, lengths)


def _length(batch: list[Item], *, aligned: bool) -> Fraction:
    total = sum(item.output for item in batch)
    return Fraction(total, len(batch)) if aligned else Fraction(batch[-1].output)


def theorem_4_4() -> CheckResult:
    """Compare Sorted-F with its batches one after the other, on all small instances."""
    cases, wrong = 0, 0
    for memory in (3, 4, 5):
        for instance in small_instances(3, memory):
            found = by_policy("sorted-f-exact", instance)
            cases += 1
            wrong += found.tel > one_after_the_other(batches(instance))
    return CheckResult(not wrong, (f"{cases} instances, {wrong} of them otherwise",))


def drawn_batches(draws: int) -> Iterator[list[list[Item]]]:
    """Yield batches of instances whose outputs differ by factors, so that groups have several."""
    chance = Random(7)
    for _ in range(draws):
        outputs = [chance.choice((1, 1, 4, 5, 13)) for _ in range(6)]
        yield batches(together(16, *((chance.randint(0, 16 - o), o) for o in outputs)))


def theorem_4_7() -> CheckResult:
    """Compare the longest outputs in a group, and both totals by the formulas."""
    longest, worst, wrong = 0, Fraction(0), 0
    for found in drawn_batches(150):
        worst = max(worst, one_after_the_other(found) / grouped(found, aligned=False))
        group: list[int] = []
        for batch, end in zip(found, ends_of_groups(found), strict=True):
            group.append(batch[-1].output)
            if end:
                halves = [2 ** (place // 2) * o for place, o in enumerate(reversed(group))]
                wrong += max(halves) > group[-1] or sum(group) > 4 * group[-1]
                longest, group = max(longest, len(group)), []
    lines = (
        f"groups of up to {longest} batches, {wrong} of them otherwise than Lemma 4.10 and (4)",
        f"one after the other over grouped is at most {float(worst):.3f}, stated below 4",
    )
    return CheckResult(not wrong and worst < 4, lines)


def theorem_4_7_memory() -> CheckResult:
    """Compare the peaks of the batches that end a group with M less the largest peak."""
    instance = together(6, *[(1, 1)] * 4)
    found = batches(instance)
    peaks = [sum(item.prompt + item.output for item in batch) for batch in found]
    least = instance.memory - max(request.peak for request in instance.requests)
    ends = [peak for peak, end in zip(peaks, ends_of_groups(found), strict=True) if end]
    sizes = [len(batch) for batch in found]
    lines = (f"batches of {sizes}; peaks of those that end a group {ends}, stated above {least}",)
    return CheckResult(all(peak > least for peak in ends), lines)


def equation_4_middle() -> CheckResult:
    """Compare the powers of 1/2 of a group with what they are stated to sum to at most."""
    half, lines, holds = Fraction(1, 2), [], True
    for a in range(1, 8):
        powers = sum(half ** ((a - i) // 2) for i in range(1, a + 1))
        middle = 4 * (1 - half ** ((a - 1) // 2))
        holds = holds and powers <= middle
        lines.append(f"a = {a}: {powers}, stated at most {middle}")
    return CheckResult(holds, tuple(lines))


def theorem_4_13() -> CheckResult:
    """Compare grouped and aligned batches by the formulas."""
    worst = max(
        grouped(found, aligned=False) / grouped(found, aligned=True) for found in drawn_batches(150)
    )
    return CheckResult(
        worst < 2, (f"grouped over aligned is at most {float(worst):.3f}, stated below 2",)
    )


def equation_3() -> CheckResult:
    """Compare the last start of the third batch with the end of the second."""
    instance = together(7, (1, 3), (3, 1), (3, 1), (3, 1))
    found = by_policy("sorted-f-exact", instance)
    _, second, third = batches(instance)
    ended = max(found.schedule.starts[item.position] + item.output for item in second)
    started = max(found.schedule.starts[item.position] for item in third)
    lines = (f"batch 2 completes at {ended}, batch 3 starts at {started}",)
    return CheckResult(started <= ended, lines, (found,))


def theorem_4_19() -> CheckResult:
    """Compare the two aligned schedules, whose outputs are all 1."""
    instance = together(10, *[(1, 1)] * 3, *[(7, 1)] * 4)
    ours: CheckedSchedule = by_policy("sorted-f-exact", instance)
    best = by_starts(instance, (0, 1, 2, 0, 1, 2, 3), "the optimum")
    sizes = [len(batch) for batch in batches(instance)]
    lines = (
        f"aligned Sorted-F {ours.tel}, aligned optimum {best.tel}",
        f"batches of {sizes}: F of the three small ones is 1/3, of a small and a large one 1/2",
    )
    return CheckResult(ours.tel <= best.tel, lines, (ours, best))


def algorithm_2() -> CheckResult:
    """Compare the batches of Algorithms 1 and 2 on two requests."""
    instance = together(4, (1, 1), (1, 2))
    exact: CheckedSchedule = by_policy("sorted-f-exact", instance)
    peaks = by_starts(instance, (0, 1), "one at a time, as by Σ peaks")
    sizes = [len(batch) for batch in batches(instance)]
    both = sum(request.peak for request in instance.requests)
    lines = (f"Algorithm 1 takes batches of {sizes}; the peaks sum to {both} of 4",)
    return CheckResult(sizes != [2] or both <= 4, lines, (exact, peaks))


def figures_6_7() -> CheckResult:
    """Mix the published means."""
    means = [0.8 * chat + 0.2 * long for chat, long in ((41.84, 2546.39), (85.35, 296.08))]
    lines = (f"{means[0]:.2f} and {means[1]:.2f}; printed 542.75 and 127.50",)
    return CheckResult([f"{mean:.2f}" for mean in means] == ["542.75", "127.50"], lines)


def theorem_8_2() -> CheckResult:
    """Evaluate the ratio of the printed instance by its sums, and run a small one."""
    roots = (4, 16, 64, 256, 1024)
    ratios = [trap_ratio(root, root**3) for root in roots]
    small = total_trap.generate(memory=16)
    first, second = by_policy("mc-sf-total", small), by_policy("svf", small)
    lines = (
        *(
            f"M = {root}²: {float(ratio):.4f}, printed at least {2 / 3 * root:.1f}"
            for root, ratio in zip(roots, ratios, strict=True)
        ),
        f"M = 16, run: {first.tel / second.tel:.2f}",
    )
    return CheckResult(
        all(3 * ratio >= 2 * root for ratio, root in zip(ratios, roots, strict=True)), lines
    )


def trap_ratio(root: int, second: int) -> Fraction:
    """Return TEL of both orders of its two kinds, √M given, by the paper's sums done right."""

    def triangle(last: int) -> int:
        return last * (last + 1) // 2

    long = (root - 1) * root * triangle(root)
    short = root * triangle(second // root)
    waits = root * second
    return Fraction(long + (root - 1) * waits + short, long + waits + short)


def table_4() -> CheckResult:
    """Compare two printed figures with a bound and with a schedule."""
    uniform, exponential = (
        read_instance(find_instance(name)) for name in ("uniform_100", "exponential_100")
    )
    least, most = volume_bound(uniform), by_policy("fcfs", exponential).tel
    lines = (
        f"uniform: every schedule needs {least:,}, printed 9,748.3",
        f"exponential: FCFS needs {most:,}, printed 6,016.9 for Sorted-F",
    )
    return CheckResult(not (least > 9_748.3 and most < 6_016.9), lines)
