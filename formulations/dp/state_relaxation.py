"""State-space relaxation: backward dynamic programming with dominance, under multipliers.

    a completion of kind g costs v_g more; a kind may run more often than the instance has it
    from the last time back: every base with every choice of completions, as in ``backward``
    of a level keep the bases that no other one dominates
    least path − Σ_g count_g·v_g ≤ the slack of every schedule: a bound for any v ∈ Zᵏ

It is the oracle of the Lagrangian of "each request once".  Source: ours; proof:
docs/proofs/dominance.md (P5).

*Window.*  To prove that no TEL is up to V, the sweep drops labels beyond w(V) + Σ_g count_g·v_g
less the least payment to come: completions at t or before cost start slack and v_g, count_g times
for a kind g whose starts within the window all complete by t, else not at all where that is above
0 or none completes by t.  The bound holds for every schedule.  Where paths are left, the least of
them is the bound: the sweep may drop paths that are no schedules.
"""

from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np

from formulations.dp.backward_sweep import (
    Most,
    OnLevel,
    SearchLimits,
    SweepResult,
    last_time,
    sweep,
)
from formulations.dp.dominance import dominance
from formulations.dp.priced_network import SAFE, Ints, PricedNetwork, TooLargeError, rules
from formulations.dp.sweep_paths import SweepPaths


@dataclass(frozen=True)
class SearchTuning:
    """Shares of time in the search for multipliers; measured on am1, am2 and uniform draws."""

    beam: Annotated[int, "bases of a level that beams follow at first"] = 200
    widest_beam: Annotated[int, "and at most, before windows are exact"] = 6_400
    beam_share: Annotated[
        float, "share of the time for beams, which show the way and prove no bound"
    ] = 0.2
    begin_share: Annotated[
        float, "share of the time after which beams without a path are given up"
    ] = 0.3
    first_way: Annotated[
        float, "share of the way to the expected bound of the first exact window"
    ] = 0.25
    first_share: Annotated[float, "share of the time left that the first exact window may take"] = (
        0.4
    )
    promise: Annotated[float, "share of the gap that a step of beams has to promise"] = 0.01
    exact_promise: Annotated[
        float, "and a step of exact windows, which end the search below it"
    ] = 0.0005


@dataclass(frozen=True)
class EvaluatedMultipliers:
    """Value of multipliers within a window.

    No TEL (rounds) is below ``bound``; None where a limit came first, for a ``reason``, or a beam
    left out bases.  ``least`` is the length of the least path less Σ_g count_g·v_g, in units of the
    prices; None where none is within the window.  ``paths`` are the rest, where the sweep kept
    them; ``nodes`` counts the bases made.
    """

    bound: int | None
    least: int | None
    paths: SweepPaths | None
    nodes: int
    reason: str


class StateRelaxation:
    """The relaxation of an instance under prices, for any multipliers and windows below a TEL.

    Raises :class:`TooLargeError`, if there are too many tokens for lanes, too.
    """

    def __init__(self, network: PricedNetwork, below: int) -> None:
        found = rules(network, network.window(below - 1))
        self.network = network
        self._width = found.memory // (1 + int(network.kinds.prompts.min()))
        counts = np.full(len(network.kinds.counts), self._width + 1)
        compared = dominance(found)
        if compared is None or found.behind.shape[2] <= found.memory:
            raise TooLargeError("the memory is too large for dominance between bases")
        self._rules, self.dominance = found._replace(counts=counts), compared
        #: What the tokens of a start pay in all, shape (starts, kinds).
        done = np.arange(len(found.dear))[:, None] + found.outputs
        self._paid = compared.owed[np.minimum(done, len(compared.owed) - 1), found.last]
        # Where each kind completes within the widest window, at first and at last.
        ends = [np.flatnonzero(row <= found.window) for row in found.dear.T]
        self._first = np.array([each[0] for each in ends]) + found.outputs
        self._last = np.array([each[-1] for each in ends]) + found.outputs
        # Multipliers up to which no sum on a path exceeds 64 bits.
        most = int(self._last.max() + 1) * (self._width + len(network.instance) + 1)
        self.farthest = SAFE // (8 * most)

    def evaluate(
        self,
        multipliers: Ints,
        target: int,
        limits: SearchLimits,
        beam: int | None = None,
        most: Most | None = None,
    ) -> EvaluatedMultipliers:
        """Return the bound up to a TEL (rounds) with multipliers in units of the prices.

        A beam follows so many bases of a level and proves nothing: its paths are some of all.  The
        window narrows until a level has at most as many bases as ``most`` allows.
        """
        swept = self._swept(multipliers, target, limits, keep=True, beam=beam, most=most)
        least, bound, unit = None, None, self.network.unit
        if swept.closed:
            bound = (target * unit - swept.narrowed) // unit + 1
        elif not swept.reason:
            assert swept.least is not None
            least = swept.least - int(multipliers @ self.network.kinds.counts)
            bound = -(-(self.network.total + least) // unit)
        proved = bound if beam is None else None
        return EvaluatedMultipliers(proved, least, swept.paths, swept.nodes, swept.reason)

    def sweep(
        self, multipliers: Ints, target: int, limits: SearchLimits, on_level: OnLevel
    ) -> SweepResult:
        """Evaluate without arcs; ``on_level`` receives the bases at each time."""
        return self._swept(multipliers, target, limits, keep=False, on_level=on_level)

    def _swept(
        self, multipliers: Ints, target: int, limits: SearchLimits, **more: Any
    ) -> SweepResult:
        if int(np.abs(multipliers).max(initial=0)) > self.farthest:
            raise ValueError("the multipliers are too large for exact 64-bit arithmetic")
        window, counts = self.network.window(target), self.network.kinds.counts
        limit = window + int(multipliers @ counts) - self._still(multipliers)
        rules = self._rules._replace(window=window, tolls=multipliers, limits=limit)
        more |= {"dominance": self.dominance, "last": last_time(rules)}
        # A completion that costs no less than it pays leaves a dominated base.
        dear = np.where(rules.dear + multipliers < self._paid, rules.dear, window + 1)
        return sweep(rules._replace(dear=dear), self._width, limits, **more)

    def _still(self, multipliers: Ints) -> Ints:
        """Return the least cost of completions at times 0, 1, ... or before."""
        still = np.zeros(int(self._last.max()) + 1, dtype=np.int64)
        counts, dear = self.network.kinds.counts.tolist(), self._rules.dear
        for g, (count, each) in enumerate(zip(counts, multipliers.tolist(), strict=True)):
            first, last = int(self._first[g]), int(self._last[g])
            start = first - int(self._rules.outputs[g])
            least = np.minimum.accumulate(dear[start:, g])[: len(still) - first]
            # The last time may lie beyond the starts.
            cost = np.full(len(still) - first, each + least[-1])
            cost[: len(least)] = each + least
            cost[: last - first] = np.minimum(cost[: last - first], 0)
            still[first:] += count * cost
        return still
