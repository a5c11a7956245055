"""The orders by the LP relaxation, as W Algorithms 6 and 7 state them, with W's line numbers.

The relaxation is solved by whoever calls: ``advice`` is y_i = Σ t·x*_{i,t} (lines 1 to 4 of
Algorithm 6, line 1 of Algorithm 7).  Admission is Phase 2 of Algorithm 1, which both repeat.
"""

from collections.abc import Sequence

from heuristics.reference.sorted_f import Item, local_swap, phase_1, phase_2
from instances import Instance
from schedules import Schedule, make_schedule


def sorted_lp(instance: Instance, advice: Sequence[float]) -> Schedule:
    """W Algorithm 6, Sorted-LP."""

    def plan(items: list[Item]) -> list[int]:
        # 5: sort all requests in ascending order of y_i
        return [r.position for r in sorted(items, key=lambda r: (advice[r.position], r))]

    return make_schedule(instance, phase_2(instance, plan, offline=True), "sorted-lp")  # 6-23


def lp_swap(instance: Instance, advice: Sequence[float]) -> Schedule:
    """W Algorithm 7, LP-Swap."""

    def choose(items: list[Item], memory: int) -> set[Item]:
        X: set[Item] = set()  # 6: X_init ← ∅
        for r in sorted(items, key=lambda r: (advice[r.position], r)):  # 5, 7: by increasing y_i
            if sum(q.peak for q in X) + r.peak <= memory:  # 8
                X = X | {r}  # 9
        return local_swap(X, items, memory)  # 12: X* ← LocalSwap(X_init, I, M)

    def plan(items: list[Item]) -> list[int]:
        return phase_1(items, instance.memory, choose)  # 3, 4, 13-16

    return make_schedule(instance, phase_2(instance, plan, offline=True), "lp-swap")  # 17-30
