"""Prices on states of running requests: no more is paid than what can run together is worth."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated

import numpy as np
from numpy.typing import NDArray

from formulations.bounds import dual
from formulations.bounds.dual import model_size
from formulations.bounds.exact import SAFE, largest_denominator
from formulations.bounds.kind import ComputedBound
from formulations.bounds.outcome import Bound, Reporter, Silence
from formulations.patterns import Ints, PriceTable, States, hats, searchable_states
from formulations.windows import Windows
from instances import Instance

if TYPE_CHECKING:
    from formulations.bounds.pattern_master import Grids, Solution

Floats = NDArray[np.float64]

#: Factors on the fluid prices whose cheapest starts and best patterns are the first columns.
SPREAD = (0.6, 0.7, 0.8, 0.9, 1.0, 1.1, 1.2)
#: How far from the best prices the LP's may be, in prices of the fluid limit: at first, and the
#: distance from which on nothing more is expected further away.
FIRST_REACH, FAR = 0.25, 1.0
#: Spans of tokens held and of rounds left on the first grid.
FIRST_SPANS = (5, 4)
#: Level from which on grids get no finer.
FINEST = 30
#: Promised improvement, as a share, at which a grid is left for a finer one.
TOLERANCES = (3e-3, 2e-3, 1e-3, 5e-4)
#: Cheapest starts of a request that become columns in each iteration.
NEAR = 3
#: Columns are dropped when this many times dearer than a request's share of the gap.
KEEP_FACTOR = 10.0
#: Patterns that become columns of each search for the best one, of different sizes.
PATTERNS = 3
#: Steps of all searches for best patterns together beyond which memory alone is priced.
MOST_WORK = 1_000_000_000


@dataclass(frozen=True)
class Options:
    """What is priced, and how finely."""

    lookahead: Annotated[bool, "patterns must fit until all have completed, not only at once"] = (
        True
    )
    knots: Annotated[int, "times between which prices are linear"] = 25
    grids: Annotated[
        int, "how many grids of states, each with twice the points of the one before"
    ] = 4


def compute_bound(
    instance: Instance,
    *,
    deadline: float,
    report: Reporter,
    windows: Windows | None = None,
    known_starts: Ints | None = None,
    threads: int = 1,
    options: Options | None = None,
) -> Bound:
    """Return the best certified bound by the deadline; parameters as in ``bound-dual``.

    Prices λ_t on tokens charge every token the same.  Here a request that holds w tokens and has
    r rounds left pays π_t(w, r), any function ≥ 0, and where two requests cannot run together the
    two may pay more than memory's worth: this prices what memory loses to growth and to sizes
    that do not add up to M.

    Proof.  Let h_t be the most that a pattern (``formulations.patterns``) pays at time t.  In a
    feasible schedule the requests that run at t form a pattern, so they pay at most h_t, and

        TEL ≥ TEL + Σ_t (Σ_{i runs at t} π_t(w_i, r_i) − h_t)
            = Σ_i [p_i + o_i − a_i + Σ_{j=1..o_i} π_{p_i+j}(s_i + j, o_i − j)] − Σ_t h_t
            ≥ Σ_i min_p [...] − Σ_t h_t.

    :func:`evaluate` computes this in integers.  Nothing else has to be right for the bound to be:
    the prices come from an LP over start columns and patterns at ``knots`` times, in which both
    are generated; its rows are those of all (w, r) added up by hat functions
    (``formulations.bounds.pattern_master``).  π = λ·w gives the memory rows, π = f(w) every
    dual-feasible function, and the pairs of ``formulations.separation`` are patterns that are not.

    Where the search for patterns would take too long (large M), the bound is ``bound-dual``.
    """
    options = options or Options()
    work = MOST_WORK // max(options.knots, 2)
    states = searchable_states(instance, work, lookahead=options.lookahead)
    if states is None:
        return dual.compute_bound(
            instance,
            deadline=deadline,
            report=report,
            windows=windows,
            known_starts=known_starts,
            threads=threads,
        )
    search = _Search(instance, states, windows, deadline, report, threads, options)
    search.run(known_starts, options.grids)
    return search.result()


def price_patterns(
    instance: Instance,
    states: States,
    *,
    deadline: float,
    windows: Windows,
    known_starts: Ints,
    memory: Floats,
    threads: int = 1,
    options: Options | None = None,
) -> Priced:
    """Return the best prices on states found by the deadline.

    ``memory`` are good prices on tokens at times 0, 1, ..., the first that are tried.
    """
    options = options or Options()
    search = _Search(instance, states, windows, deadline, Silence(), threads, options)
    search.try_tokens(memory)
    search.run(known_starts, options.grids)
    return search.priced


@dataclass(frozen=True)
class Priced:
    """What prices come to: the bound, every start's cost, and the best patterns of each knot.

    ``total`` / denominator is the Lagrangian value (rounds); costs of starts from the arrival on,
    and worths h at the knots, are such numerators, too.
    """

    total: int
    denominator: int
    costs: list[Ints]
    worths: Ints
    patterns: list[list[Ints]]
    table: PriceTable

    @property
    def value(self) -> float:
        """The Lagrangian value (rounds)."""
        return self.total / self.denominator

    @property
    def bound(self) -> int:
        """The certified lower bound on the TEL (rounds)."""
        return -(-self.total // self.denominator)


def last_starts(instance: Instance, horizon: int, windows: Windows | None) -> Ints:
    """Return the last start of each request that can be cheapest if prices end at ``horizon``."""
    latest = np.maximum(instance.arrivals, horizon)
    if windows is not None:
        latest = np.maximum(np.minimum(latest, np.array(windows.latest)), instance.arrivals)
    return latest


def evaluate(
    instance: Instance,
    states: States,
    table: PriceTable,
    latest: Ints,
    pool: ThreadPoolExecutor | None = None,
) -> Priced:
    """Evaluate the Lagrangian of :func:`compute_bound` exactly, as an integer times 1/denominator.

    Between knots a < b let the price at time t be the interpolation of those at the knots, rounded
    down.  A pattern pays at t at most the same interpolation of what it pays at the knots, so
    h_t ≤ ⌈((b − t)·h_a + (t − a)·h_b) / (b − a)⌉, and only the best patterns of the knots are
    needed.  Before the first and past the last knot prices are 0; there a later start only costs
    more, so ``last_starts`` suffice, and no horizon is assumed.
    """
    from formulations.bounds.pattern_kernels import best_patterns, priced_starts  # compiler

    values = table.at_knots(states)
    arrivals, outputs = instance.arrivals, instance.outputs
    offsets = np.concatenate(([0], np.cumsum(outputs)))
    places = np.concatenate(([0], np.cumsum(latest - arrivals + 1)))
    flat = np.empty(places[-1], dtype=np.int64)
    priced_starts(
        arrivals, latest, outputs, offsets, states.of, values, table.knots,
        table.denominator, places, flat,
    )  # fmt: skip

    def at_knot(knot: int) -> tuple[int, list[Ints]]:
        found, last, before, state = best_patterns(
            states.tokens, states.left, values[knot], states.memory, states.most
        )
        patterns = []
        for step in last[np.argsort(-found, kind="stable")][:PATTERNS].tolist():
            members = []
            while step >= 0:
                members.append(int(state[step]))
                step = int(before[step])
            patterns.append(np.array(members, dtype=np.int64))
        return int(found.max()), patterns

    knots = range(len(table.knots))
    found = list(pool.map(at_knot, knots)) if pool else [at_knot(knot) for knot in knots]
    worths = np.array([worth for worth, _ in found], dtype=np.int64)
    costs = np.split(flat, places[1:-1])
    total = sum(int(cost.min()) for cost in costs)
    total += table.denominator * int((outputs - arrivals).sum())
    for low, high, here, there in zip(
        table.knots[:-1], table.knots[1:], worths[:-1], worths[1:], strict=True
    ):
        ahead = np.arange(high - low)
        paid = here * (high - low - ahead) + there * ahead
        total -= int((-(-paid // (high - low))).sum())
    total -= int(worths[-1])
    chosen = [patterns for _, patterns in found]
    return Priced(total, table.denominator, costs, worths, chosen, table)


class _Search:
    """Prices that improve over iterations and grids; see :func:`compute_bound`."""

    def __init__(
        self,
        instance: Instance,
        states: States,
        windows: Windows | None,
        deadline: float,
        report: Reporter,
        threads: int,
        options: Options,
    ) -> None:
        # Here, not above: these load SciPy.
        from formulations.bounds.columns import group_requests
        from formulations.bounds.pattern_master import PatternMaster
        from formulations.bounds.search import fitted_knots, fluid_prices, likely_horizon

        self._instance, self._states, self._report = instance, states, report
        self._deadline, self._threads = deadline, threads
        self._pool = ThreadPoolExecutor(threads) if threads > 1 else None
        distinct = group_requests(instance)
        horizon = max(likely_horizon(instance), 2)
        self._latest = last_starts(instance, horizon, windows)
        fluid = fluid_prices(instance, distinct, horizon)
        knots = fitted_knots(fluid, max(options.knots, 2))
        self._master = PatternMaster(instance, states, _grids(states, knots, 0))
        self._solution: Solution | None = None
        self._reach = FIRST_REACH
        self._scale = np.maximum(fluid[knots], 0.02 * fluid.max())[:, None, None]
        self._prices: Floats = np.zeros(self._master.grids.shape)
        self._table, self._priced = self._evaluate(self._prices)
        self._master.add_starts(range(len(instance)), self._latest.tolist())
        # Prices that charge every token the same, and around them.
        for factor in SPREAD:
            if self.out_of_time():
                break
            self.try_tokens(factor * fluid)

    @property
    def priced(self) -> Priced:
        """The best prices so far, evaluated."""
        return self._priced

    def try_tokens(self, prices: Floats) -> None:
        """Try the same price for every token, at times 0, 1, ..."""
        grids = self._master.grids
        long = np.zeros(max(len(prices), int(grids.knots[-1]) + 1))
        long[: len(prices)] = prices
        tokens = long[grids.knots][:, None, None] * grids.tokens[:, None]
        self._try(np.broadcast_to(tokens, self._prices.shape))

    def run(self, known_starts: Ints | None, grids: int) -> None:
        """Improve the prices until the deadline, or until ``grids`` grids promise no more."""
        if known_starts is not None:
            self.add_starts(known_starts)
        for level in range(max(grids, 1)):
            if level:
                self.refine(level)
            self.iterate(TOLERANCES[min(level, len(TOLERANCES) - 1)])
            if self.out_of_time():
                break

    def out_of_time(self) -> bool:
        """Tell whether the deadline has passed."""
        return time.monotonic() >= self._deadline

    def add_starts(self, starts: Ints) -> None:
        """Add the starts of a schedule to the columns."""
        starts = np.minimum(starts, self._latest)
        self._master.add_starts(range(len(starts)), starts.tolist())

    def refine(self, level: int) -> None:
        """Take a grid of states with the points of the last one and as many between them."""
        self._reach = FIRST_REACH / 2
        if self._solution is not None:
            self._drop(self._solution)
        old = self._master.grids
        grids = _grids(self._states, old.knots, level)
        self._master.refine(grids)
        # The same function on the finer grid, up to rounding.
        self._prices = np.einsum(
            "kac,xa,yc->kxy",
            self._prices,
            hats(old.tokens, grids.tokens),
            hats(old.left, grids.left),
        )
        self._try(self._prices)

    def iterate(self, tolerance: float) -> None:
        """Improve the prices on this grid until the LP promises at most this share more.

        The LP overrates prices far from all that were tried, so its prices stay within a
        distance of the best ones, which grows while its promises are kept and shrinks when not.
        """
        while not self.out_of_time():
            reach = self._reach * self._scale * self._weights()
            solution = self._master.solve(
                np.maximum(self._prices - reach, 0.0),
                self._prices + reach,
                self._deadline - time.monotonic(),
                self._threads,
            )
            if solution is None:
                return
            self._solution = solution
            before = self._priced.value
            promised = solution.objective - before
            if promised <= tolerance * abs(before):
                if self._reach >= FAR:
                    return
                self._reach *= 4
                continue
            new = self._try(solution.prices)
            kept = (self._priced.value - before) / promised
            if kept > 0.5:
                self._reach *= 2
            elif kept < 0.1:
                if not new:
                    return
                self._reach /= 1.5

    def result(self) -> Bound:
        """Return the outcome."""
        expected = None
        if self._solution is not None:
            expected = self._master.expected_starts(self._solution.starts)
            columns, rows, entries = self._master.size
            self._report.built(columns=columns, rows=rows, entries=entries)
        return Bound(self._priced.bound, None, expected, None, self._table)

    def _evaluate(self, prices: Floats) -> tuple[PriceTable, Priced]:
        table = rounded_table(self._instance, self._states, self._master.grids, prices)
        return table, evaluate(self._instance, self._states, table, self._latest, self._pool)

    def _try(self, prices: Floats) -> int:
        """Evaluate prices, keep them if they are the best, add columns; return how many are new.

        Prices too large for 64 bits are not tried.
        """
        try:
            table, priced = self._evaluate(prices)
        except OverflowError:
            return 0
        if priced.value > self._priced.value:
            if priced.bound > self._priced.bound:
                self._report.bound(value=priced.bound, source="prices of patterns")
            self._prices, self._table, self._priced = prices, table, priced
        owners, starts = [], []
        for i, (cost, arrival) in enumerate(
            zip(priced.costs, self._instance.arrivals.tolist(), strict=True)
        ):
            count = min(NEAR, len(cost))
            near = np.argpartition(cost, count - 1)[:count] + arrival
            owners += [i] * count
            starts += near.tolist()
        knots = np.repeat(np.arange(len(priced.patterns)), [len(p) for p in priced.patterns])
        patterns = [pattern for each in priced.patterns for pattern in each]
        new = self._master.add_starts(owners, starts)
        return new + self._master.add_patterns(knots.tolist(), patterns)

    def _weights(self) -> Ints:
        """Return by how many tokens a state's price may change, shape (tokens, 1)."""
        return self._master.grids.tokens[:, None] + self._instance.memory // 10 + 1

    def _gap(self, solution: Solution) -> float:
        return solution.objective - self._priced.value

    def _drop(self, solution: Solution) -> None:
        """Drop columns that the solution could have used, did not, and that are far from paying.

        Between grids only: dropped earlier, they would come back and go again.
        """
        master, priced = self._master, self._priced
        gap = KEEP_FACTOR * max(self._gap(solution), 1e-4 * abs(solution.objective))
        unit = self._table.denominator
        paid = np.array(
            [
                priced.costs[owner][start - self._instance.requests[owner].arrival]
                for owner, start in zip(master.owners, master.starts, strict=True)
            ]
        )
        least = np.array([cost.min() for cost in priced.costs])
        starts = (paid - least[master.owners]) / unit <= gap / len(least)
        starts[: len(solution.starts)] |= solution.starts > 1e-7
        starts[len(solution.starts) :] = True
        short = priced.worths[master.knots] / unit - master.pattern_values(self._prices)
        patterns = short * master.weights[master.knots] <= gap / len(master.weights)
        patterns[: len(solution.patterns)] |= solution.patterns > 1e-7
        patterns[len(solution.patterns) :] = True
        master.keep(starts, patterns)
        # What comes after a deadline must find the use where the columns are now.
        self._solution = replace(
            solution,
            starts=solution.starts[starts[: len(solution.starts)]],
            patterns=solution.patterns[patterns[: len(solution.patterns)]],
        )


def _grids(states: States, knots: Ints, level: int) -> Grids:
    """Return evenly spaced points of tokens held, and of rounds left more of the small ones.

    From level to level the spans of rounds left and of tokens held are halved in turn.
    """
    from formulations.bounds.pattern_master import Grids

    level = min(level, FINEST)
    tokens, left = FIRST_SPANS[0] << level // 2, FIRST_SPANS[1] << (level + 1) // 2
    most_tokens, most_left = int(states.tokens.max()), max(int(states.left.max()), 1)
    return Grids(
        knots,
        np.unique(np.rint(np.linspace(0, most_tokens, tokens + 1)).astype(np.int64)),
        np.unique(np.rint(most_left * np.linspace(0, 1, left + 1) ** 1.5).astype(np.int64)),
    )


def rounded_table(instance: Instance, states: States, grids: Grids, prices: Floats) -> PriceTable:
    """Return prices in the grids' shape as fractions of a denominator safe for 64 bits.

    The largest numbers are the interpolations: a price times the area of a cell of the grid of
    states, and what a pattern pays times the rounds between two knots.

    Raises
    ------
    ValueError
        If a price is not finite.
    OverflowError
        If the prices are too large for exact 64-bit arithmetic.
    """
    floats = np.maximum(prices, 0.0)
    if not np.all(np.isfinite(floats)):
        raise ValueError("expected finite prices")
    span = int(np.diff(grids.knots).max())
    cell = int(np.diff(grids.tokens).max()) * int(np.diff(grids.left).max())
    # A pattern and a run pay at most so many times the highest price.
    payers = max(states.most, int(instance.outputs.max()))
    rounds = int(grids.knots[-1] + instance.arrivals.max() + instance.outputs.max()) + 1
    largest = float(floats.max(initial=0.0)) + 1
    factor = largest * (max(span, 4) * payers + 4 * cell) + rounds
    denominator = largest_denominator(lambda trial: factor * trial < SAFE / 2, 1 << 24)
    if denominator is None:
        raise OverflowError("prices are too large for exact 64-bit arithmetic")
    numerators = np.rint(floats * denominator).astype(np.int64)
    return PriceTable(grids.knots, grids.tokens, grids.left, numerators, denominator)


FORMULATION = ComputedBound(
    name="bound-patterns", compute=compute_bound, size=model_size, options=Options
)
