"""Sorted-F on lower bounds that grow, as W Algorithm 5 states it, with W's line numbers."""

from collections.abc import Sequence

from heuristics.reference.sorted_f import (
    by_dynamic_programming,
    by_local_swaps,
    items_of,
    least_f,
    phase_1,
)
from heuristics.reference.tokens_held import within_at_ends
from instances import Instance
from schedules import Schedule, make_schedule

#: How Phase 1 chooses a batch: W Algorithm 3, 2 or 1.
CHOICES = {"swap": by_local_swaps, "dp": by_dynamic_programming, "exact": least_f}


def sorted_f_amin(instance: Instance, lower: Sequence[int], phase1: str) -> Schedule:
    """W Algorithm 5, Sorted-F + A_min; the lists are ordered anew when requests arrive.

    What is active and unfinished is believed to make its next token.  Of equal estimates the last
    in the order is evicted, and it takes its old place.
    """
    items, memory, choose = items_of(instance), instance.memory, CHOICES[phase1]
    õ = list(lower)  # 3: õ_i ← ℓ_i
    R: list[int] = []  # 10: t ← 0; R ← I'; V ← ∅
    places: dict[int, tuple[int, int]] = {}
    V: dict[int, int] = {}  # start rounds of what is active,
    done: dict[int, int] = {}  # and of what has completed
    attempts: list[list[tuple[int, int]]] = [[] for _ in items]

    def believed(starts: dict[int, int]) -> list[int]:
        return [max(õ[i], t - starts.get(i, t) + 1) for i in range(len(items))]

    t = 0
    while len(done) < len(items):  # 11: while R ≠ ∅ or V ≠ ∅ do
        for i in [i for i, p in V.items() if p + items[i].output <= t]:
            done[i] = V.pop(i)  # 16: remove completed requests
        for i, p in V.items():  # 13: for r_i in V do
            õ[i] = max(õ[i], t - p)  # 14: õ_i ← max{õ_i, t − p_i}
        new = [r.position for r in items if r.arrival == t]
        if new:  # 6, 7: Phase 1 of Sorted-F with õ_i in place of o_i
            R = phase_1([items[i]._replace(output=õ[i]) for i in sorted(R + new)], memory, choose)
            places |= {i: (t, place) for place, i in enumerate(R)}
        for i in list(R):  # 19: Phase 2 of Sorted-F with the current õ_i
            trial = V | {i: t}
            if not within_at_ends(instance, trial, believed(trial)):
                break
            V = trial  # 20, 30: p_i ← t; V ← V ∪ U
            R.remove(i)  # 29: R ← R \ U
        while not within_at_ends(instance, V, believed(V)):  # 23: while M(V ∪ U) > M do
            least = min(õ[i] for i in V)
            equal = [i for i in V if õ[i] == least]
            r = max(equal, key=places.__getitem__)  # 24: r* ← argmin õ_i
            attempts[r].append((V[r], t - V.pop(r)))  # 25: V ← V \ {r*}
            R = sorted([*R, r], key=places.__getitem__)  # 26: return r* to the queue
        t += 1  # 12, 31: t ← t + 1; each makes a token
    return make_schedule(
        instance, [done[i] for i in range(len(items))], "sorted-f-amin", attempts=attempts
    )
