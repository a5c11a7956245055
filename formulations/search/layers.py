"""Round by round over sets of started requests: dominance, certified prices, growing width."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray

from formulations.bounds.clique_prices import StartCosts
from formulations.bounds.exact import exact_sum, run_cost
from formulations.bounds.patterns import Priced
from formulations.groups import WindowGroup
from formulations.patterns import States
from formulations.search.kind import ExactSearch
from formulations.windows import Windows
from instances import Instance

#: States kept per round in successive passes; the first passes look for good schedules.
WIDTHS = (300, 5_000, 60_000, 600_000, 3_000_000, 12_000_000)
#: Table entries up to which prices on patterns are used.
PATTERN_ENTRIES_UP_TO = 40_000_000
#: Sets of started requests are the bits of one word.
REQUESTS_UP_TO = 63
#: Steps that the tables of cut windows may take; longer windows are shortened until they do.
CUTS_UP_TO = 100_000_000
#: Above all bounds of states, so the least bound lost while nothing is.
_NONE = 1 << 62


@dataclass(frozen=True)
class Options:
    """Which of the rules and prices are used."""

    dominance: Annotated[
        bool,
        "drop a state that another of the same requests beats in cost and in tokens at every time",
    ] = True
    shift: Annotated[
        bool, "drop a state in which a request could have started one round earlier"
    ] = True
    merge: Annotated[bool, "keep one of the states that are equal in requests and tokens"] = True
    equal: Annotated[bool, "equal requests start in the instance's order"] = True
    prices: Annotated[bool, "bound states by the LP's prices, else by latencies alone"] = True
    groups: Annotated[bool, "prices on window groups beside those on memory"] = True
    patterns: Annotated[
        bool, "prices on what a request holds and has left, once passes take long"
    ] = True
    compare: Annotated[int, "states that one state is compared with for dominance"] = 64


@dataclass(frozen=True)
class PatternPrices:
    """Prices on states of running requests, for :func:`search`."""

    states: States
    priced: Priced


@dataclass(frozen=True)
class Prices:
    """Numerators of λ, shape (T + 1,), and of μ, shape (groups, T + 1), and their denominator."""

    memory: NDArray[np.int64]
    groups: NDArray[np.int64]
    denominator: int


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

    *Windows.*  ``windows`` keep every optimal schedule (``formulations.windows``), so starts past
    the last one of a request need not be priced, and a state in which such a start is all that is
    left has no optimal completion.  The bounds are then bounds on the completions that keep to
    the windows, and every optimal one does; the rules below compare optimal completions only.

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

    *Prices* and *groups* are the caller's: they make ``costs``.  Only the prices are taken from
    there, at a scale at which every bound is exact in 64 bits (:func:`scaled_prices`).

    Rounds go up to the last start of ``windows``.  Passes whose layers may need more than
    ``memory_bytes`` are left out.

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
    last = max(windows.latest)
    tel, starts = incumbent
    prices = scaled_prices(instance, groups, costs, last, tel)
    widest = CUTS_UP_TO // max(1, n * (last + 2) * len(groups))
    before, after = _window_arrays(n, groups, max(widest, 1))
    columns = [
        np.array([getattr(r, name) for r in instance.requests], dtype=np.int64)
        for name in ("arrival", "prompt", "output")
    ]
    data = (*columns, before, after)
    tables = _tables(instance, groups, prices, windows.latest, tel, data)
    of_patterns = _no_patterns()
    if patterns is not None and patterns.priced.bound > 0:
        found = _pattern_tables(instance, patterns, prices, windows.latest, tel)
        of_patterns = found or of_patterns
    use_patterns = len(of_patterns[2]) > 0
    best = np.array([tel], dtype=np.int64)
    # Half the memory where the numbers are small enough.
    largest = max(instance.memory, windows.horizon, *starts)
    word = next(kind for kind in (np.int16, np.int32, np.int64) if largest <= np.iinfo(kind).max)
    best_starts = np.array(starts, dtype=word)
    reach = max(request.output for request in instance.requests) + 2
    for width in widths:
        states = 2 * width * (64 + 32 + 2 * np.dtype(word).itemsize * (n + reach))
        # Beside the layers, the tokens of one state after each start.
        if states + 8 * (n + 1) * reach > memory_bytes:
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
        lost, bound = int(settings[2]), int(best[0])
        if lost < _NONE:
            bound = min(bound, -(-lost // prices.denominator))
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


def scaled_prices(
    instance: Instance, groups: list[WindowGroup], costs: StartCosts, last: int, tel: int
) -> Prices:
    """Return prices for which all that is computed of states is exact in 64 bits.

    ``last`` is the last start of any request, ``tel`` the TEL of the schedule to be beaten.

    Proof.  By ``formulations.bounds.exact`` one request pays at most X = ``run_cost`` and nothing
    less than 0.  What no start is left for costs F = D·U + C, with C = M Σ λ + Σ most μ the worth
    of all, so a state in which that happens exceeds (U − 1)·D and is dropped; F is also what U
    itself is compared as.  A bound adds n such numbers and takes away at most C, so nothing
    exceeds n·max(X, F) + C, which has to be below 2⁶².  Where it is not, denominator and
    numerators are halved, these rounded down: any prices ≥ 0 bound.  In the end all of them are 0
    and D = 1.  Then X is the last completion and F = U, and n ≤ 63 of them are below 2⁶² as long
    as these are below 7·10¹⁶; by the limits of ``instances.model`` they are below 7·10¹³.

    Raises
    ------
    OverflowError
        If U or the last completion is beyond that.
    """
    rounds = max(last, len(costs.memory)) + max(r.output for r in instance.requests)
    peak = max(request.peak for request in instance.requests)
    scale = 0
    while True:
        found = Prices(
            costs.memory >> scale, costs.groups >> scale, max(costs.denominator >> scale, 1)
        )
        if scale >= costs.denominator.bit_length():
            found = Prices(np.zeros_like(found.memory), np.zeros_like(found.groups), 1)
        denominator = found.denominator
        sums = [exact_sum(row) for row in (found.memory, *found.groups)]
        worth = instance.memory * sums[0]
        worth += sum(group.most * each for group, each in zip(groups, sums[1:], strict=True))
        cost = int(run_cost(denominator, rounds, peak, sums[0], sum(sums[1:])))
        if len(instance) * max(cost, denominator * tel + worth) + worth < _NONE:
            return found
        if not any(sums) and denominator == 1:
            raise OverflowError("rounds are too large for exact 64-bit arithmetic")
        scale += 1


def _window_arrays(
    n: int, groups: list[WindowGroup], widest: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return ``before`` and ``after`` of each group and request, 0 where it is no member.

    Windows begin at most ``widest`` rounds before their starts: a shorter window holds fewer
    rounds, so it is proved as well.  One that is empty then counts as no member.
    """
    before = np.zeros((len(groups), n), dtype=np.int64)
    after = np.zeros((len(groups), n), dtype=np.int64)
    for g, group in enumerate(groups):
        for member in group.members:
            if (cut := min(member.before, widest)) + member.after > 0:
                before[g, member.request] = cut
                after[g, member.request] = member.after
    return before, after


def _tables(
    instance: Instance,
    groups: list[WindowGroup],
    prices: Prices,
    latest: Sequence[int],
    tel: int,
    data: tuple[NDArray[np.int64], ...],
) -> tuple[Any, ...]:
    """Return least costs from each round on, prefix sums of the prices, and their weighted tails.

    ``later[i, t]`` is the least priced cost of request i over starts from max(t, a_i) to latest_i,
    with windows cut at round t; where no start is left, more than any schedule better than ``tel``
    can cost.
    """
    *_, before, after = data
    length = len(prices.memory)
    denominator = prices.denominator
    sums = np.concatenate(([0], np.cumsum(prices.memory)))
    moments = np.concatenate(([0], np.cumsum(np.arange(length) * prices.memory)))
    opened = np.zeros((len(groups), length + 1), dtype=np.int64)
    np.cumsum(prices.groups, axis=1, out=opened[:, 1:])
    weights = np.array([group.most for group in groups], dtype=np.int64)
    tail = instance.memory * (sums[-1] - sums)
    # Times after t, rounds from t on.
    tail[:-1] = tail[1:]
    if len(groups):
        tail = tail + weights @ (opened[:, -1:] - opened)
    never = denominator * tel + int(tail.max())
    rounds = max(latest) + 1
    later = np.empty((len(instance), rounds + 1), dtype=np.int64)
    froms = np.arange(rounds + 1)
    for i, request in enumerate(instance.requests):
        arrival, end = int(request.arrival), latest[i]
        starts = np.arange(end + 1, dtype=np.int64)
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

        # From so many rounds after t on no window is cut at t.
        widest = int(before[:, i].max(initial=0))
        whole = base + windows_from(np.zeros_like(starts), starts)
        least = _least_from(whole, np.maximum(froms + widest, arrival), never)
        for shift in range(min(widest, end + 1)):
            at = np.maximum(froms + shift, arrival)
            inside = at <= end
            at, cut = at[inside], froms[inside]
            least[inside] = np.minimum(least[inside], base[at] + windows_from(cut, at))
        later[i] = least
    return later, sums, moments, opened, tail, denominator


def _least_from(
    costs: NDArray[np.int64], froms: NDArray[np.int64], never: int
) -> NDArray[np.int64]:
    """Return the least cost of the starts from each of ``froms`` on, ``never`` past the last."""
    suffix = np.append(np.minimum.accumulate(costs[::-1])[::-1], never)
    least: NDArray[np.int64] = suffix[np.minimum(froms, len(costs))]
    return least


def _no_patterns() -> tuple[Any, ...]:
    """Return empty tables of the form of :func:`_pattern_tables`."""
    nothing = np.zeros((0, 0), dtype=np.int64)
    return nothing, np.zeros((0, 0, 0), dtype=np.int64), nothing.ravel(), 0, 0


def _pattern_tables(
    instance: Instance,
    patterns: PatternPrices,
    prices: Prices,
    latest: Sequence[int],
    tel: int,
) -> tuple[Any, ...] | None:
    """Return least costs, what runs still pay, tails of the worths, the unit, and the shift.

    ``later[i, t]`` is the least cost of request i over starts from max(t, a_i) to latest_i, where
    none is left more than any schedule better than ``tel`` can cost; ``paid[i, p, k]`` is what
    request i, started at p, pays after its k-th token.  All are numerators of the patterns' own
    denominator, the unit, a power of two; shifted to the left (to the right if negative) they are
    ones of ``prices``.  None if the tables would be too large, or numbers too large for 64 bits.
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
    rounds = max(latest) + 1
    longest = int(instance.outputs.max())
    if len(instance) * rounds * (longest + 1) > PATTERN_ENTRIES_UP_TO:
        return None
    never = unit * tel + exact_sum(worth)
    if len(instance) * never >= _NONE:
        return None
    paid = np.zeros((len(instance), rounds, longest + 1), dtype=np.int64)
    later = np.empty((len(instance), rounds + 1), dtype=np.int64)
    dearest = never
    starts = np.arange(rounds, dtype=np.int64)
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
        dearest = max(dearest, int(whole.max()))
        froms = np.maximum(np.arange(rounds + 1), arrival)
        later[i] = _least_from(whole[: latest[i] + 1], froms, never)
    tail = np.append(worth[::-1].cumsum()[::-1] - worth, 0)
    largest = exact_sum(worth) + len(instance) * dearest
    if max(largest, largest * prices.denominator // unit) >= _NONE:
        return None
    shift = prices.denominator.bit_length() - unit.bit_length()
    return later, paid, tail, unit, shift


FORMULATION = ExactSearch(
    name="layers",
    search=search,
    size=model_size,
    widths=WIDTHS,
    requests_up_to=REQUESTS_UP_TO,
    options=Options,
)
