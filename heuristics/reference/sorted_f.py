"""Sorted-F and its kin, as W Algorithms 1 to 7 state them.

The numbers are the lines that W prints.  Phase 1 orders what waits, anew whenever requests arrive
(W has all of them at 0).  Among requests that are equal otherwise the earlier arrival comes first,
then the position; ``Item`` is made so that sorting it says the same.  Algorithms 6 and 7 take
``advice``, y_i = Σ t·x*_{i,t}, from whoever solves the relaxation (their lines 1 to 4, and 1).
"""

from collections.abc import Callable, Collection, Sequence
from fractions import Fraction
from itertools import combinations
from typing import NamedTuple

from heuristics.reference.tokens_held import outputs_of, within_at_ends
from instances import Instance
from schedules import Schedule, make_schedule


class Item(NamedTuple):
    """A request as Phase 1 sees it."""

    arrival: float
    position: int
    prompt: int
    output: int

    @property
    def peak(self) -> int:
        """s + o (tokens)."""
        return self.prompt + self.output


#: Chooses a batch from the requests that remain, given M.
Choose = Callable[[list[Item], int], set[Item]]
Sample = Callable[[int, int], Sequence[int]]


def sorted_f_exact(instance: Instance) -> Schedule:
    """W Algorithm 1 with its Phase 1 to the letter."""
    return _sorted_f(instance, least_f, "sorted-f-exact")


def sorted_f_dp(instance: Instance) -> Schedule:
    """W Algorithm 1 with batches by Algorithm 2."""
    return _sorted_f(instance, by_dynamic_programming, "sorted-f-dp")


def sorted_f_swap(instance: Instance) -> Schedule:
    """W Algorithm 1 with batches by Algorithm 3."""
    return _sorted_f(instance, by_local_swaps, "sorted-f-swap")


def sorted_f_quantile(instance: Instance, sample: Sample) -> Schedule:
    """W Algorithm 1 with batches by Algorithm 4."""
    name = "sorted-f-quantile"
    return _sorted_f(instance, lambda items, memory: by_quantiles(items, memory, sample), name)


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


def _sorted_f(instance: Instance, choose: Choose, name: str) -> Schedule:
    starts = phase_2(instance, lambda items: phase_1(items, instance.memory, choose))
    return make_schedule(instance, starts, name)


def items_of(instance: Instance) -> list[Item]:
    """Return the requests with their true outputs."""
    return [Item(r.arrival, i, r.prompt, r.output) for i, r in enumerate(instance.requests)]


def metric(batch: Collection[Item]) -> Fraction:
    """Return F(X) = Σ o / |X|²."""
    return Fraction(sum(r.output for r in batch), len(batch) ** 2)


def phase_1(items: list[Item], memory: int, choose: Choose) -> list[int]:
    """Return the ordered list I' of Algorithm 1, as positions."""
    ordered: list[int] = []  # 2: I' ← []
    while items:  # 3: while I ≠ ∅ do
        X = choose(items, memory)  # 4, 5: X* ← argmin of (F(X), −|X|) over what fits
        by_output = sorted(X, key=lambda r: (r.output, r))  # 6: X* in nondecreasing order of o_i
        ordered += [r.position for r in by_output]  # 7: append it to the end of I'
        items = [r for r in items if r not in X]  # 8: I ← I \ X*
    return ordered  # 9: end while


def phase_2(
    instance: Instance, plan: Callable[[list[Item]], list[int]], *, offline: bool = False
) -> list[int]:
    """Return the start rounds of Algorithm 1, Phase 2 (Alg. 6 and 7 have the same).

    ``plan`` orders what waits, in every round with arrivals; offline, it orders all once.
    Line 15 keeps what completes at t in memory with all that starts at t; the integer program of W
    does not, and neither does this suite.
    """
    items, o = items_of(instance), outputs_of(instance)
    whole = plan(items) if offline else []
    R: list[int] = []  # 11: t ← 0; R ← I'; V ← ∅
    p: dict[int, int] = {}
    t = 0
    while len(p) < len(items):  # 12: while R ≠ ∅ or V ≠ ∅ do
        new = [r.position for r in items if r.arrival == t]
        if new:
            waits = [r for r in items if r.arrival <= t and r.position not in p]
            R = [i for i in whole if items[i] in waits] if offline else plan(waits)
        U: list[int] = []  # 14: U ← ∅
        V = [j for j in p if p[j] + o[j] > t]  # 15: V ← what has not completed
        for i in R:  # 16: for r_i in R in order do
            trial = {j: p[j] for j in V} | dict.fromkeys([*U, i], t)  # 17, 18: p_i ← t; Û ← U ∪ {i}
            if within_at_ends(instance, trial, o):  # 19: if M(V ∪ Û, p_j + o_j) ≤ M for each j
                U.append(i)  # 20: U ← Û
            else:  # 21
                break  # 22: break
        R = [i for i in R if i not in U]  # 25: R ← R \ U
        p |= dict.fromkeys(U, t)  # 26, 27: V ← V ∪ U; each makes a token
        t += 1  # 13: t ← t + 1
    return [p[i] for i in range(len(items))]


def least_f(items: list[Item], memory: int) -> set[Item]:
    """Algorithm 1, lines 4 and 5, over all subsets.

    W leaves open which batch of equal F and size is meant.  Here it is the one of fewest prompt
    tokens, then the one whose last request comes first in descending order of output.
    """
    line = sorted(items, key=lambda r: (-r.output, r))
    batches: list[Sequence[Item]] = []
    for size in range(1, len(line) + 1):
        batches += [batch for batch in combinations(line, size) if fits_together(batch, memory)]

    def key(X: Sequence[Item]) -> tuple[Fraction, int, int, list[int]]:
        return (
            metric(X),
            -len(X),
            sum(r.prompt for r in X),
            [line.index(r) for r in reversed(X)],
        )

    best = min(batches, key=key)
    return set(best)


def fits_together(batch: Collection[Item], memory: int) -> bool:
    """Return whether a batch that starts together stays within M at each completion (line 5)."""
    return all(
        sum(r.prompt + end.output for r in batch if r.output >= end.output) <= memory
        for end in batch
    )


def by_dynamic_programming(items: list[Item], memory: int) -> set[Item]:
    """Algorithm 2; among equal F the larger batch, as in Algorithm 1, line 4."""
    n = len(items)  # 1
    dp = {(0, 0): 0}  # 2, 3: what is not there is ∞
    path: dict[tuple[int, int], set[Item]] = {(0, 0): set()}
    for r in sorted(items):  # 4: for each request r_i do
        for k in range(n - 1, -1, -1):  # 7: for k from n − 1 down to 0 do
            for m in range(memory + 1):  # 8: for each m where dp[k][m] < ∞ do
                new_m = m + r.peak  # 5, 9
                if (k, m) not in dp or new_m > memory:  # 10
                    continue
                new_val = dp[k, m] + r.output  # 6, 11
                if (k + 1, new_m) not in dp or new_val < dp[k + 1, new_m]:  # 12
                    dp[k + 1, new_m] = new_val  # 13
                    path[k + 1, new_m] = path[k, m] | {r}  # 14
    best: tuple[Fraction, int] | None = None
    X: set[Item] = set()  # 20: X* ← ∅; F* ← ∞
    for k in range(1, n + 1):  # 21
        for m in range(memory + 1):  # 22
            if (k, m) in dp:  # 23
                value = (Fraction(dp[k, m], k * k), -k)  # 24
                if best is None or value < best:  # 25
                    best, X = value, path[k, m]  # 26, 27
    return X  # 32


def by_local_swaps(items: list[Item], memory: int) -> set[Item]:
    """Algorithm 3."""
    X: set[Item] = set()  # 2
    for r in sorted(items, key=lambda r: (r.peak, r)):  # 1, 3: by ascending s + o
        if sum(q.peak for q in X) + r.peak <= memory:  # 4
            X = X | {r}  # 5, 6
    return local_swap(X, items, memory)


def local_swap(X: set[Item], items: list[Item], memory: int) -> set[Item]:
    """Algorithm 3 from line 9 on; both loops go by ascending s + o, which W leaves open."""
    by_peak = sorted(items, key=lambda r: (r.peak, r))
    improved = True  # 9
    while improved:  # 10
        improved = False  # 11
        current_f = metric(X)  # 12
        mem = sum(r.peak for r in X)
        for r_out in [r for r in by_peak if r in X]:  # 13: for each r_out in X do
            for r_in in [r for r in by_peak if r not in X]:  # 14: for each r_in in I \ X do
                if mem + r_in.peak - r_out.peak > memory:  # 15, 16
                    continue  # 17
                swapped = X - {r_out} | {r_in}
                if metric(swapped) < current_f:  # 19, 20, 21: if newF < currentF then
                    X, improved = swapped, True  # 22, 23, 24
                    break  # 25
            if improved:  # 28
                break  # 29
    return X  # 33


def by_quantiles(items: list[Item], memory: int, sample: Sample) -> set[Item]:
    """Algorithm 4."""
    by_output = sorted(items, key=lambda r: (r.output, r))  # 1
    size = max(1, len(items) // 2)  # 2: max(1, ⌊0.5 |I|⌋)
    drawn = [by_output[place] for place in sample(len(items), size)]  # 3: a random subset
    q_p = quantile([r.peak for r in drawn])  # 4
    q_o = quantile([r.output for r in drawn])  # 5
    X: set[Item] = set()
    mem = 0  # 6
    for r in by_output:  # 7
        if r.peak <= q_p and r.output <= q_o and mem + r.peak <= memory:  # 8
            X, mem = X | {r}, mem + r.peak  # 9, 10
    remaining = [r for r in by_output if r not in X]  # 13
    remaining.sort(key=lambda r: Fraction(r.output, r.peak))  # 14: by o / (s + o)
    for r in remaining:  # 15
        if mem + r.peak <= memory:  # 16
            X, mem = X | {r}, mem + r.peak  # 17, 18
    return X  # 21


def quantile(values: list[int]) -> int:
    """Return the smallest value that at least three tenths of the values do not exceed."""
    return next(
        value
        for value in sorted(values)
        if 10 * sum(other <= value for other in values) >= 3 * len(values)
    )


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
