"""Evaluation of the kind ``sweep``: no schedule has a TEL below a value, by going through them all.

    level T = nobody runs, label 0
    for t = T, T − 1, ..., 1:
        for each base (who runs on) at t, for each choice of who completes at t within memory:
            label = label + what is lost at t; keep the least label of each base at t − 1
        drop bases that lose more than the window, with what they lose at least before t
        with ``strict``: drop dominated bases too
    proved, if a level is empty
    else, without ``strict``: go through the rest once more, and count completions of each kind

The search that made the certificate shares no tables, levels, filter or counting with it.  With
``strict`` the sweep itself pays the multipliers, and counts nothing.

Proof: docs/proofs/backward.md (P4); with ``strict``: docs/proofs/dominance.md (P5).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from formulations.certificates.reader_budget import ReaderBudget, TooLongError
from formulations.certificates.sweep_tables import (
    BITS,
    FAR,
    BackwardError,
    Ints,
    PricedStates,
    ReaderNetwork,
    gain_of,
    kinds_of,
    network_of,
    refuse_large,
)
from instances import Instance

#: Steps of a level by itself, for each kind that may complete, and for each state.
LEVEL, COMPLETION, STATE = 200_000, 10_000, 2
#: Numbers of 64 bits of a base by itself, and of each of its members.
HELD_OF_A_BASE, HELD_OF_A_MEMBER = 16, 2
#: Steps of a counted path, and of each of its kinds; numbers held for a path.
STEPS_OF_A_PATH, STEPS_OF_A_KIND, HELD_OF_A_PATH = 200, 20, 12
#: Bits of a number that holds several places of a row.
WORD = 59


def prove_sweep(
    instance: Instance,
    value: int,
    denominator: int,
    memory: Sequence[int],
    states: PricedStates | None,
    multipliers: Sequence[int],
    strict: tuple[int, ...] | None,
    budget: ReaderBudget,
) -> None:
    """Prove that no TEL is below ``value`` (rounds), with the fields of a certificate.

    Raises BackwardError if they do not, TooLongError if the evaluation takes or holds too much.
    """
    kinds = kinds_of(instance, budget)
    if len(multipliers) not in (0, len(kinds.counts)):
        raise BackwardError("expected a multiplier for each different request")
    if any(abs(each) >= 1 << BITS for each in multipliers):
        raise TooLongError("the multipliers are too large for this evaluation")
    kinds.refuse_strict(strict or ())
    found = network_of(instance, kinds, value, denominator, memory, states, budget)
    if found is None:
        return
    if strict is not None:
        found = found.with_dominance(multipliers, strict, budget)
    counted = strict is None and bool(multipliers)
    steps = sweep(found, budget, keep=counted)
    if steps is None:
        return
    if not counted:
        raise BackwardError(f"the sweep leaves paths below {value}")
    count_paths(found, steps, np.array(multipliers, dtype=np.int64), value, budget)


@dataclass
class ReaderLevel:
    """Running requests: members[offsets[b]:offsets[b + 1]] are base b's; and the labels."""

    members: NDArray[np.int32]
    offsets: Ints
    labels: Ints

    @property
    def parts(self) -> tuple[NDArray[np.int32], Ints, Ints]:
        """As the kernels take it."""
        return self.members, self.offsets, self.labels


@dataclass
class ReaderStep:
    """Ways from one level to the next: where from, where to, slack, and who completes."""

    origin: Ints
    to: Ints
    slack: Ints
    entered: NDArray[np.uint8 | np.uint16]


def sweep(network: ReaderNetwork, budget: ReaderBudget, *, keep: bool) -> list[ReaderStep] | None:
    """Return the steps between levels from the last time on; None where a level is empty.

    Without ``keep`` the list is empty.  With dominance (``network.strict``) a base may hold a kind
    more often than there are requests, and is no part of a schedule.
    """
    level = ReaderLevel(np.zeros(0, np.int32), np.zeros(2, np.int64), np.zeros(1, np.int64))
    steps, kept = list[ReaderStep](), 0
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
    network: ReaderNetwork, t: int, level: ReaderLevel, budget: ReaderBudget, *, keep: bool
) -> tuple[ReaderLevel, ReaderStep]:
    """Return the level at t − 1 and the ways there."""
    from formulations.certificates import sweep_kernels as kernels  # loads the compiler

    kinds, limit = network.kinds, network.limits[t - 1]
    able, gain, power = _able(network, t, budget)
    budget.take(LEVEL + COMPLETION * len(able) + STATE * len(kinds.ages))
    # Each way keeps how many of each kind complete.
    places = budget.numbers // (HELD_OF_A_MEMBER * (1 + len(kinds.counts) // 8 * keep))
    most = (budget.steps, budget.numbers // HELD_OF_A_BASE, places)
    limits = np.array([network.memory, limit, *most, int(kinds.counts.sum())], dtype=np.int64)
    pay = network.pay[min(t, len(network.pay) - 1)]
    worth = int(network.worth[t]) if t < len(network.worth) else 0
    members, offsets, labels, taken, held, ways, entered = kernels.step_back(
        level.parts, kinds.states, pay, worth, able, gain, power, limits, keep
    )
    budget.take(taken)
    budget.hold(held)
    found = ReaderLevel(members, offsets, labels)
    lost = np.zeros(len(labels), dtype=np.int64)
    looked = (network.pay, network.worth, network.ahead)
    budget.take(kernels.lost_before(found.parts, kinds.states, *looked, t, limits, lost))
    stay = labels + lost <= limit
    step = (
        _ways(network, ways, entered) if keep else ReaderStep(*(np.zeros((4, 0), dtype=np.int64)))
    )
    if keep:
        fine = level.labels[step.origin] + step.slack + lost[step.to] <= limit
        to = (np.cumsum(stay) - 1)[step.to[fine]]
        step = ReaderStep(step.origin[fine], to, step.slack[fine], step.entered[fine])
    found = _chosen(found, np.flatnonzero(stay))
    if network.strict is not None:
        found = _undominated(network, t - 1, found, budget)
    return found, step


def _able(network: ReaderNetwork, t: int, budget: ReaderBudget) -> tuple[Ints, Ints, int]:
    """Return the kinds that may complete at t, and by how much all of these may lower a label.

    At a time no more of a kind complete than there are requests; of a strict kind no more run.
    """
    kinds = network.kinds
    starts = t - kinds.outputs
    able = np.flatnonzero((starts >= 0) & (starts < len(network.dear)))
    able = able[network.dear[starts[able], able] <= network.window]
    if network.strict is not None:
        # A completion that costs no less than it pays leaves a dominated base.
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


def _ways(network: ReaderNetwork, ways: Ints, entered: NDArray[np.int32]) -> ReaderStep:
    """Return the ways of a kernel with the completions of each kind on each."""
    kinds = network.kinds
    number = np.zeros((len(ways), len(kinds.counts)), dtype=kinds.counter)
    lengths = np.diff(np.append(ways[:, 3], len(entered)))
    np.add.at(number, (np.repeat(np.arange(len(ways)), lengths), entered), 1)
    return ReaderStep(ways[:, 0], ways[:, 1], ways[:, 2], number)


def _chosen(level: ReaderLevel, which: Ints) -> ReaderLevel:
    from formulations.certificates.sweep_kernels import chosen_bases  # loads the compiler

    members, offsets = chosen_bases(level.members, level.offsets, which)
    return ReaderLevel(members, offsets, level.labels[which])


def _undominated(
    network: ReaderNetwork, t: int, level: ReaderLevel, budget: ReaderBudget
) -> ReaderLevel:
    """Return a level at t without the bases that others dominate; docs/proofs/dominance.md (P5)."""
    from formulations.certificates.sweep_filter import measured, undominated  # loads the compiler

    kinds = network.kinds
    if len(level.labels) < 2:
        return level
    strict = np.full(len(kinds.counts), -1, dtype=np.int64)
    strict[list(network.strict or ())] = np.arange(len(network.strict or ()))
    longest = int(kinds.ages[level.members].max(initial=1))
    budget.take(4 * longest * len(level.members) + 100 * len(level.labels))
    sigma, weight, signs, masks = measured(
        level.parts, kinds.states, network.pay, t, network.memory, strict, longest
    )
    order = np.lexsort((weight, sigma))
    which, taken, held = undominated(
        level.parts, kinds.states, order, signs, masks, longest, budget.steps, budget.numbers
    )
    budget.take(taken)
    budget.hold(held)
    return _chosen(level, which)


def count_paths(
    network: ReaderNetwork,
    steps: list[ReaderStep],
    multipliers: Ints,
    value: int,
    budget: ReaderBudget,
) -> None:
    """Go through the paths left, and count completions; raise BackwardError for a schedule.

    Levels are matrices, compared by sorting their rows.
    """
    counts = network.kinds.counts
    largest = max(abs(int(each)) for each in multipliers) * (len(steps) + 1) * int(counts.sum())
    refuse_large(2 * largest + network.window)
    limit = network.window + int(multipliers @ counts)
    # Least payment from each node of each level to the end.
    rest = [np.zeros(1, dtype=np.int64)]
    costs = [step.slack + step.entered.astype(np.int64) @ multipliers for step in steps]
    sizes = [1, *(int(step.to.max()) + 1 for step in steps)]
    for step, cost, size in zip(steps[::-1], costs[::-1], sizes[-2::-1], strict=True):
        least = np.full(size, FAR)
        np.minimum.at(least, step.origin, cost + rest[-1][step.to])
        rest.append(least)
    rest.reverse()
    node, paid = np.zeros(1, dtype=np.int64), np.zeros(1, dtype=np.int64)
    done = np.zeros((1, len(counts)), dtype=network.kinds.counter)
    for step, cost, least in zip(steps, costs, rest[1:], strict=True):
        order = np.argsort(step.origin, kind="stable")
        begins = np.searchsorted(step.origin[order], np.arange(int(step.origin.max()) + 2))
        known = node < len(begins) - 1
        node, paid, done = node[known], paid[known], done[known]
        number = begins[node + 1] - begins[node]
        paths = int(number.sum())
        budget.take(paths * (STEPS_OF_A_PATH + STEPS_OF_A_KIND * len(counts)))
        budget.hold(paths * (HELD_OF_A_PATH + len(counts) // 2))
        state = np.repeat(np.arange(len(node)), number)
        within = np.arange(len(state)) - np.repeat(np.cumsum(number) - number, number)
        way = order[begins[node[state]] + within]
        longer = paid[state] + cost[way]
        fine = longer + least[step.to[way]] <= limit
        state, way, longer = state[fine], way[fine], longer[fine]
        counted = done[state] + step.entered[way]
        fine = (counted <= counts).all(axis=1)
        counted, way, longer = counted[fine], way[fine], longer[fine]
        words = _words(counted.T, int(counts.max()) + 1)
        first, to = _different(np.concatenate((words, step.to[way][None])))
        paid = np.full(len(first), FAR)
        np.minimum.at(paid, to, longer)
        node, done = step.to[way][first], counted[first]
        if not len(node):
            return
    if (done == counts).all(axis=1).any():
        raise BackwardError(f"a schedule has a TEL below {value}")


def _words(places: NDArray[Any], end: int) -> Ints:
    """Return 64-bit numbers, (numbers, rows), whose digits are the places, each below ``end``."""
    digits = max(1, WORD // max(1, (end - 1).bit_length()))
    words = np.zeros((-(-len(places) // digits), len(places[0])), dtype=np.int64)
    for place, digit in enumerate(places):
        words[place // digits] *= end
        words[place // digits] += digit
    return words


def _different(words: Ints) -> tuple[Ints, Ints]:
    """Return a place of each different column, and the number of every column's."""
    order = np.lexsort(words)
    ordered = words[:, order]
    new = np.ones(len(order), dtype=bool)
    new[1:] = (ordered[:, 1:] != ordered[:, :-1]).any(axis=0)
    to = np.empty(len(order), dtype=np.int64)
    to[order] = np.cumsum(new) - 1
    return order[new], to
