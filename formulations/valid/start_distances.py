"""Least distances of two starts, and the differences that overflow, from the pair alone."""

from instances import Request


def overflows(first: Request, second: Request, distance: int, memory: int) -> bool:
    """Return whether two requests overflow if the second starts ``distance`` ≥ 0 rounds later.

    Proof.  They hold memory together at the times distance + 1..e after the first start, with
    e = min(o_1, distance + o_2), and there are such times only if distance < o_1.  The tokens both
    hold grow with time, so the last common time decides: s_1 + e + s_2 + e − distance > M.
    """
    if distance >= first.output:
        return False
    end = min(first.output, distance + second.output)
    return first.prompt + second.prompt + 2 * end - distance > memory


def separation(first: Request, second: Request, memory: int) -> int:
    """Return the least d > 0 such that starting ``second`` d rounds later cannot overflow.

    For pairs that overflow when they start together; 0 for all other pairs.

    Proof that *every* start distance in 0..d−1 then overflows.  Up to the distance where the end
    of the second passes the end of the first the tokens at the last common time grow with the
    distance (by 1 a round), after it they fall (by 1 a round).  So the distances that overflow
    form an interval; it contains 0, and no distance ≥ o_1 (they no longer meet).  The bound o_1
    is the cap whose absence once made two engines agree on a wrong optimum.
    """
    if not overflows(first, second, 0, memory):
        return 0
    # Past the turning point the condition is s_1 + s_2 + 2·o_1 − d ≤ M.
    return min(first.output, first.prompt + second.prompt + 2 * first.output - memory)


def forbidden_differences(first: Request, second: Request, memory: int) -> list[tuple[int, int]]:
    """Return the intervals of start(second) − start(first) at which the pair overflows (rounds).

    Closed intervals, disjoint and increasing, at most two.

    Proof.  Every difference at which the two meet lies in −o_2 + 1..o_1 − 1, and
    :func:`overflows` is exact for each.  A pair that overflows by itself does so in every schedule.
    On each side of 0 the differences form one interval (:func:`separation`).
    """
    found: list[tuple[int, int]] = []
    for difference in range(1 - second.output, first.output):
        pair = (first, second) if difference >= 0 else (second, first)
        if not overflows(*pair, abs(difference), memory):
            continue
        if found and found[-1][1] == difference - 1:
            found[-1] = (found[-1][0], difference)
        else:
            found.append((difference, difference))
    return found
