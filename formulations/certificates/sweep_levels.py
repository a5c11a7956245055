"""Levels of the evaluation of a sweep, from the last time back to 0."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from formulations.certificates.budget import Budget
from formulations.certificates.sweep_tables import Ints, Network, gain_of

#: Steps of a level by itself, for each kind that may complete, and for each state.
LEVEL, COMPLETION, STATE = 200_000, 10_000, 2
#: Numbers of 64 bits that a base of a level takes by itself, and that each of its members takes.
HELD_OF_A_BASE, HELD_OF_A_MEMBER = 16, 2


@dataclass
class Level:
    """Who runs on: members of base b are members[offsets[b]:offsets[b + 1]]; and the labels."""

    members: NDArray[np.int32]
    offsets: Ints
    labels: Ints

    @property
    def parts(self) -> tuple[NDArray[np.int32], Ints, Ints]:
        """As the kernels take it."""
        return self.members, self.offsets, self.labels


@dataclass
class Step:
    """Ways from one level to the next: where from, where to, slack, and who completes."""

    origin: Ints
    to: Ints
    slack: Ints
    entered: NDArray[np.uint8 | np.uint16]


def sweep(network: Network, budget: Budget, *, keep: bool) -> list[Step] | None:
    """Return the steps between levels from the last time on; None where a level is empty.

    Without ``keep`` none is kept.  With dominance (``network.strict``) what survives may hold
    a kind more often than there are requests, and is no way of a schedule.
    """
    level = Level(np.zeros(0, np.int32), np.zeros(2, np.int64), np.zeros(1, np.int64))
    steps: list[Step] = []
    kept = 0
    for t in range(network.last, 0, -1):
        level, step = _back(network, t, level, budget, keep=keep)
        if not len(level.labels):
            return None
        if keep:
            steps.append(step)
            kept += len(step.to) * (3 + len(network.kinds.counts) // 4)
            budget.hold(kept)
    return steps


def _back(
    network: Network, t: int, level: Level, budget: Budget, *, keep: bool
) -> tuple[Level, Step]:
    """Return the level at t − 1 and the ways there."""
    from formulations.certificates.sweep_kernels import (  # loads the compiler
        lost_before,
        step_back,
    )

    kinds = network.kinds
    able, gain, power = _able(network, t, budget)
    budget.take(LEVEL + COMPLETION * len(able) + STATE * len(kinds.ages))
    states = (kinds.ages, kinds.tokens, kinds.of)
    # With each way it is kept how many of each kind complete.
    places = budget.numbers // (HELD_OF_A_MEMBER * (1 + len(kinds.counts) // 8 * keep))
    most = (budget.steps, budget.numbers // HELD_OF_A_BASE, places)
    limits = np.array(
        [network.memory, network.limits[t - 1], *most, int(kinds.counts.sum())], dtype=np.int64
    )
    pay = network.pay[min(t, len(network.pay) - 1)]
    worth = int(network.worth[t]) if t < len(network.worth) else 0
    members, offsets, labels, taken, held, ways, entered = step_back(
        level.parts, states, pay, worth, able, gain, power, limits, keep
    )
    budget.take(taken)
    budget.hold(held)
    found = Level(members, offsets, labels)
    lost = np.zeros(len(labels), dtype=np.int64)
    taken = lost_before(
        found.parts, states, network.pay, network.worth, network.ahead, t, limits, lost
    )
    budget.take(taken)
    stay = labels + lost <= network.limits[t - 1]
    step = _ways(network, ways, entered) if keep else Step(*(np.zeros((4, 0), dtype=np.int64)))
    if keep:
        total = level.labels[step.origin] + step.slack + lost[step.to]
        fine = total <= network.limits[t - 1]
        to = (np.cumsum(stay) - 1)[step.to[fine]]
        step = Step(step.origin[fine], to, step.slack[fine], step.entered[fine])
    found = _chosen(found, np.flatnonzero(stay))
    if network.strict is not None:
        found = _undominated(network, t - 1, found, budget)
    return found, step


def _able(network: Network, t: int, budget: Budget) -> tuple[Ints, Ints, int]:
    """Return who may complete at t, and by how much all of these may lower a label.

    At a time no more of a kind complete than there are requests; and no more run, where it counts.
    """
    kinds = network.kinds
    starts = t - kinds.outputs
    able = np.flatnonzero((starts >= 0) & (starts < len(network.dear)))
    able = able[network.dear[starts[able], able] <= network.window]
    if network.strict is not None:
        # What costs no less than it pays leaves a base that the one without it dominates.
        cost = network.dear[starts[able], able] + network.extra[able]
        able = able[cost < network.paid[starts[able], able]]
    peaks = kinds.first[able] + kinds.outputs[able] - 1
    costs = network.dear[starts[able], able] + network.extra[able]
    costs = costs - network.pay[min(t, len(network.pay) - 1), peaks]
    together = kinds.counts[able]
    if network.strict is not None:
        together = np.where(np.isin(able, network.strict), together, 1 << 62)
    columns = (peaks, kinds.tokens[peaks], costs, able, kinds.counts[able], together)
    return np.ascontiguousarray(np.stack(columns, axis=1)), *gain_of(network, costs, able, budget)


def _ways(network: Network, ways: Ints, entered: NDArray[np.int32]) -> Step:
    """Return the ways of a kernel with how many of each kind complete on each."""
    kinds = network.kinds
    number = np.zeros((len(ways), len(kinds.counts)), dtype=kinds.counter)
    lengths = np.diff(np.append(ways[:, 3], len(entered)))
    np.add.at(number, (np.repeat(np.arange(len(ways)), lengths), entered), 1)
    return Step(ways[:, 0], ways[:, 1], ways[:, 2], number)


def _chosen(level: Level, which: Ints) -> Level:
    from formulations.certificates.sweep_kernels import chosen_bases  # loads the compiler

    members, offsets = chosen_bases(level.members, level.offsets, which)
    return Level(members, offsets, level.labels[which])


def _undominated(network: Network, t: int, level: Level, budget: Budget) -> Level:
    """Return a level at t without the bases that others dominate; docs/proofs/dominance.md (P5)."""
    from formulations.certificates.sweep_filter import measured, undominated  # loads the compiler

    kinds = network.kinds
    if len(level.labels) < 2:
        return level
    strict = np.full(len(kinds.counts), -1, dtype=np.int64)
    strict[list(network.strict or ())] = np.arange(len(network.strict or ()))
    longest = int(kinds.ages[level.members].max(initial=1))
    states = (kinds.ages, kinds.tokens, kinds.of)
    budget.take(4 * longest * len(level.members) + 100 * len(level.labels))
    sigma, weight, signs, masks = measured(
        level.parts, states, network.pay, t, network.memory, strict, longest
    )
    order = np.lexsort((weight, sigma))
    which, taken, held = undominated(
        level.parts, states, order, signs, masks, longest, budget.steps, budget.numbers
    )
    budget.take(taken)
    budget.hold(held)
    return _chosen(level, which)
