"""Promote-ℓ as C Algorithm 6 states it: what outlives ℓ goes to the end of the queue.

C prints no line numbers; these count the lines from the initialisation on.
"""

from __future__ import annotations

from collections.abc import Sequence

from heuristics.reference.h_sf import largest_prefix
from heuristics.reference.tokens_held import outputs_of
from instances import Instance
from schedules import Schedule, make_schedule


def a_ell(instance: Instance, lower: Sequence[int], upper: Sequence[int]) -> Schedule:
    """C Algorithm 6, with each request's ℓ and u, and arrivals at the end of the queue.

    Line 4 says more than ℓ tokens, sec. 5.1 as soon as ℓ are made; the latter is done here.
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
