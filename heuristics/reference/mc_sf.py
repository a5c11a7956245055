"""MC-SF, shortest output first, as J2 Algorithm 1 states it, and what differs from it in one line.

J2 prints no line numbers; these count the lines from the loop over rounds on.  J1's Algorithms 1
and 2 are the same in intent, but leave the candidate's own completion out of line 4, which with
arrivals over time exceeds the memory.
"""

from collections.abc import Callable, Sequence
from fractions import Fraction

from heuristics.reference.h_sf import largest_batches
from heuristics.reference.tokens_held import outputs_of, within_at_ends
from instances import Instance, Request
from schedules import Schedule, make_schedule


def in_order(
    instance: Instance, key: Callable[[Request], float | Fraction], *, first_fit: bool = False
) -> list[int]:
    """Return the start rounds of J2 Algorithm 1 with line 3 by any key, ties by arrival.

    ``first_fit`` passes over a request that does not fit, where line 8 ends the round.
    """
    n, o = len(instance), outputs_of(instance)
    a = [request.arrival for request in instance.requests]
    ascending = sorted(range(n), key=lambda i: (key(instance.requests[i]), a[i], i))
    p: dict[int, int] = {}  # start rounds
    t = 0
    while len(p) < n:  # 1: for each round t = 1 to T do
        S = [j for j in p if p[j] + o[j] > t]  # 2: S(t) has started and has not completed,
        R = [i for i in ascending if a[i] <= t and i not in p]  # R(t) waits,
        U: list[int] = []  # U(t) = ∅
        for i in R:  # 3: for each request i in R(t) in ascending order of o_i do
            trial = {j: p[j] for j in S} | dict.fromkeys([*U, i], t)  # 4: with S(t) ∪ U(t) ∪ {i},
            if within_at_ends(instance, trial, o):  # 5: if (5) holds at each t' = p_j + o_j then
                U.append(i)  # 6: add request i to U(t)
            elif not first_fit:  # 7: else
                break  # 8: break the for loop
        p |= dict.fromkeys(U, t)  # 9: process the requests in S(t) ∪ U(t)
        t += 1
    return [p[i] for i in range(n)]


def _serve(
    instance: Instance, name: str, key: Callable[[Request], float], *, first_fit: bool = False
) -> Schedule:
    return make_schedule(instance, in_order(instance, key, first_fit=first_fit), name)


def mc_sf(instance: Instance) -> Schedule:
    """Shortest output first, the largest prefix that fits (J2 Algorithm 1)."""
    return _serve(instance, "mc-sf", lambda request: request.output)


def mc_sf_predicted(instance: Instance, upper: Sequence[int], arrived: Sequence[float]) -> Schedule:
    """MC-SF with over-estimates for the outputs, in line 3 and in (5) (J2 v5)."""
    order = sorted(range(len(instance)), key=lambda i: (upper[i], arrived[i], i))
    return make_schedule(instance, largest_batches(instance, order, upper), "mc-sf-predicted")


def mc_sf_total(instance: Instance) -> Schedule:
    """MC-SF with line 3 in ascending order of s_i + o_i (W Theorem 8.2)."""
    return _serve(instance, "mc-sf-total", lambda request: request.peak)


def mc_sf_first_fit(instance: Instance) -> Schedule:
    """MC-SF without line 8: every waiting request is tried (a variant of this suite)."""
    return _serve(instance, "mc-sf-first-fit", lambda request: request.output, first_fit=True)


def mc_benchmark(instance: Instance) -> Schedule:
    """J2 Algorithm 2: Algorithm 1 with line 3 in ascending order of arrival."""
    return _serve(instance, "mc-benchmark", lambda request: request.arrival)


def fcfs(instance: Instance) -> Schedule:
    """Run the benchmark of W sec. 7, which has no pseudocode there: in the order of arrival."""
    return _serve(instance, "fcfs", lambda request: request.arrival)
