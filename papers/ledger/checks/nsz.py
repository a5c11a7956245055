"""Checks of the statements of NSZ (nie2026)."""

from collections.abc import Iterator
from fractions import Fraction
from itertools import pairwise
from math import isclose

import numpy as np

from instances.families import geometric, mixed, uniform
from papers.ledger.check_results import CheckedSchedule, CheckResult, arriving, by_policy, together
from serving.batch_time import read_batch_time
from serving.capacity_search import stability_rate

#: Largest prompt, largest output, seconds of a batch, printed rate; both lengths begin at 10.
_TABLE = (
    (1600, 1600, Fraction("0.0372"), "3.263"),
    (2133, 1066, Fraction("0.0430"), "3.956"),
    (1066, 2133, Fraction("0.0337"), "2.902"),
)


def _rates() -> Iterator[Fraction]:
    """Yield M / (b·E g) of the table's rows, exactly."""
    for prompt, output, seconds, _ in _TABLE:
        (s, s2), (o, o2) = (
            [Fraction(sum(x**k for x in range(10, most + 1)), most - 9) for k in (1, 2)]
            for most in (prompt, output)
        )
        yield 131_000 / (seconds * (s + s2 / 512 + 2 * s * o + o + o2) / 2)


def table_1() -> CheckResult:
    """Compute the rate of each row in fractions."""
    found = [f"{float(rate):.3f}" for rate in _rates()]
    return CheckResult(found == [row[-1] for row in _TABLE], (", ".join(found),))


def table_1_mixed() -> CheckResult:
    """Mix the second and the third row in equal parts."""
    _, first, second = _rates()
    mean = f"{float(2 / (1 / first + 1 / second)):.3f}"
    return CheckResult(mean == "3.385", (f"{mean}; printed: 3.385",))


def _waiting(drawn: CheckedSchedule, now: int) -> int:
    """Return the volume that waits at a time, in rounds of the whole memory."""
    each = zip(drawn.instance.requests, drawn.schedule.starts, strict=True)
    held = sum(request.volume for request, start in each if request.arrival <= now < start)
    return held // drawn.instance.memory


def theorem_4_1() -> CheckResult:
    """Run three families at 5/4 of M / E[volume] a round, and add up what waits."""
    lines, holds = [], True
    for family, memory in ((geometric, 150), (mixed, 1000), (uniform, 100)):
        base = family.generate(n=3000, memory=memory)
        volume = sum(each.volume for each in base.requests) / len(base)
        # A round of a second: `kvopt capacity` counts s + j − 1 tokens in the j-th round.
        rate = stability_rate(base, read_batch_time("linear(base=1000)")).rate
        holds &= isclose(rate, memory / (volume - base.outputs.mean()))
        instance = family.generate(n=3000, memory=memory, rate=memory / volume * 5 / 4)
        last = int(instance.arrivals[-1])
        for policy in ("svf", "fcfs"):
            drawn = by_policy(policy, instance)
            waits = [_waiting(drawn, last * part // 4) for part in (1, 2, 4)]
            holds &= 0 < 1.25 * waits[0] < waits[1] < waits[2] / 1.25
            lines.append(
                f"{base.family}, {policy}: {waits} rounds wait at 1/4, 1/2 and 1 of the time"
            )
    return CheckResult(holds, tuple(lines))


def theorem_4_2() -> CheckResult:
    """Run requests (1, 9) with M = 60: all at 0, and 0.8 a round as a Poisson process."""
    burst = by_policy("fcfs", together(60, *[(1, 9)] * 600))
    in_step = max(burst.schedule.starts) + 9 == 900
    rng = np.random.default_rng(0)
    rows = [(now, 1, 9) for now in range(12_000) for _ in range(rng.poisson(0.8))]
    drawn = by_policy("svf", arriving(60, rows))
    waits = [_waiting(drawn, now) for now in range(2000, 12_000, 2000)]
    grows = all(later > 1.2 * before for before, later in pairwise(waits))
    lines = (
        f"600 at once take {max(burst.schedule.starts) + 9} rounds",
        f"at 0.8 a round {waits} rounds of volume wait after 2,000, 4,000, ... rounds",
    )
    return CheckResult(not (in_step and grows), lines)
