"""Forward search over sets of started requests: dominance, multipliers, growing width.

A state before round t is the set S of requests started before t, their starts, and the tokens
that they hold from t on.  One pass of a width:

    layer ← {nothing started}
    for t = 0, 1, ..., last start:
        following ← every state of the layer with every choice of requests that start at t and fit
        drop what is equal and no better, what the bound keeps above the best TEL known,
            what another state dominates
        keep the states of least bound, as many as the width; lost ← least bound of the others
        layer ← following
    bound of the pass ← min(best TEL, lost), so with nothing lost the schedule is optimal

Bounds come from the caller's multipliers on memory, at a scale that is exact in 64 bits
(``state_bounds.scaled_prices``), and from completion bounds (P15), if any.
Proof: docs/proofs/forward.md (P6).
"""

import math
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from formulations.dp.exact_search import ExactSearch
from formulations.dp.priced_network import Ints
from formulations.dp.state_bounds import (
    NONE,
    CompletionBounds,
    no_bounds,
    price_tables,
    scaled_prices,
)
from formulations.dp.state_dominance import StateDominance
from formulations.lagrangian.priced_starts import StartCosts
from formulations.valid.windows import Windows
from instances import Instance
from schedules.evidence import ProofArgument

#: States kept a round in successive passes; the first passes find good schedules.
WIDTHS = (300, 5_000, 60_000, 600_000, 3_000_000, 12_000_000)
#: Sets of started requests are the bits of one word.
REQUESTS_UP_TO = 63
#: Comparing states takes ten times as long as making them.  It follows such a growth of a layer, so
#: many times its states made, or a full layer if it last dropped such a share.
GROWN, MADE, DROPPED = 4.0, 100.0, 1 / 3
#: Factor of the width at which a layer is full; states made between two looks at the clock.
FULL, AT_ONCE = 1.5, 500_000
#: Bytes of a table entry, with a matrix entry of the LP for prices.
ENTRY_BYTES = 400

#: Masks, costs, bounds, starts and tokens of states, one row a state.
Layer = tuple[NDArray[Any], ...]


class PassRules(NamedTuple):
    """Rules of one pass for the kernels: M (tokens), states kept, whether completions bound."""

    memory: int
    width: int
    completion: bool


@dataclass(frozen=True)
class ForwardPass:
    """Result of one pass: TEL and starts of the best schedule, a lower bound, its width."""

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
    costs: StartCosts,
    incumbent: tuple[int, list[int]],
    width: int,
    out_of_time: Callable[[], bool] = lambda: False,
    completion: CompletionBounds | None = None,
    memory_bytes: float = 2e9,
    threads: int = 1,
    known: Callable[[], tuple[int, list[int]] | None] = lambda: None,
    proved: int = 0,
) -> ForwardPass | None:
    """Search in one pass of a width; None if time runs out, or memory has no room for a state.

    ``known`` returns TEL and starts of another process' schedule.  A pass ends once it can prove no
    more than ``proved`` (rounds).  ``completion`` bounds every schedule below the known TEL (P15).
    Starts are at most the last of ``windows``; layers take ``memory_bytes`` at most.

    Raises ValueError if there are more than 63 requests, or the width is below 1.
    """
    n = len(instance)
    if n > REQUESTS_UP_TO:
        raise ValueError(f"expected at most {REQUESTS_UP_TO} requests, found {n}")
    if width < 1:
        raise ValueError(f"expected a width of at least 1, found {width}")
    tel, starts = incumbent
    data = instance.arrivals, instance.prompts, instance.outputs
    prices = scaled_prices(instance, costs, max(windows.latest), tel)
    priced = price_tables(instance, prices, windows.latest, tel)
    tables = data, priced, tuple(completion or no_bounds())
    # Small numbers take half the memory.
    largest = max(instance.memory, windows.horizon, *starts)
    word = next(kind for kind in (np.int16, np.int32, np.int64) if largest <= np.iinfo(kind).max)
    best = np.array([tel], dtype=np.int64), np.array(starts, dtype=word)
    reach = int(instance.outputs.max())
    compared = StateDominance(instance, reach)
    # Next to the layers, the tokens of one state after each start.
    memory_bytes -= 8 * (n + 1) * reach
    row_bytes = np.dtype(word).itemsize * (n + reach)
    width = min(width, int(memory_bytes / (2 * (64 + 24 + 2 * row_bytes) + compared.row_bytes)))
    if width < 1:
        return None
    rules = PassRules(instance.memory, width, completion is not None)
    with ThreadPoolExecutor(threads) as pool:
        run = _Pass(tables, rules, best, reach, compared, pool if threads > 1 else None)
        return run.to(max(windows.latest), out_of_time, known, proved)


class _Pass:
    """One pass; TEL and starts of the best schedule are improved in place."""

    def __init__(
        self,
        tables: tuple[Any, ...],
        rules: PassRules,
        incumbent: tuple[Ints, NDArray[Any]],
        reach: int,
        compared: StateDominance,
        pool: ThreadPoolExecutor | None,
    ) -> None:
        self._tables, self._rules, self._compared, self._pool = tables, rules, compared, pool
        self._best, self._best_starts = incumbent
        self._lost = np.array([NONE], dtype=np.int64)
        # States made since the last comparison, states left then, and the share dropped.
        self._made = self._left = 0
        self._dropped = 1.0
        n, word = len(self._best_starts), self._best_starts.dtype
        self._layers = [_layer(2 * rules.width, n, reach, word) for _ in range(2)]
        self._table = np.zeros((1 << (4 * rules.width).bit_length()) + 1, dtype=np.int64)

    def to(
        self,
        last: int,
        out_of_time: Callable[[], bool],
        known: Callable[[], tuple[int, list[int]] | None],
        proved: int,
    ) -> ForwardPass | None:
        """Return the result of the rounds 0..last; None if time runs out."""
        for array in self._layers[0]:
            array[:1] = 0
        count, total = 1, 0
        for t in range(last + 1):
            self._take(known())
            following = self._advance(t, count, out_of_time)
            if following is None:
                return None
            count, total = following, total + following
            if count == 0 or self._bound() <= proved:
                break
        tel, bound = int(self._best[0]), self._bound()
        starts = self._best_starts.tolist()
        return ForwardPass(tel, starts, bound, self._rules.width, total, bound == tel)

    def _bound(self) -> int:
        """Return the bound of the pass if it loses no more states."""
        tel, lost = int(self._best[0]), int(self._lost[0])
        return min(tel, -(-lost // self._tables[1][-1])) if lost < NONE else tel

    def _take(self, known: tuple[int, list[int]] | None) -> None:
        """Take a better schedule, unless its starts are too large."""
        largest = np.iinfo(self._best_starts.dtype).max
        if known is not None and known[0] < self._best[0] and max(known[1]) <= largest:
            self._best[0], self._best_starts[:] = known

    def _advance(self, t: int, count: int, out_of_time: Callable[[], bool]) -> int | None:
        """Fill the layer after round t; return its number of states, at most the width."""
        from formulations.dp import state_kernels  # loads the compiler

        now, following = self._layers
        full = math.ceil(FULL * self._rules.width)
        self._table[-1] += state_kernels.NEXT_LAYER
        made = state = 0
        self._dropped = 1.0
        while state < count:
            if out_of_time():
                return None
            made, state = state_kernels.advance(
                t, now, count, state, following, made, min(made + AT_ONCE, full), self._table,
                *self._tables, self._rules, self._best, self._best_starts, self._lost,
            )  # fmt: skip
            if state == count or made >= full:
                made = self._thinned(t + 1, made, out_of_time)
        self._layers.reverse()
        return made

    def _thinned(self, t: int, made: int, out_of_time: Callable[[], bool]) -> int:
        """Drop states of the following layer, dominated ones or beyond the width."""
        from formulations.dp import state_kernels  # loads the compiler

        following = self._layers[1]
        self._made += made
        full = made > self._rules.width and self._dropped > DROPPED
        if full or made > GROWN * self._left or self._made > MADE * made:
            alive = self._compared.undominated(t, following, made, self._pool, out_of_time)
            self._left = state_kernels.keep(following, made, self._table, alive)
            self._dropped = 1 - self._left / max(made, 1)
            made, self._made = self._left, 0
        if made > self._rules.width:
            made = state_kernels.shrink(following, made, self._table, self._rules.width, self._lost)
        return made


def _layer(states: int, n: int, reach: int, word: np.dtype[Any]) -> Layer:
    return (
        np.empty(states, np.uint64),
        np.empty(states, np.int64),
        np.empty(states, np.int64),
        np.empty((states, n), word),
        np.empty((states, reach), word),
    )


FORMULATION = ExactSearch(
    name="layers",
    size=model_size,
    entry_bytes=ENTRY_BYTES,
    requests_up_to=REQUESTS_UP_TO,
    argument=ProofArgument.FORWARD_SETS,
)
