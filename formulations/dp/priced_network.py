"""Kinds of requests under prices, and their rules in a window: slacks, look-ahead, 64 bits."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from formulations.lagrangian.exact_integers import exact_sum
from formulations.lagrangian.state_prices import StatePrices, over_time
from formulations.valid.running_states import States, running_states
from instances import Instance

Ints = NDArray[np.int64]

#: Every sum is below it; the kernels' mark for "never" is 2⁶¹.
SAFE = 1 << 60
#: Most entries of a table, 8 bytes each.
ENTRIES_UP_TO = 60_000_000
#: Steps that one search for the best pattern may take, and those of all times together.
PATTERN_WORK_UP_TO, ALL_WORK_UP_TO = 40_000_000, 2_000_000_000
#: The reason where they would be more.
TOO_MANY_PATTERNS = "too many configurations for backward dynamic programming"
#: Most times before the present one in a bound.
DEPTH = 48


class TooLargeError(ValueError):
    """The instance has too many rounds or too large numbers; the message is one line."""


class WindowRules(NamedTuple):
    """Rules of one window for the kernels, in units of 1 / denominator.

    State ``first[g]`` + j − 1 is that of a request of kind g at its j-th token.  In ``limits``,
    ``pay`` and ``worth`` the last row is that of all later times.
    """

    memory: int  # tokens
    window: int  # slack that no schedule looked for exceeds
    limits: Ints  # what no label at times 0, 1, ... exceeds
    # Of each kind: tokens, requests that a base may have of it, its first and last state, and what
    # each completion costs more.
    outputs: Ints
    counts: Ints
    first: Ints
    last: Ints
    tolls: Ints
    # Of each state: tokens held, its kind, and a random number.
    tokens: Ints
    kind: Ints
    keys: NDArray[np.uint64]
    pay: Ints  # prices of the states at times 0, 1, ..., shape (times, states)
    worth: Ints  # the most that a pattern pays at times 0, 1, ...
    dear: Ints  # slack of a start p of each kind, shape (starts, kinds)
    # Most that requests which end within some rounds pay within so many tokens, shape (times,
    # rounds, M + 1); (0, 1, 1) where it would be too large.
    behind: Ints


@dataclass(frozen=True)
class RequestKinds:
    """The different (arrival, prompt, output) of an instance; shape (kinds,) each.

    ``of`` says which kind each request is, shape (n,).
    """

    arrivals: Ints
    prompts: Ints
    outputs: Ints
    counts: Ints
    of: Ints

    @property
    def first(self) -> Ints:
        """The first state of each kind."""
        return np.cumsum(self.outputs) - self.outputs


def kinds_of(instance: Instance) -> RequestKinds:
    """Return the kinds of an instance's requests, the first to arrive first."""
    rows = np.stack([instance.arrivals, instance.prompts, instance.outputs], axis=1)
    different, of, counts = np.unique(rows, axis=0, return_inverse=True, return_counts=True)
    arrivals, prompts, outputs = np.ascontiguousarray(different.T)
    return RequestKinds(
        arrivals, prompts, outputs, counts.astype(np.int64), of.ravel().astype(np.int64)
    )


@dataclass(frozen=True)
class PricedNetwork:
    """An instance under prices: what is the same for all windows.

    ``total`` / ``unit`` is the Lagrangian value (rounds).  ``pay`` and ``worth`` are as in
    :class:`WindowRules`; ``least`` is the least cost of each kind.
    """

    instance: Instance
    kinds: RequestKinds
    unit: int
    pay: Ints
    worth: Ints
    least: Ints
    total: int

    @property
    def bound(self) -> int:
        """The certified lower bound on the TEL (rounds)."""
        return -(-self.total // self.unit)

    def window(self, tel: int) -> int:
        """Return the slack that a schedule of this TEL (rounds) has."""
        return tel * self.unit - self.total


def network(instance: Instance, prices: StatePrices | tuple[Ints, int]) -> PricedNetwork:
    """Return an instance under prices on states, or on memory: numerators of λ, denominator.

    Raises :class:`TooLargeError`.
    """
    kinds = kinds_of(instance)
    if int(kinds.outputs.sum()) > np.iinfo(np.uint16).max:
        raise TooLargeError("too many output tokens for backward dynamic programming")
    states = running_states(instance)
    if isinstance(prices, StatePrices):
        unit = prices.denominator
        values = over_time(prices.knots, prices.at_knots(states))
    else:
        unit = prices[1]
        _refuse(len(prices[0]) * len(states), "prices")
        _safe(int(prices[0].max(initial=0)) * instance.memory)
        values = prices[0][:, None] * states.tokens
    _refuse(values.size, "prices")
    worth = np.append(_worths(instance, states, values, prices), 0)
    # The first token is held at time 1.
    worth[0] = 0
    values = np.concatenate((values, np.zeros((1, len(states)), dtype=np.int64)))
    offsets = np.cumsum(instance.outputs) - instance.outputs
    one = [int(np.flatnonzero(kinds.of == g)[0]) for g in range(len(kinds.counts))]
    places = [states.of[offsets[i] : offsets[i] + instance.outputs[i]] for i in one]
    pay = np.ascontiguousarray(values[:, np.concatenate(places)])
    least = _start_slack(kinds, pay, unit, 0)[1]
    cost = sum(int(n) * int(each) for n, each in zip(kinds.counts, least, strict=True))
    return PricedNetwork(instance, kinds, unit, pay, worth, least, cost - exact_sum(worth))


def rules(network: PricedNetwork, window: int) -> WindowRules:
    """Return the kernels' rules of a window; raise :class:`TooLargeError`."""
    from formulations.dp import base_kernels  # loads the compiler

    kinds, memory = network.kinds, network.instance.memory
    dear, _ = _start_slack(kinds, network.pay, network.unit, window)
    first = kinds.first
    tokens = np.concatenate(
        [s + np.arange(1, o + 1) for s, o in zip(kinds.prompts, kinds.outputs, strict=True)]
    )
    # No sum in the kernels exceeds the window by more than the worth of a time, the payments of as
    # many as fit, or one start.
    payers = memory // int(tokens.min()) + len(network.instance) + 1
    most = int(network.worth.max()) + payers * int(network.pay.max(initial=0))
    _safe(2 * window + 2 * most)
    random = np.random.default_rng(1)
    found = WindowRules(
        memory=memory,
        window=window,
        limits=np.array([window], dtype=np.int64),
        outputs=kinds.outputs,
        counts=kinds.counts,
        first=first,
        last=first + kinds.outputs - 1,
        tolls=np.zeros_like(first),
        tokens=tokens,
        kind=np.repeat(np.arange(len(first)), kinds.outputs),
        keys=random.integers(0, 1 << 64, len(tokens), dtype=np.uint64),
        pay=network.pay,
        worth=network.worth,
        dear=dear,
        behind=np.zeros((0, 1, 1), dtype=np.int64),
    )
    rows = len(network.worth)
    depth = min(DEPTH, ENTRIES_UP_TO // (rows * (memory + 1)), int(kinds.outputs.max()))
    if depth < 1:
        return found
    behind = np.zeros((rows, depth + 1, memory + 1), dtype=np.int64)
    base_kernels.behind_table(found, 0, rows, behind)
    return found._replace(behind=behind)


def _start_slack(kinds: RequestKinds, pay: Ints, unit: int, window: int) -> tuple[Ints, Ints]:
    """Return the slack of every start that may lie in a window, and the least cost of each kind.

    A start p costs its latency at least, so a start within the window of the first one's cost is at
    p ≤ a − o + (cost of the first + window) / unit.
    """
    from formulations.dp import base_kernels  # loads the compiler

    longest, dearest = int(kinds.outputs.max()), int(pay.max(initial=0))
    _safe(unit * (len(pay) + 2 * longest + int(kinds.arrivals.max())) + longest * dearest + window)
    end, starts = len(pay) - 1, 0
    for a, o, low in zip(kinds.arrivals, kinds.outputs, kinds.first, strict=True):
        ages = np.arange(min(int(o), max(end - int(a), 0)))
        first = unit * int(o) + int(pay[int(a) + 1 + ages, int(low) + ages].sum())
        starts = max(starts, int(a) - int(o) + (first + window) // unit + 1)
    _refuse(starts * len(kinds.counts), "starts")
    _safe(unit * (starts + longest) + longest * dearest + window)
    slack = np.empty((starts, len(kinds.counts)), dtype=np.int64)
    least = base_kernels.start_slack(
        kinds.outputs, kinds.arrivals, kinds.first, pay, unit, starts, slack
    )
    return slack[: int(np.flatnonzero((slack <= window).any(axis=1))[-1]) + 1], least


def _worths(
    instance: Instance, states: States, values: Ints, prices: StatePrices | tuple[Ints, int]
) -> Ints:
    """Return the most that a pattern pays at every time, at least."""
    from formulations.lagrangian.price_kernels import most_worth  # loads the compiler

    if too_many_patterns(states, len(values) - 1):
        if isinstance(prices, StatePrices):
            raise TooLargeError(TOO_MANY_PATTERNS)
        return instance.memory * prices[0]
    _safe((states.most + 1) * int(values.max(initial=0)))
    return np.array(
        [most_worth(states.tokens, states.left, row, states.memory, states.most) for row in values],
        dtype=np.int64,
    )


def too_many_patterns(states: States, last: int) -> bool:
    """Return whether the best patterns of the times 0 to ``last`` take too many steps."""
    return states.work > min(PATTERN_WORK_UP_TO, ALL_WORK_UP_TO // (last + 1))


def _refuse(entries: int, what: str) -> None:
    if entries > ENTRIES_UP_TO:
        raise TooLargeError(
            f"the {what} of all rounds are too many for backward dynamic programming"
        )


def _safe(largest: int) -> None:
    if largest >= SAFE:
        raise TooLargeError("the numbers are too large for exact 64-bit arithmetic")
