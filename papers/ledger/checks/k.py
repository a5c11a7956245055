"""Checks of the statements of K (kong2026)."""

from collections.abc import Iterable, Iterator
from fractions import Fraction
from itertools import accumulate

import numpy as np

from heuristics.policy import Keys, Known, ListPolicy
from heuristics.simulator import RunSetting, run_policy
from instances.families import geometric
from papers.ledger.check_results import CheckedSchedule, CheckResult, accepted, arriving, by_policy
from papers.worst_cases.exhaustive import multisets, optimum

_SIZES = ((3, 3), (3, 4), (3, 5))
#: μ of the geometric outputs, and θ of Theorem 3.5.
_SHARE, _THRESHOLD = Fraction(1, 10), 10


def _served() -> Iterator[CheckedSchedule]:
    """Yield SVF's schedules on all instances whose peaks are all below M."""
    for n, memory in _SIZES:
        for requests in multisets(n, memory):
            if max(s + o for _, s, o in requests) < memory:
                yield by_policy("svf", arriving(memory, requests))


def _volumes(drawn: CheckedSchedule) -> list[int]:
    return sorted(request.volume for request in drawn.instance.requests)


def _left(drawn: CheckedSchedule) -> int:
    """Return (1 − α)M, tokens."""
    return drawn.instance.memory - max(request.peak for request in drawn.instance.requests)


def lemma_a_2() -> CheckResult:
    """Compare both sides on all small instances."""
    over = []
    for each in _served():
        volumes = _volumes(each)
        waited = _left(each) * sum(each.schedule.starts)
        over.append(Fraction(waited, 2 * (sum(accumulate(volumes)) - sum(volumes))))
    lines = (f"{len(over)} instances: at most {float(max(over)):.3f} of the right side",)
    return CheckResult(max(over) <= 1, lines)


def proposition_3_1() -> CheckResult:
    """Compare the bound with the optimum on all small instances."""
    over = []
    for n, memory in _SIZES:
        for requests in multisets(n, memory):
            volumes = sorted(s * o + o * (o + 1) // 2 for _, s, o in requests)
            over.append(Fraction(sum(accumulate(volumes)), memory * optimum(requests, memory)))
    lines = (f"{len(over)} instances: the bound is at most {float(max(over)):.3f} of OPT",)
    return CheckResult(max(over) <= 1, lines)


def theorem_3_2() -> CheckResult:
    """Compare the ratio of SVF with its bound on all small instances."""
    return _largest((each, 1) for each in _served())


def theorem_3_3() -> CheckResult:
    """Compare the ratio of 1-bit SVF with 1 + 2T/(1 − α) on all small instances, T tight."""
    return _largest(_one_bit())


def _one_bit() -> Iterator[tuple[CheckedSchedule, int]]:
    for each in _served():
        total = each.instance.memory - _left(each)
        yield by_policy("svf-1bit", each.instance, RunSetting({"total": total})), total


def _largest(served: Iterable[tuple[CheckedSchedule, int]]) -> CheckResult:
    """Compare ratios with 1 + 2β/(1 − α), given schedules and β."""
    worst, bound, holds, drawn = Fraction(0), Fraction(0), True, []
    for each, beta in served:
        requests = [(0, r.prompt, r.output) for r in each.instance.requests]
        ratio = Fraction(each.tel, optimum(requests, each.instance.memory))
        least = 1 + Fraction(2 * beta * each.instance.memory, _left(each))
        holds &= ratio <= least
        if ratio > worst:
            worst, bound, drawn = ratio, least, [each]
    lines = (f"largest ratio {worst}, of an instance with the bound {bound}",)
    return CheckResult(holds, lines, tuple(drawn))


def _identities(share: Fraction, threshold: int) -> bool:
    """Return if the means of a geometric output solve their equations, exactly."""
    rest = 1 - share
    short = [share * rest ** (o - 1) for o in range(1, threshold + 1)]
    tail, mean, half = rest**threshold, 1 / share, 1 / share**2
    # Beyond the threshold an output is the threshold and a fresh output.
    beyond = half + threshold * mean + Fraction(threshold * (threshold + 1), 2)
    below = sum(o * each for o, each in enumerate(short, 1)) / (1 - tail)
    return (
        sum(o * (o + 1) * each / 2 for o, each in enumerate(short, 1)) + tail * beyond == half
        and below == mean - threshold * tail / (1 - tail)
        and (1 - tail) * below + tail * (threshold + mean) == mean
    )


def theorems_3_4_3_5() -> CheckResult:
    """Compare mean latencies of both orders with the bounds times the mean output."""
    lines, memory, prompt, alpha = [], 400, 5, Fraction(1, 4)
    tail = (1 - _SHARE) ** _THRESHOLD
    less = _THRESHOLD * tail / (1 - tail)
    means = float(1 / _SHARE - less), float(_THRESHOLD + 1 / _SHARE)

    def proxies(known: Known) -> Keys:
        believed = np.where(known.outputs <= _THRESHOLD, *means)
        return (known.prompts * believed + believed * (believed + 1) / 2,)

    svf = ListPolicy("svf", rank=lambda known: (known.volumes,))
    holds = _identities(_SHARE, _THRESHOLD)
    volume = prompt / _SHARE + 1 / _SHARE**2
    for load in (Fraction(1, 2), Fraction(9, 10)):
        rate = float(load * memory * (1 - alpha) / 2 / volume)
        sizes = {"memory": memory, "p": float(_SHARE), "upper": memory // 4 - prompt}
        instance = geometric.generate(n=5_000, prompt=prompt, rate=rate, **sizes)
        mean = float(instance.outputs.mean())
        for policy, error in ((svf, 0), (ListPolicy("svf-1bit", rank=proxies), less**2 / 2)):
            latency = accepted(instance, run_policy(policy, instance)).tel / len(instance)
            more = 2 / ((1 - alpha) * (1 - _SHARE) * (1 - load)) * volume / (volume - error)
            holds &= latency <= (1 + more) * mean
            lines.append(
                f"{policy.name}, load {load}: mean latency {latency / mean:.2f} times the mean "
                f"output, bound {float(1 + more):.2f}"
            )
    return CheckResult(holds, tuple(lines))
