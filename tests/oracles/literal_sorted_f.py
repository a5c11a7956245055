"""Literal transcriptions of wang2025 Algorithms 2-7: slow, round by round, no code of the project.

The suite's convention holds: a request may start in the very round in which another completes, so
what is active at round t has p + o > t, and a member of X counts at times p < τ ≤ p + o.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from itertools import combinations
from typing import NamedTuple

import numpy as np

from instances import Instance


class Item(NamedTuple):
    """A request as Phase 1 sees it; sorting items breaks ties by arrival, then by position."""

    arrival: int
    position: int
    prompt: int
    output: int

    @property
    def peak(self) -> int:
        """Return s + o (tokens)."""
        return self.prompt + self.output


#: Chooses a batch from the items that remain, given M.
Choose = Callable[[list[Item], int], set[Item]]


def items_of(instance: Instance) -> list[Item]:
    """Return the requests with their true outputs."""
    return [Item(int(r.arrival), i, r.prompt, r.output) for i, r in enumerate(instance.requests)]


def metric(batch: Sequence[Item] | set[Item]) -> Fraction:
    """Return F(X)."""
    return Fraction(sum(item.output for item in batch), len(batch) ** 2)


def algorithm_2(items: list[Item], memory: int) -> set[Item]:
    """Dynamic programming, with the tie rule of Alg. 1 line 4: among equal F the larger batch."""
    items = sorted(items)
    n = len(items)
    value: dict[tuple[int, int], int] = {(0, 0): 0}
    path: dict[tuple[int, int], set[Item]] = {(0, 0): set()}
    for item in items:
        for k in range(n - 1, -1, -1):
            for m in range(memory + 1):
                if (k, m) not in value or m + item.peak > memory:
                    continue
                new, cell = value[k, m] + item.output, (k + 1, m + item.peak)
                if cell not in value or new < value[cell]:
                    value[cell] = new
                    path[cell] = path[k, m] | {item}
    best: tuple[Fraction, int] | None = None
    chosen: set[Item] = set()
    for k in range(1, n + 1):
        for m in range(memory + 1):
            if (k, m) in value:
                key = (Fraction(value[k, m], k * k), -k)
                if best is None or key < best:
                    best, chosen = key, path[k, m]
    return chosen


def algorithm_3(items: list[Item], memory: int) -> set[Item]:
    """Local swaps from the smallest peaks that fit."""
    batch: set[Item] = set()
    for item in sorted(items, key=lambda item: (item.peak, item)):
        if sum(r.peak for r in batch) + item.peak <= memory:
            batch = batch | {item}
    return _local_swap(batch, items, memory)


def _local_swap(batch: set[Item], items: list[Item], memory: int) -> set[Item]:
    by_peak = sorted(items, key=lambda item: (item.peak, item))
    improved = True
    while improved:
        improved = False
        current = metric(batch)
        held = sum(item.peak for item in batch)
        for out in [item for item in by_peak if item in batch]:
            for into in [item for item in by_peak if item not in batch]:
                if held + into.peak - out.peak > memory:
                    continue
                swapped = batch - {out} | {into}
                if metric(swapped) < current:
                    batch = swapped
                    improved = True
                    break
            if improved:
                break
    return batch


def algorithm_4(rng: np.random.Generator) -> Choose:
    """Quantile greedy; the sample is drawn as places in the list sorted by output."""

    def choose(items: list[Item], memory: int) -> set[Item]:
        by_output = sorted(items, key=lambda item: (item.output, item))
        size = max(1, len(items) // 2)
        drawn = rng.choice(len(items), size, replace=False, shuffle=False)
        sample = [by_output[place] for place in drawn]
        q_peak = _quantile([item.peak for item in sample])
        q_output = _quantile([item.output for item in sample])
        batch: set[Item] = set()
        held = 0
        for item in by_output:
            core = item.peak <= q_peak and item.output <= q_output
            if core and held + item.peak <= memory:
                batch, held = batch | {item}, held + item.peak
        remaining = [item for item in by_output if item not in batch]
        remaining.sort(key=lambda item: Fraction(item.output, item.peak))
        for item in remaining:
            if held + item.peak <= memory:
                batch, held = batch | {item}, held + item.peak
        return batch

    return choose


def _quantile(values: list[int]) -> int:
    """Return the smallest value that at least three tenths of the values do not exceed."""
    return next(
        value
        for value in sorted(values)
        if 10 * sum(other <= value for other in values) >= 3 * len(values)
    )


def algorithm_7(advice: Sequence[float]) -> Choose:
    """LP-Swap: start with what fits in the order of y, then local swaps."""

    def choose(items: list[Item], memory: int) -> set[Item]:
        batch: set[Item] = set()
        for item in sorted(items, key=lambda item: (advice[item.position], item)):
            if sum(r.peak for r in batch) + item.peak <= memory:
                batch = batch | {item}
        return _local_swap(batch, items, memory)

    return choose


def fits_together(batch: Sequence[Item], memory: int) -> bool:
    """Return whether a batch that starts at 0 stays within M at each completion (Alg. 1 line 5)."""
    return all(
        sum(item.prompt + end.output for item in batch if item.output >= end.output) <= memory
        for end in batch
    )


def enumerate_best(items: list[Item], memory: int) -> tuple[Fraction, int]:
    """Return the least (F, −size) over all subsets that fit together (Alg. 1 line 4)."""
    return min(
        (metric(batch), -size)
        for size in range(1, len(items) + 1)
        for batch in combinations(items, size)
        if fits_together(batch, memory)
    )


def phase_1(items: list[Item], memory: int, choose: Choose) -> list[int]:
    """Return positions batch by batch, each by nondecreasing output."""
    order: list[int] = []
    while items:
        batch = choose(items, memory)
        order += [item.position for item in sorted(batch, key=lambda item: (item.output, item))]
        items = [item for item in items if item not in batch]
    return order


def phase_2(
    instance: Instance,
    plan: Callable[[list[Item]], list[int]],
    *,
    offline: bool = False,
    first_fit: bool = False,
) -> list[int]:
    """Return start rounds; the waiting requests are ordered anew in every round with arrivals.

    Offline, all requests are ordered once.
    """
    items = items_of(instance)
    whole = plan(items) if offline else []
    order: list[int] = []
    starts: dict[int, int] = {}
    now = 0
    while len(starts) < len(items):
        new = [item.position for item in items if item.arrival == now]
        if new and offline:
            order = [i for i in whole if items[i].arrival <= now and i not in starts]
        elif new:
            order = plan([items[i] for i in sorted(order + new)])
        for i in list(order):
            trial = {j: p for j, p in starts.items() if p + items[j].output > now} | {i: now}
            ends = {j: p + items[j].output for j, p in trial.items()}
            if _within(instance, trial, ends):
                starts[i] = now
                order.remove(i)
            elif not first_fit:
                break
        now += 1
    return [starts[i] for i in range(len(items))]


def algorithm_5(
    instance: Instance, lower: Sequence[int], choose: Choose
) -> tuple[list[int], list[list[tuple[int, int]]]]:
    """Return start rounds and cancelled attempts (start, tokens) of Sorted-F + A_min."""
    items = items_of(instance)
    estimates = list(lower)
    order: list[int] = []
    places: dict[int, tuple[int, int]] = {}
    active: dict[int, int] = {}
    finished: dict[int, int] = {}
    attempts: list[list[tuple[int, int]]] = [[] for _ in items]
    now = 0
    while len(finished) < len(items):
        for i, start in list(active.items()):
            if start + items[i].output <= now:
                finished[i] = active.pop(i)
        for i, start in active.items():
            estimates[i] = max(estimates[i], now - start)
        new = [item.position for item in items if item.arrival == now]
        if new:
            seen = [items[i]._replace(output=estimates[i]) for i in sorted(order + new)]
            order = phase_1(seen, instance.memory, choose)
            places |= {i: (now, place) for place, i in enumerate(order)}
        for i in list(order):
            trial = active | {i: now}
            if not _within(instance, trial, _believed(trial, estimates, now)):
                break
            active = trial
            order.remove(i)
        while not _within(instance, active, _believed(active, estimates, now)):
            least = min(estimates[i] for i in active)
            last = max((i for i in active if estimates[i] == least), key=lambda i: places[i])
            attempts[last].append((active[last], now - active.pop(last)))
            order = sorted([*order, last], key=lambda i: places[i])
        now += 1
    return [finished[i] for i in range(len(items))], attempts


def _believed(starts: dict[int, int], estimates: list[int], now: int) -> dict[int, int]:
    """Return the completions that are believed in; what is not finished makes another token."""
    return {i: p + max(estimates[i], now - p + 1) for i, p in starts.items()}


def _within(instance: Instance, starts: dict[int, int], ends: dict[int, int]) -> bool:
    """Return whether the tokens held at every completion are at most M."""
    return all(
        sum(
            instance.requests[i].prompt + time - start
            for i, start in starts.items()
            if start < time <= ends[i]
        )
        <= instance.memory
        for time in ends.values()
    )
