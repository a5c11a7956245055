"""Start differences of two requests that overflow memory, whichever starts first."""

from __future__ import annotations

from formulations.valid.separation import overflows
from instances import Request


def forbidden_differences(first: Request, second: Request, memory: int) -> list[tuple[int, int]]:
    """Return the intervals of start(second) − start(first) at which the pair overflows (rounds).

    Closed intervals, disjoint and increasing, at most two.

    Proof.  Every difference at which the two meet lies in −o_2 + 1..o_1 − 1, and each of them is
    tried by ``overflows``, which is exact for a pair (proof there); the ones that overflow are
    listed as maximal intervals.  A pair that overflows by itself overflows whatever the others
    do, so no feasible schedule has such a difference.  On each side of 0 they form one interval
    (``separation``), hence at most two.
    """
    found: list[tuple[int, int]] = []
    for difference in range(1 - second.output, first.output):
        if difference >= 0:
            bad = overflows(first, second, difference, memory)
        else:
            bad = overflows(second, first, -difference, memory)
        if not bad:
            continue
        if found and found[-1][1] == difference - 1:
            found[-1] = (found[-1][0], difference)
        else:
            found.append((difference, difference))
    return found
