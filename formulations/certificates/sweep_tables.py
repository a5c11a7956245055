"""Tables of the evaluation of sweeps: payments of states, costs of starts, what comes ahead.

Every number in them is far below 64 bits, or the evaluation refuses the certificate.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pydantic import ConfigDict
from pydantic.dataclasses import dataclass as validated

from formulations.certificates.reader_budget import (
    CALL,
    OPERATION,
    Counts,
    ReaderBudget,
    TooLongError,
)
from instances import Instance

Ints = NDArray[np.int64]

#: One part in so many of the steps and numbers left is for looking ahead, at most so many times.
AHEAD, DEPTH = 4, 48
#: Steps of an entry of a table, numbers held for it on the way, and bits of any sum.
STEPS_OF_AN_ENTRY, HELD_OF_AN_ENTRY, BITS = 10, 2, 60
#: Equal requests whose counts fit into 16 bits, twice.
MOST_EQUAL = 32_767
#: Bits of the units of tokens of completions.
UNIT_BITS = 12
FAR = 1 << BITS
#: Entries of the table of patterns filled at a time.
ENTRIES = 1 << 23


class BackwardError(ValueError):
    """Nothing is proved; the message is one line."""


@validated(frozen=True, config=ConfigDict(extra="forbid"))
class PricedStates:
    """Prices on states of running requests: a ``formulations.lagrangian.state_prices.StatePrices``.

    ``table`` lists the numerators by knot, then by tokens held, then by rounds left.
    """

    knots: Counts
    tokens: Counts
    left: Counts
    table: Counts


@dataclass(frozen=True)
class ReaderRequestKinds:
    """Different requests, shape (kinds,), and their first states."""

    arrivals: Ints
    prompts: Ints
    outputs: Ints
    counts: Ints
    first: Ints

    @cached_property
    def ages(self) -> Ints:
        """Rounds since its start in each state."""
        return np.arange(int(self.outputs.sum())) - np.repeat(self.first, self.outputs) + 1

    @cached_property
    def tokens(self) -> Ints:
        """Tokens held in each state."""
        return np.repeat(self.prompts, self.outputs) + self.ages

    @cached_property
    def states(self) -> tuple[Ints, Ints, Ints]:
        """Ages, tokens and kinds of all states, as the kernels take them."""
        return self.ages, self.tokens, np.repeat(np.arange(len(self.outputs)), self.outputs)

    @property
    def listed(self) -> Iterator[tuple[int, int]]:
        """Tokens held and rounds left in each state."""
        for s, o in zip(self.prompts.tolist(), self.outputs.tolist(), strict=True):
            yield from ((s + j, o - j) for j in range(1, o + 1))

    def refuse_strict(self, strict: Sequence[int]) -> None:
        """Refuse all but increasing places of kinds with one request."""
        if sorted(set(strict) & {*np.flatnonzero(self.counts == 1).tolist()}) != list(strict):
            raise BackwardError("strict: expected kinds of one request each, increasing")

    @property
    def counter(self) -> type[np.uint8 | np.uint16]:
        """The smallest numbers that twice a count fits into."""
        return np.uint8 if int(self.counts.max()) <= 127 else np.uint16


@dataclass(frozen=True)
class ReaderNetwork:
    """Prices of states and times, worths of times, slacks of starts, and the window.

    Each kind pays ``extra`` more; ``strict`` are the strict kinds, None without dominance.
    """

    memory: int
    kinds: ReaderRequestKinds
    pay: Ints
    worth: Ints
    dear: Ints
    window: int
    ahead: Ints
    extra: Ints
    strict: tuple[int, ...] | None = None

    @cached_property
    def last(self) -> int:
        """The last time with a price, or with a completion within the window."""
        return max(len(self.worth) - 1, int(self._completions[1].max()))

    @cached_property
    def _completions(self) -> tuple[Ints, Ints]:
        """The first and the last completion of each kind within the window; each has one."""
        within = self.dear <= self.window
        first = within.argmax(axis=0)
        last = len(within) - 1 - within[::-1].argmax(axis=0)
        return first + self.kinds.outputs, last + self.kinds.outputs

    @cached_property
    def limits(self) -> list[int]:
        """The largest label at each time; docs/proofs/dominance.md (P5), section 6."""
        whole = self.window + int((self.extra * self.kinds.counts).sum())
        low = np.zeros(self.last + 1, dtype=np.int64)
        for g, number in enumerate(self.kinds.counts.tolist()):
            first, last = (int(each[g]) for each in self._completions)
            # Least cost of a completion at each time from the first on, or before.
            start = first - int(self.kinds.outputs[g])
            cost = np.minimum.accumulate(self.dear[start : start + last + 1 - first, g])
            cost += int(self.extra[g])
            low[first:last] += number * np.minimum(cost[:-1], 0)
            low[last:] += number * int(cost[-1])
        limits: list[int] = (whole - low).tolist()
        return limits

    @cached_property
    def paid(self) -> Ints:
        """Payments in all of a request of each kind that starts at p, shape (starts, kinds)."""
        found = np.zeros_like(self.dear)
        for g, output in enumerate(self.kinds.outputs.tolist()):
            for age in range(1, output + 1):
                priced = self.pay[age:, int(self.kinds.first[g]) + age - 1][: len(found)]
                found[: len(priced), g] += priced
        return found

    def with_dominance(
        self, multipliers: Sequence[int], strict: tuple[int, ...], budget: ReaderBudget
    ) -> ReaderNetwork:
        """Return the same with multipliers, or none, and strict kinds."""
        # Payments of starts are one more table.
        budget.take(self.dear.size * STEPS_OF_AN_ENTRY + CALL * int(self.kinds.outputs.sum()))
        counts = self.kinds.counts.tolist()
        extra = list(multipliers) or [0] * len(counts)
        each = sum(n * abs(v) for n, v in zip(counts, extra, strict=True))
        # The window and all additions bound every label and sum.
        paid = sum(counts) * int(self.pay.max(initial=0)) + sum(self.worth.tolist())
        refuse_large(4 * (self.window + (self.last + 4) * each + paid))
        return replace(self, extra=np.array(extra, dtype=np.int64), strict=strict)


def kinds_of(instance: Instance, budget: ReaderBudget) -> ReaderRequestKinds:
    """Return the different requests."""
    number = Counter((int(r.arrival), r.prompt, r.output) for r in instance.requests)
    different = sorted(number)
    arrivals, prompts, outputs = np.array(different, dtype=np.int64).T
    counts = np.array([number[each] for each in different], dtype=np.int64)
    if int(counts.max()) > MOST_EQUAL:
        raise TooLongError(f"expected at most {MOST_EQUAL} equal requests")
    states = sum(outputs.tolist())
    budget.take(states * 4 * CALL)
    budget.hold(states * 16)
    return ReaderRequestKinds(arrivals, prompts, outputs, counts, np.cumsum(outputs) - outputs)


def network_of(
    instance: Instance,
    kinds: ReaderRequestKinds,
    value: int,
    unit: int,
    memory: Sequence[int],
    states: PricedStates | None,
    budget: ReaderBudget,
) -> ReaderNetwork | None:
    """Return the tables of the sweep; None where the prices alone prove the value."""
    if states is None:
        pay, worth = _of_memory(instance, kinds, memory, budget)
    else:
        pay, worth = _of_states(instance, kinds, states, budget)
    # The first token is held at time 1.
    worth[0] = 0
    longest, latest = int(kinds.outputs.max()), int(kinds.arrivals.max())
    dearest = int(pay.max(initial=0))
    refuse_large(len(instance) * dearest)
    costs = []
    constant = -sum(int(each) for each in worth)
    for g in range(len(kinds.counts)):
        o, a = int(kinds.outputs[g]), int(kinds.arrivals[g])
        end = max(len(pay), a) + 1
        refuse_large(unit * (end + longest) + longest * dearest)
        cost = unit * (np.arange(end) + o - a)
        for j in range(1, o + 1):
            priced = pay[min(j, len(pay)) :, int(kinds.first[g]) + j - 1]
            cost[: len(priced)] += priced
        cost[:a] = FAR
        least = int(cost.min())
        constant += int(kinds.counts[g]) * least
        costs.append((cost, least))
    window = (value - 1) * unit - constant
    if window < 0:
        return None
    # Past the priced times a start costs its latency alone.
    starts = len(pay) + latest + 2 + max(0, window + max(least for _, least in costs)) // unit
    refuse_large(2 * window + unit * (starts + longest))
    hold_table(budget, pay.size + starts * len(costs))
    dear = np.full((starts, len(costs)), FAR)
    for g, (cost, least) in enumerate(costs):
        o, a = int(kinds.outputs[g]), int(kinds.arrivals[g])
        dear[:, g] = unit * (np.arange(starts) + o - a) - least
        dear[: len(cost), g] = cost - least
        dear[:a, g] = FAR
    nothing = np.zeros((0, 0, 0), dtype=np.int64)
    extra = np.zeros(len(costs), dtype=np.int64)
    plain = ReaderNetwork(instance.memory, kinds, pay, worth, dear, window, nothing, extra)
    return looking_ahead(plain, budget)


def refuse_large(largest: int) -> None:
    """Refuse sums that would not fit into 64 bits."""
    if largest >= 1 << BITS - 2:
        raise TooLongError("the numbers are too large for this evaluation")


def take_tables(
    instance: Instance,
    kinds: ReaderRequestKinds,
    times: int,
    knots: int,
    budget: ReaderBudget,
    *,
    search: bool,
) -> None:
    """Take what the prices of all states at so many times, and costs of starts, will take.

    Prices on states are interpolated at ``knots`` times.  ``search`` adds the best patterns.
    """
    states = int(kinds.outputs.sum())
    budget.take(states * knots * 10 * OPERATION)
    ends = [max(arrival, times) + 1 for arrival in kinds.arrivals.tolist()]
    entries = sum(end * o for end, o in zip(ends, kinds.outputs.tolist(), strict=True))
    budget.take(entries * STEPS_OF_AN_ENTRY)
    budget.hold(sum(ends))
    hold_table(budget, times * states)
    if search:
        budget.take(_work(instance, kinds) * times)
        most = instance.memory // (1 + int(kinds.prompts.min()))
        budget.hold(2 * (most + 1) * (instance.memory + 1))


def hold_table(budget: ReaderBudget, entries: int) -> None:
    """Take what tables of so many entries together take and hold."""
    budget.take(entries * STEPS_OF_AN_ENTRY)
    budget.hold(entries * HELD_OF_AN_ENTRY)


def take_memory(
    instance: Instance, kinds: ReaderRequestKinds, memory: Sequence[int], budget: ReaderBudget
) -> bool:
    """Take what prices of all states by tokens take; return whether best patterns are searched.

    Else the worth of a time is the worth of all memory.
    """
    refuse_large(max(memory, default=0) * instance.memory * len(instance))
    search = 4 * _work(instance, kinds) * (len(memory) + 1) <= 3 * budget.steps
    take_tables(instance, kinds, len(memory) + 1, 0, budget, search=search)
    return search


def _of_memory(
    instance: Instance, kinds: ReaderRequestKinds, memory: Sequence[int], budget: ReaderBudget
) -> tuple[Ints, Ints]:
    search = take_memory(instance, kinds, memory, budget)
    prices = np.array([*memory, 0], dtype=np.int64)
    pay = prices[:, None] * kinds.tokens
    return pay, _worths(instance, kinds, pay) if search else prices * instance.memory


def _work(instance: Instance, kinds: ReaderRequestKinds) -> int:
    """Return the most sums of the search for the best pattern at one time, or its table's size."""
    work = 0
    for held, left in kinds.listed:
        room = instance.memory - held - left
        times = min(room // max(left, 1) + 1, instance.memory // held)
        work += times * (room + 1)
    most = instance.memory // (1 + int(kinds.prompts.min()))
    return max(work, (most + 1) * (instance.memory + 1))


def _of_states(
    instance: Instance, kinds: ReaderRequestKinds, states: PricedStates, budget: ReaderBudget
) -> tuple[Ints, Ints]:
    """Return the payments of states at times 0.., (times, states), and the worth of times."""
    knots, shape = states.knots, (len(states.knots), len(states.tokens), len(states.left))
    for name, grid in (("knots", knots), ("tokens", states.tokens), ("left", states.left)):
        if len(grid) < 2 or any(low >= high for low, high in pairwise(grid)):
            raise BackwardError(f"states.{name}: expected two or more, increasing")
    if len(states.table) != shape[0] * shape[1] * shape[2] or knots[0] < 1:
        raise BackwardError("states: expected a price for each point, and times from 1 on")
    refuse_large(4 * (max(states.table) + 1) * knots[-1])
    take_tables(instance, kinds, knots[-1] + 2, len(knots), budget, search=True)
    if (
        states.tokens[0] > int(kinds.prompts.min()) + 1
        or states.left[0] > 0
        or max(kinds.prompts + kinds.outputs) > states.tokens[-1]
        or max(kinds.outputs) - 1 > states.left[-1]
    ):
        raise BackwardError("states: expected to hold all states")
    table = np.array(states.table, dtype=object).reshape(shape)
    pay = np.zeros((knots[-1] + 2, len(kinds.tokens)), dtype=np.int64)
    times = np.arange(knots[0], knots[-1] + 1)
    knot = np.minimum(np.searchsorted(knots, times, side="right") - 1, len(knots) - 2)
    at = np.array(knots, dtype=np.int64)
    past, width = times - at[knot], at[knot + 1] - at[knot]
    for column, (held, left) in enumerate(kinds.listed):
        price = interpolated(table, states, held, left)
        sums = price[knot] * (width - past) + price[knot + 1] * past
        pay[knots[0] : knots[-1] + 1, column] = sums // width
    return pay, _worths(instance, kinds, pay)


def interpolated(table: NDArray[Any], states: PricedStates, held: int, rounds: int) -> Ints:
    """Return the price of a state at every knot, rounded down."""
    a = min(bisect_right(states.tokens, held), len(states.tokens) - 1)
    c = min(bisect_right(states.left, rounds), len(states.left) - 1)
    w0, w1 = states.tokens[a] - held, held - states.tokens[a - 1]
    r0, r1 = states.left[c] - rounds, rounds - states.left[c - 1]
    sums = w0 * (r0 * table[:, a - 1, c - 1] + r1 * table[:, a - 1, c])
    sums += w1 * (r0 * table[:, a, c - 1] + r1 * table[:, a, c])
    return np.array(sums // ((w0 + w1) * (r0 + r1)), dtype=np.int64)


def _worths(instance: Instance, kinds: ReaderRequestKinds, pay: Ints) -> Ints:
    """Return the most that a pattern pays at each time; equal states have equal prices."""
    columns = enumerate(kinds.listed)
    priced = {state: np.ascontiguousarray(pay[:, column]) for column, state in columns}
    order = sorted(priced, key=lambda state: -state[1])
    most = instance.memory // min(held for held, _ in order)
    refuse_large(int(pay.max(initial=0)) * 2 * (most + 2))
    return np.array(worths(order, priced, instance.memory, len(pay)), dtype=np.int64)


def worths(
    order: Sequence[tuple[int, int]], priced: dict[tuple[int, int], Ints], memory: int, times: int
) -> list[int]:
    """Return the most that requests which can run together pay at each of some times.

    The order adds every request to longer ones, so at its completion all of them hold memory.
    """
    most = memory // min(held for held, _ in order)
    # Far below 0: impossible.
    never = -(most + 1) * (max(int(prices.max()) for prices in priced.values()) + 1)
    at_once = max(1, ENTRIES // ((most + 1) * (memory + 1)))
    found: list[int] = []
    for first in range(0, times, at_once):
        part = slice(first, min(first + at_once, times))
        best = np.full((most + 1, memory + 1, part.stop - first), never, dtype=np.int64)
        best[0, 0] = 0
        for held, rounds in order:
            prices = priced[held, rounds][part]
            for count in range(most):
                room = memory - held - (count + 1) * rounds
                if room < 0:
                    break
                longer = best[count, : room + 1] + prices
                there = best[count + 1, held : held + room + 1]
                np.maximum(there, longer, out=there)
        found += [int(worth) for worth in best.max(axis=(0, 1))]
    return found


def take_ahead(memory: int, kinds: ReaderRequestKinds, times: int, budget: ReaderBudget) -> int:
    """Take what looking ahead takes; return its number of times, 0 or less for none."""
    cells = times * (memory + 1)
    calls = sum(memory // (held + 1) + 1 for held in kinds.prompts.tolist())
    work = CALL * calls + cells * len(kinds.counts)
    longest = int(kinds.outputs.max())
    depth: int = min(DEPTH, longest, budget.numbers // AHEAD // cells - 1)
    depth = min(depth, budget.steps // AHEAD // work)
    budget.take(max(0, depth) * work)
    return depth


def looking_ahead(plain: ReaderNetwork, budget: ReaderBudget) -> ReaderNetwork:
    """Add the most that requests with less than e rounds left pay at t in m tokens, [e, m, t]."""
    kinds, times = plain.kinds, len(plain.worth)
    depth = take_ahead(plain.memory, kinds, times, budget)
    if depth < 1:
        return plain
    ahead = np.zeros((depth + 1, plain.memory + 1, times), dtype=np.int64)
    for e in range(1, depth + 1):
        ahead[e] = ahead[e - 1]
        for g in range(len(kinds.counts)):
            age = int(kinds.outputs[g]) - e + 1
            if age < 1:
                continue
            price = plain.pay[:, int(kinds.first[g]) + age - 1].copy()
            possible = np.zeros(times, dtype=bool)
            last = max(age, min(times, len(plain.dear) + age))
            possible[age:last] = plain.dear[: last - age, g] <= plain.window
            price[~possible] = 0
            _fill_up(ahead[e], int(kinds.prompts[g]) + age, price)
    return replace(plain, ahead=ahead)


def _fill_up(best: Ints, held: int, gain: Ints | int) -> None:
    """Fill ``best`` by tokens with any number of one more that holds and gains so much.

    By blocks of ``held``: a block reads the finished one below it.
    """
    for m in range(held, len(best), held):
        block = best[m : m + held]
        np.maximum(block, best[m - held : m - held + len(block)] + gain, out=block)


def gain_of(
    network: ReaderNetwork, costs: Ints, able: Ints, budget: ReaderBudget
) -> tuple[Ints, int]:
    """Return by how much completions may lower a label, by tokens in units of a power of 2.

    Tokens are rounded down, so the gain is an upper bound.
    """
    power = max(0, network.memory.bit_length() - UNIT_BITS)
    gain = np.zeros((network.memory >> power) + 1, dtype=np.int64)
    refuse_large(-int(costs.min(initial=0)) * (len(gain) + int(network.kinds.counts.sum())))
    peaks = (network.kinds.prompts + network.kinds.outputs)[able] >> power
    budget.take(CALL * sum((len(gain) // np.maximum(peaks, 1)).tolist()))
    for g, cost, held in zip(able.tolist(), costs.tolist(), peaks.tolist(), strict=True):
        if cost >= 0:
            continue
        if not held:
            gain -= int(network.kinds.counts[g]) * cost
        else:
            _fill_up(gain, held, -cost)
    return gain, power
