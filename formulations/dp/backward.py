"""Backward dynamic programming with state-space relaxation: bounds by windows, then the optimum.

    target ← the value of the prices
    until the optimum is found:
        widen the target, so that three times as many bases are met; up to the best TEL known as
            soon as that seems short enough
        sweep: from the last time back, every base with every choice of requests that complete,
            unless the slack so far and the least to come exceed the window (``levels``)
        no base is left: no schedule has a TEL up to the target, which is a bound
        paths are left: multipliers on "each request once", arcs fixed; then nodes split by how many
            of some kinds have completed, until the best path is a schedule (``paths``)

Source: ours; fixing and sublimation as tanaka2009 has them for one machine.  ``network`` refuses
prices and windows for which a sum could exceed 2⁶⁰.  Proof: docs/proofs/backward.md (P4).
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Annotated

import numpy as np

from formulations.dp.exact_search import ExactSearch
from formulations.dp.levels import Limits, sweep
from formulations.dp.network import Ints, Kinds, Network, kinds_of, rules
from formulations.dp.paths import Paths, entries, improved, priced, split, starts_of
from formulations.dp.relaxation import Tuning
from formulations.valid.windows import Windows
from instances import Instance
from schedules.evidence import Argument

#: Requests up to which windows are swept.
REQUESTS_UP_TO = 10_000
#: Numbers of each kind that have completed stand in one word, so no more kinds are counted at once
#: than have fewer combinations than this.
COMBINATIONS = 1 << 60
#: Share of the value that the first window is wide, and by what the nodes of the next one may grow.
FIRST_WINDOW, GROWTH = 0.0025, 3.0
#: Where less time is left, the next window may be expected to take so much of it; it is not tried
#: if its nodes could not grow by the second factor.
FILL, LEAST_GROWTH = 0.7, 1.2
#: By what nodes grow with each percent of the value, as long as nothing is known of it.
PERCENT = 6.0
#: How the nodes of the last window are estimated from a narrower one: the share r of the gap that
#: is left makes them 2 ** (first · r ** second) times as many.  Measured on am1, n = 12 to 20.
LAST_WINDOW = (13.0, 1.6)
#: Share of the gap that has to be left at most: of a narrower window the estimate is too low.
LAST_FROM = 0.62
#: It is given up after so many times as long as it was allowed to be expected to take, and any
#: other one after so many times what was left when it began, or as many seconds.
GIVEN_UP_AFTER, OTHERS_AFTER = 1.5, 3.0
#: Arcs, and times the arcs of a window, up to which all of it is split at once; else parts of it
#: are settled one after the other.
AT_ONCE, AT_ONCE_TIMES = 1_000_000, 4
PARTS = (0.0, 0.06, 0.12, 0.25, 0.5, 1.0)
#: Bytes that an arc takes while nodes are split by what has completed.
SPLIT_BYTES = 100
#: Bytes that an entry of the tables takes while the network is set up, measured on n = 100 to 200:
#: 22 to 28.
ENTRY_BYTES = 32


@dataclass(frozen=True)
class Options(Tuning):
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
class Step:
    """Result of one window.

    It is settled up to the TEL ``target`` (rounds), less than asked for where a limit came first.
    No TEL is below ``bound``; ``starts`` are those of an optimal schedule, where one lies in it.
    ``nodes`` are the bases that the sweep has met, ``multipliers`` those of each kind, in units of
    the prices, where the sweep alone did not do.
    """

    target: int
    bound: int
    starts: list[int] | None
    nodes: int
    multipliers: Ints | None


def search(
    network: Network,
    *,
    bound: int,
    below: int,
    limits: Limits,
    on_step: Callable[[Step], None],
    seconds: Callable[[], float] = lambda: math.inf,
    last_seconds: float = math.inf,
) -> bool:
    """Sweep window after window, from a proved bound on, and report each that is closed.

    Ends where an optimal schedule has been found, or no TEL is below ``below``: then it returns
    True; or at its limits, or where no wider window is expected to take less than ``seconds()``.
    The window up to ``below`` − 1 is next as soon as it is expected to take no more than
    ``last_seconds``; where it takes far longer, windows grow in steps again.
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
            # It is wider than expected: go on in steps.
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


def _last_factor(network: Network, target: int, below: int) -> float:
    """Return how many times as many nodes as a window the last one may have."""
    factor, power = LAST_WINDOW
    left = (below - 1 - target) / max(below - 1 - network.bound, 1)
    return math.inf if left > LAST_FROM else float(2.0 ** (factor * left**power))


def _next_step(
    step: int, before: tuple[int, int] | None, now: tuple[int, int], growth: float, value: int
) -> int:
    """Return by how many rounds to widen the window, so that nodes grow so many times about."""
    if before is None or now[1] <= before[1] or now[0] <= before[0]:
        slope = 100 * math.log(PERCENT) / max(value, 1)
    else:
        slope = math.log(now[1] / max(before[1], 1)) / (now[0] - before[0])
    return max(1, min(2 * step, int(math.log(max(growth, LEAST_GROWTH)) / slope)))


def _window(network: Network, target: int, limits: Limits) -> Step | None:
    """Return what the window up to a TEL proves; None where a limit came first."""
    window = network.window(target)
    if window < 0:
        return Step(target, target + 1, None, 0, None)
    swept = sweep(rules(network, window), _width(network), limits, keep=True)
    if swept.closed:
        return Step(target, target + 1, None, swept.nodes, None)
    if swept.paths is None:
        return None
    return _finish(network, target, swept.paths, swept.nodes, limits)


def _width(network: Network) -> int:
    """Return how many requests can hold memory at once, at most."""
    least = 1 + min(request.prompt for request in network.instance.requests)
    return min(len(network.instance), network.instance.memory // least)


def _finish(network: Network, target: int, paths: Paths, nodes: int, limits: Limits) -> Step:
    """Return what the paths that a sweep has left come to.

    Where splitting them makes many of them, narrower windows come first, since an optimum far
    below the target costs little then: the paths of a narrower window are among them.
    """
    counts = network.kinds.counts
    first = np.zeros(len(counts), dtype=np.int64)
    paths, multipliers, value = improved(
        paths, first, counts, network.window(target), limits.out_of_time
    )
    if value is None:
        return Step(target, target + 1, None, nodes, multipliers)
    # Of the schedules up to the target none has a lower TEL.
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
            return Step(target, tel, starts, nodes, own)
        settled, multipliers = inner, own
    return Step(settled, settled + 1, None, nodes, multipliers)


def _inside(
    network: Network, target: int, paths: Paths, multipliers: Ints, most: int, limits: Limits
) -> tuple[int, list[int] | None, Ints] | None:
    """Return the least TEL up to a target on these paths and its starts, or target + 1 and None.

    With them the multipliers that the paths had before they were split.  None where a limit came
    first, or splitting would have made more than ``most`` arcs.
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
    """Return how many of these kinds, the first ones, can be counted in one word."""
    combinations = 1
    for position, count in enumerate(counts.tolist()):
        combinations *= count + 1
        if combinations > COMBINATIONS:
            return position
    return len(counts)


def _by_surplus(kinds: Kinds, paths: Paths, multipliers: Ints) -> list[int]:
    """Return the kinds, first those of which the best path has too many or too few."""
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
    argument=Argument.BACKWARD,
    options=Options,
)
