"""A_min and A_ℓ as C Algorithms 2, 5 and 6 state them, and the choice between the two (sec. 5.1).

C prints no line numbers; these count the lines from the initialisation on.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace

from heuristics.reference.h_sf import largest_prefix
from heuristics.reference.tokens_held import outputs_of
from instances import Instance
from schedules import Schedule, make_schedule

Pick = Callable[[list[int]], int]


def a_min(instance: Instance, lower: Sequence[int], pick: Pick) -> Schedule:
    """C Algorithm 2, and 5 where the intervals differ; ``pick`` breaks ties at random.

    Line 7 sets õ_i to the tokens made.  Here it never falls: what is cancelled before its bound
    is reached keeps the bound.  C leaves open what (3) believes of an active request that has
    reached its bound; here it is believed to make its next token.
    """
    n, o = len(instance), outputs_of(instance)
    õ = list(lower)  # 1: initialise õ_i ← ℓ for all i
    p: dict[int, int] = {}  # start rounds
    attempts: list[list[tuple[int, int]]] = [[] for _ in range(n)]
    t = 0
    while len(p) < n or any(p[i] + o[i] > t for i in p):  # 2: while unfinished requests exist do
        S = {j: start for j, start in p.items() if start + o[j] > t}  # 3: R_t waits, S_t runs
        for i in ascending(list(S), õ[:], pick):  # 5: sort S_t in ascending order of õ_i
            if sum(instance.requests[j].prompt + t + 1 - p[j] for j in S) <= instance.memory:
                break  # 4: if S_t at time t + 1 exceeds M then
            made = t - p[i]
            attempts[i].append((p[i], made))
            del S[i], p[i]  # 6: remove jobs one by one until M is kept
            õ[i] = max(õ[i], made)  # 7: õ_i ← number of tokens already generated
        R = [i for i in range(n) if instance.requests[i].arrival <= t and i not in p]
        # 8: S'_t is left; what runs on is believed to make its next token.
        believed = [max(õ[i], t - S[i] + 1) if i in S else õ[i] for i in range(n)]
        order = ascending(R, õ, pick)  # 9: sort R_t in ascending order of õ_i
        I_t = largest_prefix(instance, S, order, believed, t)  # 10: largest I_t in order with (3)
        p |= dict.fromkeys(I_t, t)  # 11, 12: process I_t ∪ S'_t; R_{t+1} = R_t \ I_t
        t += 1
    return make_schedule(instance, [p[i] for i in range(n)], "a-min", attempts=attempts)


def ascending(requests: list[int], bounds: Sequence[int], pick: Pick) -> list[int]:
    """Return the requests by bound, ties in the order in which they are picked."""
    left, order = list(requests), []
    while left:
        smallest = min(bounds[i] for i in left)
        order.append(pick([i for i in left if bounds[i] == smallest]))
        left.remove(order[-1])
    return order


def a_ell(instance: Instance, lower: Sequence[int], upper: Sequence[int]) -> Schedule:
    """C Algorithm 6: what outlives ℓ goes to the end of the queue.

    Each has its own ℓ and u, and arrivals queue at the end.  Line 4 says more than ℓ tokens, sec.
    5.1 as soon as ℓ are made; the latter is done here.
    """
    n, o = len(instance), outputs_of(instance)
    õ = list(lower)  # 1: initialise õ_i ← ℓ for all i
    p: dict[int, int] = {}  # start rounds
    attempts: list[list[tuple[int, int]]] = [[] for _ in range(n)]
    R: list[int] = []
    t = 0
    while len(p) < n or any(p[i] + o[i] > t for i in p):  # 2: while unfinished requests exist do
        R += [i for i in range(n) if instance.requests[i].arrival == t]  # 3: the queue R_t,
        S = {j: start for j, start in p.items() if start + o[j] > t}  # and S_t, which runs
        for i in list(S):
            if õ[i] < upper[i] and t - p[i] >= õ[i]:  # 4: for i in S_t with ℓ tokens, unfinished:
                attempts[i].append((p[i], t - p[i]))
                del S[i], p[i]  # remove i from S_t,
                õ[i] = upper[i]  # õ_i ← u,
                R.append(i)  # move i to the end of R_t
        I_t = largest_prefix(instance, S, R, õ, t)  # 5, 6: S'_t is left; from the front while (3)
        p |= dict.fromkeys(I_t, t)  # 7: process I_t;
        R = [i for i in R if i not in I_t]  # R_{t+1} = R_t \ I_t
        t += 1
    return make_schedule(instance, [p[i] for i in range(n)], "a-ell", attempts=attempts)


def a_switch(
    instance: Instance, lower: Sequence[int], upper: Sequence[int], pick: Pick
) -> Schedule:
    """C sec. 5.1: A_ℓ where α = ℓ/u < (3 − √5)/2 for one of the first arrivals, else A_min."""
    first = min(request.arrival for request in instance.requests)
    requests = enumerate(instance.requests)
    α = min(lower[i] / upper[i] for i, request in requests if request.arrival == first)
    if α < (3 - 5**0.5) / 2:
        return replace(a_ell(instance, lower, upper), method="a-switch")
    return replace(a_min(instance, lower, pick), method="a-switch")
