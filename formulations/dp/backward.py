"""Backward dynamic programming with state-space relaxation: bounds by windows, then the optimum.

    target ← the value of the prices
    until the optimum is found:
        widen the target, so that it has three times as many bases; up to the best TEL known once
            that seems short enough
        sweep: from the last time back, every base with every choice of requests that complete,
            unless the slack so far and the least to come exceed the window (``levels``)
        no base is left: no schedule has a TEL up to the target, which is a bound
        paths are left: multipliers on "each request once", arcs fixed; then nodes split by the
            completions of some kinds, until the best path is a schedule (``paths``)

Source: ours; fixing and sublimation as tanaka2009 has them for one machine.  ``network`` refuses
prices and windows for which a sum could exceed 2⁶⁰.  Proof: docs/proofs/backward.md (P4).
"""

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import accumulate
from typing import Annotated

import numpy as np

from formulations.dp.backward_sweep import SearchLimits, sweep
from formulations.dp.exact_search import ExactSearch
from formulations.dp.priced_network import Ints, PricedNetwork, RequestKinds, kinds_of, rules
from formulations.dp.state_relaxation import SearchTuning
from formulations.dp.sweep_paths import SweepPaths, entries, improved, priced, split, starts_of
from formulations.valid.windows import Windows
from instances import Instance
from schedules.evidence import ProofArgument

#: Requests up to which windows are swept.
REQUESTS_UP_TO = 10_000
#: Kinds counted at once have fewer combinations than this, since one word counts all of them.
COMBINATIONS = 1 << 60
#: Width of the first window as a share of the value, and growth of the next one's nodes.
FIRST_WINDOW, GROWTH = 0.0025, 3.0
#: Share of the time left for the next window, and the least growth of nodes for which it is tried.
FILL, LEAST_GROWTH = 0.7, 1.2
#: Growth of nodes with each percent of the value, before any measurement.
PERCENT = 6.0
#: A share r of the gap left makes the nodes of the last window 2 ** (first · r ** second) times as
#: many.  Measured on am1, n = 12 to 20; for more of the gap than ``LAST_FROM`` it is too low.
LAST_WINDOW, LAST_FROM = (13.0, 1.6), 0.62
#: The last window ends after so many times its expected time, any other one after so many times the
#: time left when it began, or as many seconds.
GIVEN_UP_AFTER, OTHERS_AFTER = 1.5, 3.0
#: Arcs, and times the arcs of a window, up to which all of it is split at once; else its parts are
#: settled one after the other.
AT_ONCE, AT_ONCE_TIMES = 1_000_000, 4
PARTS = (0.0, 0.06, 0.12, 0.25, 0.5, 1.0)
#: Bytes of an arc while nodes are split; of a table's entry, measured on n = 100 to 200: 22 to 28.
SPLIT_BYTES, ENTRY_BYTES = 100, 32


@dataclass(frozen=True)
class SweepOptions(SearchTuning):
    """Options: multipliers on requests, and the shares of prices and windows in the time."""

    multipliers: Annotated[
        bool, "multipliers on each request, by dominance, once there are prices"
    ] = False
    prices_share: Annotated[float, "share of the time after which prices stay as they are"] = 0.65
    windows_share: Annotated[float, "seconds of windows for each second of their prices"] = 0.25
    last_times: Annotated[float, "seconds of the last window for each second of all prices"] = 5.0
    last_share: Annotated[float, "share of the time left that the last window may take"] = 0.4
    ascent_from: Annotated[float, "share of the time before multipliers follow prices"] = 0.15
    ascent_until: Annotated[float, "share of the time after which they do at once"] = 0.5
    gain: Annotated[float, "share of the gap below which two turns of prices gain too little"] = (
        0.015
    )


@dataclass(frozen=True)
class TelWindowResult:
    """Result of one window.

    It is settled up to the TEL ``target`` (rounds), which a limit lowers.  No TEL is below
    ``bound``; ``starts`` is an optimal schedule, where the window holds one.  ``nodes`` counts the
    sweep's bases; ``multipliers`` of each kind, in units of the prices, close what the sweep left.
    """

    target: int
    bound: int
    starts: list[int] | None
    nodes: int
    multipliers: Ints | None


def search(
    network: PricedNetwork,
    *,
    bound: int,
    below: int,
    limits: SearchLimits,
    on_step: Callable[[TelWindowResult], None],
    seconds: Callable[[], float] = lambda: math.inf,
    last_seconds: float = math.inf,
) -> bool:
    """Sweep window after window, from a proved bound on, and report each closed one.

    Returns True with an optimal schedule, or if no TEL is below ``below``; False at its limits, or
    where each wider window is expected to take more than ``seconds()``.  The window up to
    ``below`` − 1 follows once it is expected to take no more than ``last_seconds``; if it takes far
    longer, windows grow in steps again.
    """
    step = max(1, int(FIRST_WINDOW * network.bound))
    target = max(bound, network.bound) - 1 + step
    before: tuple[int, int] | None = None
    within, last = limits, False
    while bound < below:
        target = min(max(target, bound), below - 1)
        began = time.monotonic()
        if not last:
            within = limits.until(began + OTHERS_AFTER * max(seconds(), 1.0))
        found = _window(network, target, within)
        if found is not None:
            on_step(found)
            bound = max(bound, found.bound)
        if found is None or found.target < target:
            if not last or before is None or limits.out_of_time():
                return False
            last, last_seconds, target = False, 0.0, max(before[0], bound - 1) + step
            continue
        if found.starts is not None or bound >= below:
            return True
        took = time.monotonic() - began
        growth = min(GROWTH, FILL * seconds() / max(took, 1e-9))
        step = _next_step(step, before, (target, found.nodes), growth, network.bound)
        before = (target, found.nodes)
        factor = _last_factor(network, target, below)
        if factor < math.inf and took * factor <= last_seconds:
            target, last = below - 1, True
            # Few last windows close without multipliers, which need the arcs.
            end = time.monotonic() + GIVEN_UP_AFTER * last_seconds
            within = replace(limits.until(end), needed=True)
            continue
        target += step
        if growth < LEAST_GROWTH or limits.out_of_time():
            return False
    return True


def _last_factor(network: PricedNetwork, target: int, below: int) -> float:
    """Return the last window's nodes over a window's nodes, at most."""
    factor, power = LAST_WINDOW
    left = (below - 1 - target) / max(below - 1 - network.bound, 1)
    return math.inf if left > LAST_FROM else float(2.0 ** (factor * left**power))


def _next_step(
    step: int, before: tuple[int, int] | None, now: tuple[int, int], growth: float, value: int
) -> int:
    """Return by how many rounds to widen the window for about this growth of nodes."""
    if before is None or now[1] <= before[1] or now[0] <= before[0]:
        slope = 100 * math.log(PERCENT) / max(value, 1)
    else:
        slope = math.log(now[1] / max(before[1], 1)) / (now[0] - before[0])
    return max(1, min(2 * step, int(math.log(max(growth, LEAST_GROWTH)) / slope)))


def _window(network: PricedNetwork, target: int, limits: SearchLimits) -> TelWindowResult | None:
    """Return what the window up to a TEL proves; None where a limit came first."""
    window = network.window(target)
    if window < 0:
        return TelWindowResult(target, target + 1, None, 0, None)
    least = 1 + min(request.prompt for request in network.instance.requests)
    at_once = min(len(network.instance), network.instance.memory // least)
    swept = sweep(rules(network, window), at_once, limits, keep=True)
    if swept.closed:
        return TelWindowResult(target, target + 1, None, swept.nodes, None)
    if swept.paths is None:
        return None
    return _finish(network, target, swept.paths, swept.nodes, limits)


def _finish(
    network: PricedNetwork, target: int, paths: SweepPaths, nodes: int, limits: SearchLimits
) -> TelWindowResult:
    """Return the result of a window with paths left.

    Where they split into many, narrower windows come first: an optimum far below the target costs
    little then.
    """
    counts = network.kinds.counts
    first = np.zeros(len(counts), dtype=np.int64)
    paths, multipliers, value = improved(
        paths, first, counts, network.window(target), limits.out_of_time
    )
    if value is None:
        return TelWindowResult(target, target + 1, None, nodes, multipliers)
    # No schedule has a lower TEL.
    least = -(-(network.total + value) // network.unit)
    settled = least - 1
    most = int(limits.memory_bytes / SPLIT_BYTES)
    few = min(most, AT_ONCE + AT_ONCE_TIMES * len(paths))
    for part, arcs in ((1.0, few), *((part, most) for part in PARTS)):
        inner = least + int((target - least) * part)
        if inner <= settled:
            continue
        found = _inside(network, inner, paths, multipliers, arcs, limits)
        if found is None and arcs == few and few < most and not limits.out_of_time():
            continue
        if found is None:
            break
        tel, starts, own = found
        if starts is not None:
            return TelWindowResult(target, tel, starts, nodes, own)
        settled, multipliers = inner, own
    return TelWindowResult(settled, settled + 1, None, nodes, multipliers)


def _inside(
    network: PricedNetwork,
    target: int,
    paths: SweepPaths,
    multipliers: Ints,
    most: int,
    limits: SearchLimits,
) -> tuple[int, list[int] | None, Ints] | None:
    """Return the least TEL up to a target on these paths and its starts, or target + 1 and None.

    The third is the multipliers before splitting.  None where a limit came first, or splitting
    needs more than ``most`` arcs.
    """
    counts, window = network.kinds.counts, network.window(target)
    paths, multipliers, value = improved(paths, multipliers, counts, window, limits.out_of_time)
    own = multipliers
    rest = _by_surplus(network.kinds, paths, multipliers) if value is not None else []
    size = len(rest)
    while value is not None:
        size = min(size, _countable(counts[rest]))
        best = priced(paths, multipliers, counts)
        if np.array_equal(entries(paths, best.path, len(counts)), counts):
            # After fixing, the best path may be longer than when the multipliers were found.
            assert best.value is not None
            tel, left = divmod(network.total + best.value, network.unit)
            assert left == 0
            return tel, starts_of(network.kinds, paths, best.path), own
        if limits.out_of_time():
            return None
        finer = split(paths, multipliers, counts, rest[:size], window, most, limits.out_of_time)
        if finer is None:
            if size == 1:
                return None
            size = (size + 1) // 2
            continue
        rest = rest[size:]
        size = max(1, min(size, len(rest)))
        paths, multipliers, value = improved(finer, multipliers, counts, window, limits.out_of_time)
    return target + 1, None, own


def _countable(counts: Ints) -> int:
    """Return how many of these kinds, the first ones, one word counts."""
    combinations = accumulate(counts.tolist(), lambda known, count: known * (count + 1), initial=1)
    return sum(each <= COMBINATIONS for each in combinations) - 1


def _by_surplus(kinds: RequestKinds, paths: SweepPaths, multipliers: Ints) -> list[int]:
    """Return the kinds by the best path's surplus or lack of them."""
    best = priced(paths, multipliers, kinds.counts)
    surplus = np.abs(entries(paths, best.path, len(kinds.counts)) - kinds.counts)
    volumes = kinds.outputs * (2 * kinds.prompts + kinds.outputs + 1)
    order: list[int] = np.lexsort((-volumes, -surplus)).tolist()
    return order


def model_size(instance: Instance, windows: Windows) -> int:
    """Return the number of table entries: one for each token of each kind, and round."""
    return int(kinds_of(instance).outputs.sum()) * (windows.horizon + 2)


FORMULATION = ExactSearch(
    name="sweep",
    size=model_size,
    entry_bytes=ENTRY_BYTES,
    requests_up_to=REQUESTS_UP_TO,
    argument=ProofArgument.BACKWARD,
    options=SweepOptions,
)
