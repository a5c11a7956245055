"""Forward search over sets of started requests: dominance, multipliers, growing width.

A state before round t is the set S of requests started before t, their starts, and the tokens
that they hold from t on.  A pass decides which requests start at t for all states, for
t = 0, 1, ...  Where a layer has more states than the width, those of largest bound are lost; the
least of these bounds is the bound of the pass, and with nothing lost its schedule is optimal.

*Prices* and *groups* are the caller's: they make ``costs``.  Only the prices are taken from
there, at a scale at which every bound is exact in 64 bits (``_tables.scaled_prices``).

Proof: docs/proofs/forward.md (P6).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from formulations.lagrangian.starts import StartCosts
from formulations.search._tables import (
    CUTS_UP_TO,
    NONE,
    CompletionBounds,
    Ints,
    PatternPrices,
    no_bounds,
    no_patterns,
    pattern_tables,
    price_tables,
    scaled_prices,
    window_arrays,
)
from formulations.search.exact_search import ExactSearch
from formulations.valid.groups import WindowGroup
from formulations.valid.windows import Windows
from instances import Instance
from schedules.evidence import Argument

__all__ = ["REQUESTS_UP_TO", "WIDTHS", "Options", "Pass", "PatternPrices", "model_size", "search"]

#: States kept per round in successive passes; the first passes look for good schedules.
WIDTHS = (300, 5_000, 60_000, 600_000, 3_000_000, 12_000_000)
#: Sets of started requests are the bits of one word.
REQUESTS_UP_TO = 63
#: A table entry goes with the one of a matrix, of the LP that is solved for prices.
ENTRY_BYTES = 400


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
    prices: Annotated[bool, "bound states by the LP's multipliers, else by latencies alone"] = True
    groups: Annotated[bool, "multipliers on clique inequalities beside those on memory"] = True
    patterns: Annotated[
        bool, "multipliers on what a request holds and has left, once passes take long"
    ] = True
    compare: Annotated[int, "states that one state is compared with for dominance"] = 64


class Rules(NamedTuple):
    """What the kernels go by in one pass: M (tokens), states kept, and the rules that are on."""

    memory: int
    width: int
    compare: int
    shift: bool
    dominance: bool
    merge: bool
    equal: bool
    patterns: bool
    completion: bool


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
    completion: CompletionBounds | None = None,
    widths: tuple[int, ...] = WIDTHS,
    memory_bytes: float = 2e9,
) -> None:
    """Search in passes of growing width and report each; ends when one pass proves the optimum.

    ``completion`` are bounds of every schedule below the TEL of the incumbent (P15).  Rounds go up
    to the last start of ``windows``.  Passes whose layers may need more than
    ``memory_bytes`` are left out.

    Raises
    ------
    ValueError
        If there are more than 63 requests.
    """
    n = len(instance)
    if n > REQUESTS_UP_TO:
        raise ValueError(f"expected at most {REQUESTS_UP_TO} requests, found {n}")
    tel, starts = incumbent
    last = max(windows.latest)
    tables, with_patterns = _tables(instance, windows, groups, costs, tel, patterns)
    tables = (*tables, tuple(completion or no_bounds()))
    best = np.array([tel], dtype=np.int64)
    # Half the memory where the numbers are small enough.
    largest = max(instance.memory, windows.horizon, *starts)
    word = next(kind for kind in (np.int16, np.int32, np.int64) if largest <= np.iinfo(kind).max)
    best_starts = np.array(starts, dtype=word)
    reach = max(request.output for request in instance.requests) + 2
    options = options or Options()
    for width in widths:
        size = 2 * width * (64 + 32 + 2 * np.dtype(word).itemsize * (n + reach))
        # Beside the layers, the tokens of one state after each start.
        if size + 8 * (n + 1) * reach > memory_bytes:
            return
        rules = Rules(
            instance.memory,
            width,
            options.compare,
            options.shift,
            options.dominance,
            options.merge,
            options.equal,
            with_patterns,
            completion is not None,
        )
        found = _pass(tables, rules, last, (best, best_starts), reach, out_of_time)
        if found is not None:
            on_pass(found)
        if found is None or found.complete:
            return


def _tables(
    instance: Instance,
    windows: Windows,
    groups: list[WindowGroup],
    costs: StartCosts,
    tel: int,
    patterns: PatternPrices | None,
) -> tuple[tuple[Any, ...], bool]:
    """Return what the kernels read, and whether prices on patterns are among it."""
    n, last = len(instance), max(windows.latest)
    prices = scaled_prices(instance, groups, costs, last, tel)
    widest = CUTS_UP_TO // max(1, n * (last + 2) * len(groups))
    own = window_arrays(n, groups, max(widest, 1))
    of_patterns = pattern_tables(instance, patterns, prices, windows.latest, tel)
    tables = (
        (instance.arrivals, instance.prompts, instance.outputs, *own),
        price_tables(instance, groups, prices, windows.latest, tel, own),
        of_patterns or no_patterns(),
    )
    return tables, of_patterns is not None


def _pass(
    tables: tuple[Any, ...],
    rules: Rules,
    last: int,
    incumbent: tuple[Ints, NDArray[Any]],
    reach: int,
    out_of_time: Callable[[], bool],
) -> Pass | None:
    """Return what one pass over the rounds 0..last finds; None if time runs out.

    ``incumbent`` are the TEL and the starts of the best schedule, which are improved in place.
    """
    from formulations.search import _kernels  # loads the compiler

    best, best_starts = incumbent
    lost, width = np.array([NONE], dtype=np.int64), rules.width
    n = len(best_starts)
    layers = [_layer(2 * width, n, reach, best_starts.dtype) for _ in range(2)]
    table = np.empty(1 << (4 * width).bit_length(), dtype=np.int64)
    for array in layers[0]:
        array[:1] = 0
    count, total = 1, 0
    for t in range(last + 1):
        if out_of_time():
            return None
        count = _kernels.advance(
            t, layers[0], count, layers[1], table, *tables, rules, best, best_starts, lost
        )
        layers.reverse()
        total += count
        if count == 0:
            break
    tel = bound = int(best[0])
    if lost[0] < NONE:
        bound = min(bound, -(-int(lost[0]) // tables[1][-1]))
    return Pass(tel, best_starts.tolist(), bound, width, total, bound == tel)


def _layer(states: int, n: int, reach: int, word: np.dtype[Any]) -> tuple[NDArray[Any], ...]:
    return (
        np.empty(states, np.uint64),
        np.empty(states, np.uint64),
        np.empty(states, np.int64),
        np.empty(states, np.int64),
        np.empty((states, n), word),
        np.empty((states, reach), word),
    )


FORMULATION = ExactSearch(
    name="layers",
    search=search,
    size=model_size,
    entry_bytes=ENTRY_BYTES,
    widths=WIDTHS,
    requests_up_to=REQUESTS_UP_TO,
    argument=Argument.FORWARD_SETS,
    options=Options,
)
