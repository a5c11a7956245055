"""Certificates from sweeps: no schedule has a TEL below a value, shown by going through them all.

The evaluation imports nothing of the search that made the certificate: whole levels are NumPy
matrices with a row for each set of running requests, widened kind by kind and compared by sorting
rows, where the search goes depth first through hash tables.

*What is shown.*  Let c_g(p) be the latency of a request of kind g = (arrival, prompt, output) that
starts at p, plus the prices that its tokens pay, m_g the least of it over p ≥ a_g, and h_t at least
what requests that can run together pay at time t.  For every schedule

    TEL = Σ_i m_i − Σ_t h_t + Σ_t (h_t − what runs at t pays) + Σ_i (c_i(p_i) − m_i),

since what is paid is counted in both sums, and every term of the last two is at least 0.  So in a
schedule with a TEL below ``value`` these terms, its *slack*, sum to at most D = (value − 1) −
Σ m_i + Σ h_t, and so does every part of them.  A level at time t holds, for every such schedule,
who runs at t and at t + 1, with the least slack of the times after t and of the requests that
complete after t.  By induction backwards in time: requests that run at t and not at t + 1 complete
at t, and every choice of them is tried that fits in memory and stays within D; who starts at t − 1
leaves.  Which requests have completed is forgotten, so a level holds more than the schedules: it
proves too little, never too much.  Where a level is empty, no such schedule exists.

A path through the levels that is no schedule has no term below 0 either: memory is never forgotten,
so whoever runs at t fits in together, and what they pay is at most h_t, which is the most that any
number of each kind can pay within M; and c_g(p) ≥ m_g whoever starts.  So slacks only grow, from 0
up to D + 1 at most before they are dropped.  At most ``width`` requests complete at a time, and
``width`` is at most their number, which bounds the multipliers of a path.

*Looking ahead.*  At a time u before t those that run at u and at t are known.  The others complete
in u..t − 1, so they have at most t − 1 − u rounds left, and what they pay at u within the memory
left is at most the best of all multisets of such states, a knapsack.  h_u less both is at least
the slack of time u, which is counted nowhere yet.  Times may be left out of this, and rows that
are equal are looked ahead of once: it depends on nothing but who runs.

*Multipliers.*  Where paths are left, let every request of kind g pay v_g more, any integer: all
schedules pay Σ count_g·v_g more.  The least that is paid from a node to the end bounds the rest of
a path, so paths that exceed D + Σ count_g·v_g in all are none of a schedule looked for; the rest
is gone through once more with how many of each kind have completed, which are as many as there
should be in every schedule.  Then nothing is forgotten, and a path to the end *is* a schedule.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from formulations.lagrangian.budget import Budget
from formulations.lagrangian.priced_states import PricedStates, interpolated, worths
from instances import Instance

Ints = NDArray[np.int64]

#: Rows of all levels and parts together beyond which a certificate is refused, and of one level.
MOST_ROWS, MOST_AT_ONCE = 8_000_000, 4_000_000
#: What a level costs beside its rows, by itself and for each kind that may complete, in rows; and
#: how many states of all kinds cost a row at a level.
LEVEL, COMPLETION, STATES = 200, 50, 200
#: Sums that the search for the best patterns of all times takes, and that looking ahead may take;
#: sums that a call of NumPy takes the time of.
MOST_WORK, CALL = 4_000_000_000, 1_000
#: Entries of any table, entries of the tables of all parts together, and bits of any sum.
MOST_ENTRIES, MOST_TABLED, BITS = 20_000_000, 80_000_000, 60
#: States of all kinds together; places of rows, or of their counts, at a time; numbers of 64 bits
#: that are kept of all levels for counting.
MOST_STATES, MOST_PLACES, MOST_KEPT = 1_000_000, 30_000_000, 60_000_000
#: Places of rows that are looked at together.
PLACES = 1_000_000
#: Equal requests beyond which their counts would not fit into 16 bits, twice.
MOST_EQUAL = 32_767
#: Bits of a number that several places of a row are told by.
WORD = 59
#: Times that are looked ahead, at most; and at least, as long as fewer than one row in so many is
#: dropped.
DEPTH, NEAR, RARE = 48, 6, 100
_FAR = 1 << BITS


class SweptError(ValueError):
    """Nothing is proved; the message is one line."""


class SweptTooLongError(SweptError):
    """What the evaluation would take or hold is too much, whatever there is to be proved."""


@dataclass(frozen=True)
class _Kinds:
    """Different requests, shape (kinds,), and which of the states is their first."""

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

    @property
    def counter(self) -> type[np.uint8 | np.uint16]:
        """The smallest numbers that twice a count fits into."""
        return np.uint8 if int(self.counts.max()) <= 127 else np.uint16


@dataclass(frozen=True)
class _Network:
    """Prices of states and times, worths of times, slacks of starts, and the window."""

    memory: int
    kinds: _Kinds
    pay: Ints
    worth: Ints
    dear: Ints
    window: int
    ahead: Ints


@dataclass
class _Level:
    """Who runs on, a row each: 1 + the state it is in, falling, then 0; and the slack."""

    rows: NDArray[np.int32]
    slack: Ints


@dataclass
class _Step:
    """Ways from one level to the next: where from, where to, slack, and who completes."""

    origin: Ints
    to: Ints
    slack: Ints
    entered: NDArray[np.uint8 | np.uint16]


def prove(
    instance: Instance,
    value: int,
    denominator: int,
    memory: Sequence[int],
    states: PricedStates | None,
    multipliers: Sequence[int],
    budget: Budget,
) -> None:
    """Prove that no TEL is below ``value`` (rounds).

    Parameters
    ----------
    denominator, memory, states
        Prices as fractions: on a token at times 0, 1, ..., or on states.
    multipliers
        Numerators, one for each different (arrival, prompt, output) in increasing order; empty
        where the sweep alone does.

    Raises
    ------
    SweptError
        If it does not, or would take too long.
    """
    kinds = _kinds(instance, budget)
    if len(multipliers) not in (0, len(kinds.counts)):
        raise SweptError("expected a multiplier for each different request")
    found = _network(instance, kinds, value, denominator, memory, states, budget)
    if found.window < 0:
        return
    steps = _sweep(found, budget, keep=bool(multipliers))
    if steps is None:
        return
    if not multipliers:
        raise SweptError(f"the sweep leaves paths below {value}")
    if max(abs(each) for each in multipliers) >= 1 << BITS:
        raise SweptTooLongError("the multipliers are too large for this evaluation")
    _count(found, steps, np.array(multipliers, dtype=np.int64), value, budget)


def _kinds(instance: Instance, budget: Budget) -> _Kinds:
    number = Counter((int(r.arrival), r.prompt, r.output) for r in instance.requests)
    different = sorted(number)
    arrivals, prompts, outputs = np.array(different, dtype=np.int64).T
    counts = np.array([number[each] for each in different], dtype=np.int64)
    if int(counts.max()) > MOST_EQUAL:
        raise SweptTooLongError(f"expected at most {MOST_EQUAL} equal requests")
    if not budget.take("states", sum(outputs.tolist()), MOST_STATES):
        raise SweptTooLongError(f"expected at most {MOST_STATES} states of different requests")
    return _Kinds(arrivals, prompts, outputs, counts, np.cumsum(outputs) - outputs)


def _network(
    instance: Instance,
    kinds: _Kinds,
    value: int,
    unit: int,
    memory: Sequence[int],
    states: PricedStates | None,
    budget: Budget,
) -> _Network:
    """Return what the sweep goes by; every number in it is far below 64 bits."""
    if states is None:
        pay, worth = _of_memory(instance, kinds, memory, budget)
    else:
        pay, worth = _of_states(instance, kinds, states, budget)
    # The first token is held at time 1.
    worth[0] = 0
    longest, latest = int(kinds.outputs.max()), int(kinds.arrivals.max())
    dearest = int(pay.max(initial=0))
    costs = []
    constant = -sum(int(each) for each in worth)
    for g in range(len(kinds.counts)):
        o, a = int(kinds.outputs[g]), int(kinds.arrivals[g])
        end = max(len(pay), a) + 1
        _small(unit * (end + longest) + longest * dearest, end * len(kinds.counts))
        cost = unit * (np.arange(end) + o - a)
        for j in range(1, o + 1):
            priced = pay[min(j, len(pay)) :, int(kinds.first[g]) + j - 1]
            cost[: len(priced)] += priced
        cost[:a] = _FAR
        least = int(cost.min())
        constant += int(kinds.counts[g]) * least
        costs.append((cost, least))
    window = (value - 1) * unit - constant
    # Past the priced times a start costs its latency alone.
    starts = len(pay) + latest + 2 + max(0, window + max(least for _, least in costs)) // unit
    _small(2 * window + unit * (starts + longest), starts * len(kinds.counts))
    if not budget.take("entries", pay.size + starts * len(costs), MOST_TABLED):
        raise SweptTooLongError("the tables are too large for this evaluation")
    dear = np.full((starts, len(costs)), _FAR)
    for g, (cost, least) in enumerate(costs):
        o, a = int(kinds.outputs[g]), int(kinds.arrivals[g])
        dear[:, g] = unit * (np.arange(starts) + o - a) - least
        dear[: len(cost), g] = cost - least
        dear[:a, g] = _FAR
    nothing = np.zeros((0, 0, 0), dtype=np.int64)
    plain = _Network(instance.memory, kinds, pay, worth, dear, window, nothing)
    return plain if window < 0 else _looking_ahead(plain, budget)


def _small(largest: int, entries: int) -> None:
    if largest >= 1 << BITS - 2 or entries > MOST_ENTRIES:
        raise SweptTooLongError("the numbers or the rounds are too many for this evaluation")


def _of_memory(
    instance: Instance, kinds: _Kinds, memory: Sequence[int], budget: Budget
) -> tuple[Ints, Ints]:
    """Return what states pay at times 0.., (times, states), and the worth of times."""
    sizes = zip(kinds.prompts.tolist(), kinds.outputs.tolist(), strict=True)
    held = [s + j for s, o in sizes for j in range(1, o + 1)]
    _small(max(memory, default=0) * instance.memory * len(instance), (len(memory) + 1) * len(held))
    prices = np.array([*memory, 0], dtype=np.int64)
    pay = prices[:, None] * np.array(held, dtype=np.int64)
    if _work(instance, kinds) * len(prices) > budget.left("sums", MOST_WORK):
        return pay, prices * instance.memory
    return pay, _worths(instance, kinds, pay, budget)


def _work(instance: Instance, kinds: _Kinds) -> int:
    """Return how many sums the search for the best pattern takes at one time, at most.

    Or how many entries its table has.
    """
    work = 0
    for s, o in zip(kinds.prompts.tolist(), kinds.outputs.tolist(), strict=True):
        for j in range(1, o + 1):
            room = instance.memory - s - o
            times = min(room // max(o - j, 1) + 1, instance.memory // (s + j))
            work += times * (room + 1)
    most = instance.memory // (1 + int(kinds.prompts.min()))
    return max(work, (most + 1) * (instance.memory + 1))


def _of_states(
    instance: Instance, kinds: _Kinds, states: PricedStates, budget: Budget
) -> tuple[Ints, Ints]:
    """Return what states pay at times 0.., (times, states), and the worth of times."""
    knots, shape = states.knots, (len(states.knots), len(states.tokens), len(states.left))
    for name, grid in (("knots", knots), ("tokens", states.tokens), ("left", states.left)):
        if len(grid) < 2 or any(low >= high for low, high in pairwise(grid)):
            raise SweptError(f"states.{name}: expected two or more, increasing")
    if len(states.table) != shape[0] * shape[1] * shape[2] or knots[0] < 1 or not states.lookahead:
        raise SweptError("states: expected a price for each point, and times from 1 on")
    total, widest = int(kinds.outputs.sum()), knots[-1]
    _small(4 * (max(states.table) + 1) * widest, (knots[-1] + 2) * total)
    if (
        states.tokens[0] > int(kinds.prompts.min()) + 1
        or states.left[0] > 0
        or max(kinds.prompts + kinds.outputs) > states.tokens[-1]
        or max(kinds.outputs) - 1 > states.left[-1]
    ):
        raise SweptError("states: expected to hold all states")
    table = np.array(states.table, dtype=object).reshape(shape)
    pay = np.zeros((knots[-1] + 2, total), dtype=np.int64)
    times = np.arange(knots[0], knots[-1] + 1)
    knot = np.minimum(np.searchsorted(knots, times, side="right") - 1, len(knots) - 2)
    at = np.array(knots, dtype=np.int64)
    column = 0
    for s, o in zip(kinds.prompts.tolist(), kinds.outputs.tolist(), strict=True):
        for j in range(1, o + 1):
            price = np.array(interpolated(table, states, s + j, o - j), dtype=np.int64)
            past = times - at[knot]
            width = at[knot + 1] - at[knot]
            sums = price[knot] * (width - past) + price[knot + 1] * past
            pay[knots[0] : knots[-1] + 1, column] = sums // width
            column += 1
    return pay, _worths(instance, kinds, pay, budget)


def _worths(instance: Instance, kinds: _Kinds, pay: Ints, budget: Budget) -> Ints:
    """Return the most that requests which can run together pay at each time.

    The prices of equal states are equal.
    """
    priced, column = {}, 0
    for s, o in zip(kinds.prompts.tolist(), kinds.outputs.tolist(), strict=True):
        for j in range(1, o + 1):
            priced[s + j, o - j] = pay[:, column].tolist()
            column += 1
    order = sorted(priced, key=lambda state: -state[1])
    most = instance.memory // min(held for held, _ in order)
    if not budget.take("sums", _work(instance, kinds) * len(pay), MOST_WORK):
        raise SweptTooLongError("the patterns are too many for this evaluation")
    _small(int(pay.max(initial=0)) * 2 * (most + 2), (most + 1) * (instance.memory + 1))
    return np.array(worths(order, priced, instance.memory, len(pay), np.int64), dtype=np.int64)


def _looking_ahead(plain: _Network, budget: Budget) -> _Network:
    """Add what requests with less than e rounds left pay at t within m tokens, [e, m, t]."""
    kinds, times = plain.kinds, len(plain.worth)
    cells = times * (plain.memory + 1)
    calls = sum(plain.memory // (held + 1) + 1 for held in kinds.prompts.tolist())
    work = CALL * calls + cells * len(kinds.counts)
    depth = min(DEPTH, int(kinds.outputs.max()), MOST_ENTRIES // cells - 1)
    depth = min(depth, budget.left("sums ahead", MOST_WORK) // work)
    if depth < 1:
        return plain
    budget.take("sums ahead", depth * work, MOST_WORK)
    ahead = np.zeros((depth + 1, plain.memory + 1, times), dtype=np.int64)
    for e in range(1, depth + 1):
        best = ahead[e - 1].copy()
        for g in range(len(kinds.counts)):
            age = int(kinds.outputs[g]) - e + 1
            if age < 1:
                continue
            held = int(kinds.prompts[g]) + age
            price = plain.pay[:, int(kinds.first[g]) + age - 1].copy()
            possible = np.zeros(times, dtype=bool)
            last = max(age, min(times, len(plain.dear) + age))
            possible[age:last] = plain.dear[: last - age, g] <= plain.window
            price[~possible] = 0
            # By blocks of ``held``: what a block reads lies below it and is done.
            for m in range(held, plain.memory + 1, held):
                block = best[m : m + held]
                np.maximum(block, best[m - held : m - held + len(block)] + price, out=block)
        ahead[e] = best
    return _Network(plain.memory, kinds, plain.pay, plain.worth, plain.dear, plain.window, ahead)


def _sweep(network: _Network, budget: Budget, *, keep: bool) -> list[_Step] | None:
    """Return the steps between levels from the last time on; None where a level is empty."""
    kinds = network.kinds
    last = len(network.worth) - 1
    within = np.argwhere(network.dear <= network.window)
    if len(within):
        last = max(last, int((within[:, 0] + kinds.outputs[within[:, 1]]).max()))
    least = 1 + int(kinds.prompts.min())
    width = min(int(kinds.counts.sum()), network.memory // least)
    level = _Level(np.zeros((1, width), dtype=np.int32), np.zeros(1, dtype=np.int64))
    places = width + (len(kinds.counts) if keep else 0)
    peaks = kinds.prompts + kinds.outputs
    steps: list[_Step] = []
    kept = 0
    for t in range(last, 0, -1):
        able = _able(network, t)
        rows = LEVEL + COMPLETION * len(able) + int((network.memory // peaks[able]).sum())
        if not budget.take("rows", rows + len(kinds.ages) // STATES, MOST_ROWS):
            raise SweptTooLongError(f"the evaluation takes more than {MOST_ROWS} rows")
        level, step = _back(network, t, level, able, keep=keep, most=MOST_PLACES // places)
        budget.take("rows", len(level.slack), MOST_ROWS)
        if not len(level.slack):
            return None
        if keep:
            steps.append(step)
            kept += len(step.to) * (3 + len(kinds.counts) // 4)
            if kept > MOST_KEPT:
                raise SweptTooLongError(f"the evaluation keeps more than {MOST_KEPT} numbers")
    return steps


def _parts(rows: NDArray[np.int32]) -> Iterator[slice]:
    """Yield the rows in parts, since what is told of their places takes many times their bytes."""
    length = max(1, PLACES // max(1, rows.shape[1]))
    for first in range(0, len(rows), length):
        yield slice(first, first + length)


def _places(rows: NDArray[np.int32]) -> NDArray[np.int32]:
    """Return the columns of rows, each in one piece, up to the last that is taken, or one."""
    taken = np.count_nonzero(rows.any(axis=0))
    return np.ascontiguousarray(rows[:, : max(1, int(taken))].T)


def _occurring(kinds: _Kinds, rows: NDArray[np.int32]) -> tuple[Ints, NDArray[np.int32]]:
    """Return the states in rows, and the columns of the rows by 1 + place in these, or 0."""
    places = _places(rows)
    occurs = np.zeros(1 + len(kinds.ages), dtype=bool)
    occurs[places] = True
    states = np.flatnonzero(occurs[1:])
    number = np.zeros(1 + len(kinds.ages), dtype=np.int32)
    number[1 + states] = np.arange(1, 1 + len(states))
    return states, number[places]


def _held_and_paid(
    network: _Network, states: Ints, places: NDArray[np.int32], u: int, rounds: int
) -> tuple[Ints, Ints]:
    """Return tokens held and prices paid at u by who is in the states of rows ``rounds`` later.

    ``states`` and ``places`` as of :func:`_occurring`.  Who is no older than ``rounds`` then has
    not started before u.
    """
    runs = network.kinds.ages[states] > rounds
    # A round before, one is in the state before.
    before = states[runs] - rounds
    tokens, prices = np.zeros((2, 1 + len(states)), dtype=np.int64)
    tokens[1:][runs] = network.kinds.tokens[before]
    prices[1:][runs] = network.pay[min(u, len(network.pay) - 1)][before]
    held, paid = np.zeros((2, places.shape[1]), dtype=np.int64)
    for place in places:
        held += tokens[place]
        paid += prices[place]
    return held, paid


@dataclass(frozen=True)
class _Ways:
    """Ways from a level: who runs, slack, tokens held, prices paid, which row, who completes."""

    rows: NDArray[np.int32]
    slack: Ints
    held: Ints
    paid: Ints
    origin: Ints
    entered: NDArray[np.uint8 | np.uint16]

    def chosen(self, which: Ints) -> _Ways:
        return _Ways(*(each[which] for each in self.parts()))

    def parts(self) -> list[NDArray[Any]]:
        """Return all columns."""
        return [self.rows, self.slack, self.held, self.paid, self.origin, self.entered]


def _joined(ways: Sequence[_Ways]) -> _Ways:
    """Return all ways together; of those after the first the last are none."""
    if len(ways) <= 2:
        return ways[0]
    return _Ways(*map(np.concatenate, zip(*(each.parts() for each in ways[:-1]), strict=True)))


def _back(
    network: _Network, t: int, level: _Level, able: list[int], *, keep: bool, most: int
) -> tuple[_Level, _Step]:
    """Return the level at t − 1 and the ways there, with the kinds that may complete at t."""
    worth = int(network.worth[t]) if t < len(network.worth) else 0
    held, paid = _held_and_paid(network, *_occurring(network.kinds, level.rows), t, 0)
    counted = len(network.kinds.counts) if keep else 0
    entered = np.zeros((len(held), counted), dtype=network.kinds.counter)
    ways = _Ways(level.rows, level.slack, held, paid, np.arange(len(held)), entered)
    gain = _gain(network, t, able)
    for g in able:
        found = [ways]
        while len(found[-1].slack):
            found.append(_completing(network, t, g, found[-1], gain, worth))
            if sum(len(each.slack) for each in found) > min(most, MOST_AT_ONCE):
                raise SweptTooLongError(f"the evaluation takes more than {most} rows at a time")
        ways = _joined(found)
    rows, slack, origin, entered = (
        ways.rows,
        ways.slack + worth - ways.paid,
        ways.origin,
        ways.entered,
    )
    fine = np.flatnonzero(slack <= network.window)
    rows, slack, origin, entered = rows[fine], slack[fine], origin[fine], entered[fine]
    stays = np.concatenate(([False], network.kinds.ages > 1))
    for part in _parts(rows):
        rows[part] = -np.sort(-np.where(stays[rows[part]], rows[part] - 1, 0), axis=1)
    first, to = _different(_words(_places(rows), len(stays)))
    least = np.full(len(first), _FAR)
    np.minimum.at(least, to, slack)
    different = rows[first]
    lost = _lost_before(network, different, least, t)
    stay = least + lost <= network.window
    fine = np.flatnonzero(slack + lost[to] <= network.window)
    to = (np.cumsum(stay) - 1)[to[fine]]
    slack, origin, entered = slack[fine], origin[fine], entered[fine]
    before = _Level(different[stay], least[stay])
    return before, _Step(origin, to, slack - level.slack[origin], entered)


def _words(places: NDArray[Any], end: int) -> Ints:
    """Return whole numbers of 64 bits, (numbers, rows), that are equal where the rows are.

    Every place is below ``end``, so as many places as fit are the digits of one number.
    """
    digits = max(1, WORD // max(1, (end - 1).bit_length()))
    words = np.zeros((-(-len(places) // digits), len(places[0])), dtype=np.int64)
    for place, digit in enumerate(places):
        words[place // digits] *= end
        words[place // digits] += digit
    return words


def _different(words: Ints) -> tuple[Ints, Ints]:
    """Return a place of each different column, and for every column which of them it equals."""
    order = np.lexsort(words)
    ordered = words[:, order]
    new = np.ones(len(order), dtype=bool)
    new[1:] = (ordered[:, 1:] != ordered[:, :-1]).any(axis=0)
    to = np.empty(len(order), dtype=np.int64)
    to[order] = np.cumsum(new) - 1
    return order[new], to


def _completing(network: _Network, t: int, g: int, ways: _Ways, gain: Ints, worth: int) -> _Ways:
    """Return the ways on which one more request of kind g completes at t."""
    kinds, output = network.kinds, int(network.kinds.outputs[g])
    low = int(kinds.first[g])
    peak = int(kinds.prompts[g]) + output
    dear = int(network.dear[t - output, g])
    pay = int(network.pay[min(t, len(network.pay) - 1), kinds.first[g] + output - 1])
    fits = ways.held + peak <= network.memory
    which = np.flatnonzero(fits & (ways.slack + dear <= network.window))
    if len(gain):
        lost = ways.slack[which] + dear + worth - ways.paid[which] - pay
        which = which[lost - gain[network.memory - ways.held[which] - peak] <= network.window]
    rows = ways.rows[which]
    count = ((rows > low) & (rows <= low + output)).sum(axis=1)
    more = ways.chosen(which[count < kinds.counts[g]])
    more.rows[np.arange(len(more.rows)), (more.rows > 0).sum(axis=1)] = low + output
    if more.entered.shape[1]:
        more.entered[:, g] += 1
    return replace(more, slack=more.slack + dear, held=more.held + peak, paid=more.paid + pay)


def _able(network: _Network, t: int) -> list[int]:
    """Return the kinds that may complete at t."""
    return [
        g
        for g, p in enumerate((t - network.kinds.outputs).tolist())
        if 0 <= p < len(network.dear) and network.dear[p, g] <= network.window
    ]


def _gain(network: _Network, t: int, able: list[int]) -> Ints:
    """Return how much more all that complete at t may pay than cost, by tokens."""
    starts = t - network.kinds.outputs
    if not network.ahead.size:
        return np.zeros(0, dtype=np.int64)
    gain = np.zeros(network.memory + 1, dtype=np.int64)
    for g in able:
        place = network.kinds.first[g] + network.kinds.outputs[g] - 1
        value = int(network.pay[min(t, len(network.pay) - 1), place] - network.dear[starts[g], g])
        held = int(network.kinds.prompts[g] + network.kinds.outputs[g])
        for m in range(held, network.memory + 1 if value > 0 else held, held):
            block = gain[m : m + held]
            np.maximum(block, gain[m - held : m - held + len(block)] + value, out=block)
    return gain


def _lost_before(network: _Network, rows: NDArray[np.int32], slack: Ints, t: int) -> Ints:
    """Return what is lost at least at times before t, given who runs at t − 1 and at t.

    Where that and the slack leave the window, as much as it takes.
    """
    total = np.zeros(len(rows), dtype=np.int64)
    states, places = _occurring(network.kinds, rows)
    left = np.arange(len(rows))
    for e in range(1, len(network.ahead)):
        u = t - e
        if u < 1 or not len(left):
            break
        if u >= len(network.worth):
            continue
        held, paid = _held_and_paid(network, states, places, u, e - 1)
        rest = network.ahead[e, :, u][np.maximum(network.memory - held, 0)]
        total[left] += np.where(held > 0, np.maximum(network.worth[u] - paid - rest, 0), 0)
        fine = slack[left] + total[left] <= network.window
        if e >= NEAR and int(np.count_nonzero(~fine)) * RARE < len(left):
            break
        # Who runs at none of these times runs at none before.
        fine &= held > 0
        if not fine.all():
            places, left = places[:, fine], left[fine]
    return total


def _count(
    network: _Network, steps: list[_Step], multipliers: Ints, value: int, budget: Budget
) -> None:
    """Go through the paths left with how many of each kind have completed.

    Raises
    ------
    SweptError
        If a path is a schedule.
    """
    counts = network.kinds.counts
    largest = max(abs(int(each)) for each in multipliers) * (len(steps) + 1) * int(counts.sum())
    _small(2 * largest + network.window, 0)
    limit = network.window + int(multipliers @ counts)
    # The least that is paid from each node of each level to the end.
    rest = [np.zeros(1, dtype=np.int64)]
    costs = [step.slack + step.entered.astype(np.int64) @ multipliers for step in steps]
    sizes = [1, *(int(step.to.max()) + 1 for step in steps)]
    for step, cost, size in zip(steps[::-1], costs[::-1], sizes[-2::-1], strict=True):
        least = np.full(size, _FAR)
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
        if not budget.take("rows", int(number.sum()), MOST_ROWS):
            raise SweptTooLongError("the evaluation counts too many paths")
        state = np.repeat(np.arange(len(node)), number)
        within = np.arange(len(state)) - np.repeat(np.cumsum(number) - number, number)
        way = order[begins[node[state]] + within]
        longer = paid[state] + cost[way]
        fine = longer + least[step.to[way]] <= limit
        state, way, longer = state[fine], way[fine], longer[fine]
        counted = done[state] + step.entered[way]
        fine = (counted <= counts).all(axis=1)
        counted, way, longer = counted[fine], way[fine], longer[fine]
        at_once = min(MOST_AT_ONCE, MOST_PLACES // (1 + len(counts)))
        if len(way) > at_once:
            raise SweptTooLongError("the evaluation counts too many paths")
        words = _words(counted.T, int(counts.max()) + 1)
        first, to = _different(np.concatenate((words, step.to[way][None])))
        paid = np.full(len(first), _FAR)
        np.minimum.at(paid, to, longer)
        node, done = step.to[way][first], counted[first]
        if not len(node):
            return
    if (done == counts).all(axis=1).any():
        raise SweptError(f"a schedule has a TEL below {value}")
