"""Round by round over sets of started requests: dominance, certified prices, growing width."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from formulations.bounds.clique_prices import StartCosts
from formulations.bounds.patterns import Priced
from formulations.groups import WindowGroup
from formulations.patterns import States
from formulations.windows import Windows
from instances import Instance

RELAXATION = False

#: States kept per round in successive passes; the first passes look for good schedules.
WIDTHS = (300, 5_000, 60_000, 600_000, 3_000_000, 12_000_000)
#: Table entries up to which prices on patterns are used.
PATTERN_ENTRIES_UP_TO = 40_000_000
#: Sets of started requests are the bits of one word.
REQUESTS_UP_TO = 63
_NONE = 1 << 62


@dataclass(frozen=True)
class Options:
    """Which of the rules and prices are used."""

    dominance: bool = True
    "drop a state that another of the same requests beats in cost and in tokens at every time"
    shift: bool = True
    "drop a state in which a request could have started one round earlier"
    merge: bool = True
    "keep one of the states that are equal in requests and tokens"
    equal: bool = True
    "equal requests start in the instance's order"
    prices: bool = True
    "bound states by the LP's prices, else by latencies alone"
    groups: bool = True
    "prices on window groups beside those on memory"
    patterns: bool = True
    "prices on what a request holds and has left, once passes take long"
    compare: int = 64
    "states that one state is compared with for dominance"


@dataclass(frozen=True)
class PatternPrices:
    """Prices on states of running requests, for :func:`search`."""

    states: States
    priced: Priced


@dataclass(frozen=True)
class Pass:
    """What one pass found: TEL and starts of the best schedule, a lower bound, its width."""

    tel: int
    starts: list[int]
    bound: int
    width: int
    states: int
    complete: bool


def model_size(instance: Instance, windows: Windows) -> int:
    """Return the number of table entries: one for each request and round."""
    return len(instance) * (windows.horizon + 2)


def search(
    instance: Instance,
    windows: Windows,
    groups: list[WindowGroup],
    costs: StartCosts,
    incumbent: tuple[int, list[int]],
    on_pass: Callable[[Pass], None],
    out_of_time: Callable[[], bool] = lambda: False,
    options: Options | None = None,
    patterns: PatternPrices | None = None,
    widths: tuple[int, ...] = WIDTHS,
    memory_bytes: float = 2e9,
) -> None:
    """Search in passes of growing width and report each; ends when one pass proves the optimum.

    A state before round t is the set S of requests started before t, their starts, and the tokens
    that they hold from t on.  A pass decides which requests start at t for all states, for
    t = 0, 1, ...  Let U be the TEL of the best schedule known and OPT the optimum.  Claim: if
    OPT < U, then in each layer some state that is kept or *lost* has a completion of TEL OPT, so
    when nothing was lost the search finds it.  The rules, with proofs that keep the claim:

    *Bound.*  The requests not in S start at t or later.  Apply the argument of ``start_costs`` to
    them with the prices λ of the times after t and μ of the rounds from t on only (other prices
    set to 0 are prices, too), where the requests in S hold known tokens and windows: the cost so
    far, plus the least priced cost of each other request over starts from t on, plus the priced
    tokens and windows of S, less M Σ λ + Σ most μ, bounds every completion.  A state whose bound
    exceeds U − 1 has no completion better than U.

    *Patterns.*  The same with prices π on states of running requests and the worths h
    (``formulations.bounds.patterns``) in place of λ and M λ: what is priced at the times after t
    is again a sum over requests, and what runs at such a time pays at most h.  The larger of
    the two bounds counts.

    *Equal states.*  Completions depend on S and the tokens held after t only, so of two states
    equal in both the cheaper is kept.

    *Dominance.*  Of two states of the same S, the one that costs no more and holds at no time
    after t more tokens can be completed with the same starts, at no higher TEL.

    *Shift.*  In an optimal schedule no request can start one round earlier with all others fixed:
    that would lower the TEL.  Starting j at p_j − 1 ≥ a_j adds s_j + 1 tokens at time p_j and one
    token at each of p_j + 1..p_j + o_j − 1, and nothing elsewhere.  So in an optimal schedule,
    where p_j > a_j, time p_j has no room for s_j + 1 more tokens or one of those times holds
    exactly M.  A state in which a request has run to its end against this is dropped: it has no
    optimal completion.  This goes with dominance: if the dominated state has an optimal
    completion, so has the dominating one, and that schedule obeys the shift rule as well.
    (Starting every request as early as those started before allow would *not* be valid: a
    request may have to wait for the sake of one that starts later.)

    *Equal requests.*  Of requests with equal (arrival, prompt, output) the first in the instance
    starts first; exchanging their names changes neither feasibility nor TEL.

    *Width.*  When a layer has more states than the width, those of largest bound are lost.  By
    the claim every schedule has TEL ≥ min(U, least bound lost), which is reported as the bound of
    the pass; with nothing lost it is U, a proof.

    *Prices* and *groups* are the caller's: they make ``costs``.

    Rounds go up to the last start of ``windows`` (which keep an optimal schedule).  Passes whose
    layers may need more than ``memory_bytes`` are left out.

    Raises
    ------
    ValueError
        If there are more than 63 requests.
    """
    from formulations.search import _kernels

    n = len(instance)
    if n > REQUESTS_UP_TO:
        raise ValueError(f"expected at most {REQUESTS_UP_TO} requests, found {n}")
    options = options or Options()
    before, after = _window_arrays(n, groups)
    columns = [
        np.array([getattr(r, name) for r in instance.requests], dtype=np.int64)
        for name in ("arrival", "prompt", "output")
    ]
    data = (*columns, before, after)
    last = max(windows.latest)
    tables = _tables(instance, groups, costs, last + 1, data)
    of_patterns = _no_patterns()
    if patterns is not None and patterns.priced.bound > 0:
        of_patterns = _pattern_tables(instance, patterns, costs, last + 1) or of_patterns
    use_patterns = len(of_patterns[2]) > 0
    tel, starts = incumbent
    best = np.array([tel], dtype=np.int64)
    # Half the memory where the numbers are small enough.
    word = np.int16 if max(instance.memory, windows.horizon) < 1 << 15 else np.int32
    best_starts = np.array(starts, dtype=word)
    reach = max(request.output for request in instance.requests) + 2
    for width in widths:
        if 2 * width * (64 + 32 + 2 * np.dtype(word).itemsize * (n + reach)) > memory_bytes:
            return
        settings = np.array(
            [
                instance.memory,
                width,
                _NONE,
                options.compare,
                options.shift,
                options.dominance,
                options.merge,
                options.equal,
                use_patterns,
            ],
            dtype=np.int64,
        )
        layers = [_layer(2 * width, n, reach, word) for _ in range(2)]
        table = np.empty(1 << (4 * width).bit_length(), dtype=np.int64)
        for array in layers[0]:
            array[:1] = 0
        count, total = 1, 0
        for t in range(last + 1):
            if out_of_time():
                return
            count = _kernels.advance(
                t,
                layers[0],
                count,
                layers[1],
                table,
                data,
                tables,
                of_patterns,
                settings,
                best,
                best_starts,
            )
            layers.reverse()
            total += count
            if count == 0:
                break
        lost = int(settings[2])
        bound = min(int(best[0]), -(-lost // costs.denominator))
        complete = bound == int(best[0])
        on_pass(Pass(int(best[0]), best_starts.tolist(), bound, width, total, complete))
        if complete:
            return


def _layer(
    states: int, n: int, reach: int, word: type[np.signedinteger[Any]]
) -> tuple[NDArray[Any], ...]:
    return (
        np.empty(states, np.uint64),
        np.empty(states, np.uint64),
        np.empty(states, np.int64),
        np.empty(states, np.int64),
        np.empty((states, n), word),
        np.empty((states, reach), word),
    )


def _window_arrays(
    n: int, groups: list[WindowGroup]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return ``before`` and ``after`` of each group and request, 0 where it is no member."""
    before = np.zeros((len(groups), n), dtype=np.int64)
    after = np.zeros((len(groups), n), dtype=np.int64)
    for g, group in enumerate(groups):
        for member in group.members:
            before[g, member.request] = member.before
            after[g, member.request] = member.after
    return before, after


def _tables(
    instance: Instance,
    groups: list[WindowGroup],
    costs: StartCosts,
    rounds: int,
    data: tuple[NDArray[np.int64], ...],
) -> tuple[Any, ...]:
    """Return least costs from each round on, prefix sums of the prices, and their weighted tails.

    ``later[i, t]`` is the least priced cost of request i over starts from max(t, a_i) on, with
    windows cut at round t.
    """
    *_, before, after = data
    length = len(costs.memory)
    denominator = costs.denominator
    sums = np.concatenate(([0], np.cumsum(costs.memory)))
    moments = np.concatenate(([0], np.cumsum(np.arange(length) * costs.memory)))
    opened = np.zeros((len(groups), length + 1), dtype=np.int64)
    np.cumsum(costs.groups, axis=1, out=opened[:, 1:])
    widest = int(before.max()) if before.size else 0
    # From here on a later start only costs more.
    end = max(rounds, length, max(int(r.arrival) for r in instance.requests)) + widest + 1
    later = np.empty((len(instance), rounds + 1), dtype=np.int64)
    starts = np.arange(end + 1, dtype=np.int64)
    froms = np.arange(rounds + 1)
    for i, request in enumerate(instance.requests):
        arrival = int(request.arrival)
        low = np.minimum(starts + 1, length)
        high = np.minimum(starts + request.output + 1, length)
        base = (starts + request.output - arrival) * denominator
        base += (request.prompt - starts) * (sums[high] - sums[low]) + moments[high] - moments[low]

        def windows_from(
            cut: NDArray[np.int64], at: NDArray[np.int64], i: int = i
        ) -> NDArray[np.int64]:
            total = np.zeros(len(at), dtype=np.int64)
            for g in range(len(groups)):
                if before[g, i] + after[g, i] > 0:
                    left = np.clip(np.maximum(at - before[g, i], cut), 0, length)
                    right = np.clip(at + after[g, i], 0, length)
                    total += opened[g, np.maximum(left, right)] - opened[g, left]
            return total

        whole = base + windows_from(np.zeros_like(starts), starts)
        suffix = np.minimum.accumulate(whole[::-1])[::-1]
        least = suffix[np.maximum(np.minimum(froms + widest, end), arrival)]
        for shift in range(widest):
            at = np.maximum(froms + shift, arrival)
            least = np.minimum(least, base[at] + windows_from(froms, at))
        later[i] = least
    weights = np.array([group.most for group in groups], dtype=np.int64)
    tail = instance.memory * (sums[-1] - sums)
    # Times after t, rounds from t on.
    tail[:-1] = tail[1:]
    if len(groups):
        tail = tail + weights @ (opened[:, -1:] - opened)
    return later, sums, moments, opened, tail, denominator


def _no_patterns() -> tuple[Any, ...]:
    """Return empty tables of the form of :func:`_pattern_tables`."""
    nothing = np.zeros((0, 0), dtype=np.int64)
    return nothing, np.zeros((0, 0, 0), dtype=np.int64), nothing.ravel(), 0, 0


def _pattern_tables(
    instance: Instance, patterns: PatternPrices, costs: StartCosts, rounds: int
) -> tuple[Any, ...] | None:
    """Return least costs, what runs still pay, tails of the worths, the unit, and the shift.

    ``later[i, t]`` is the least cost of request i over starts from max(t, a_i) on; ``paid[i, p,
    k]`` is what request i, started at p, pays after its k-th token.  All are numerators of the
    prices' own denominator, the unit, a power of two; shifted to the left (to the right if
    negative) they are ones of ``costs``.  None if the tables would be too large, or numbers too
    large for 64 bits.
    """
    table, unit = patterns.priced.table, patterns.priced.denominator
    knots, worths = table.knots, patterns.priced.worths
    values = table.at_knots(patterns.states)
    times = np.arange(int(knots[-1]) + 1)
    span = np.clip(np.searchsorted(knots, times, side="right") - 1, 0, len(knots) - 2)
    low, high = knots[span], knots[span + 1]
    # As in formulations.bounds.patterns.evaluate: prices rounded down, worths rounded up.
    worth = -(-((high - times) * worths[span] + (times - low) * worths[span + 1]) // (high - low))
    worth[: knots[0]] = 0
    # From here on a later start only costs more.
    end = max(rounds, len(times), int(instance.arrivals.max()))
    longest = int(instance.outputs.max())
    if len(instance) * (end + 1) * (longest + 1) > PATTERN_ENTRIES_UP_TO:
        return None
    paid = np.zeros((len(instance), end + 1, longest + 1), dtype=np.int64)
    later = np.empty((len(instance), rounds + 1), dtype=np.int64)
    starts = np.arange(end + 1, dtype=np.int64)
    offsets = np.concatenate(([0], np.cumsum(instance.outputs)))
    for i, request in enumerate(instance.requests):
        arrival, output = int(request.arrival), request.output
        of = values[:, patterns.states.of[offsets[i] : offsets[i + 1]]]
        price = (high - times)[:, None] * of[span] + (times - low)[:, None] * of[span + 1]
        price //= (high - low)[:, None]
        price[: knots[0]] = 0
        price = np.concatenate((price, np.zeros((1, output), dtype=np.int64)))
        at = np.minimum(starts[:, None] + np.arange(1, output + 1), len(times))
        tokens = price[at, np.arange(output)]
        paid[i, :, :output] = np.cumsum(tokens[:, ::-1], axis=1)[:, ::-1]
        whole = (starts + output - arrival) * unit + paid[i, :, 0]
        suffix = np.minimum.accumulate(whole[::-1])[::-1]
        later[i] = suffix[np.maximum(np.arange(rounds + 1), arrival)]
    tail = np.append(worth[::-1].cumsum()[::-1] - worth, 0)
    largest = int(worth.sum()) + len(instance) * int(later.max())
    if max(largest, largest * costs.denominator // unit) >= _NONE:
        return None
    shift = costs.denominator.bit_length() - unit.bit_length()
    return later, paid, tail, unit, shift
