"""Checks of the statements of K (kong2026)."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from itertools import accumulate

from papers.ledger.check_results import CheckedSchedule, CheckResult, arriving, by_policy
from papers.worst_cases.exhaustive import multisets, optimum

_SIZES = ((3, 3), (3, 4), (3, 5))


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
    """Compare the ratio with the bound on all small instances."""
    worst = Fraction(0)
    holds, drawn = True, []
    for each in _served():
        requests = [(0, r.prompt, r.output) for r in each.instance.requests]
        ratio = Fraction(each.tel, optimum(requests, each.instance.memory))
        holds &= ratio <= _bound(each)
        if ratio > worst:
            worst, drawn = ratio, [each]
    lines = (f"largest ratio {worst}, of an instance with the bound {_bound(drawn[0])}",)
    return CheckResult(holds, lines, tuple(drawn))


def _bound(drawn: CheckedSchedule) -> Fraction:
    return 1 + Fraction(2 * drawn.instance.memory, _left(drawn))
