"""Dominance between the states of a layer, whichever requests they have started.

Proof: docs/proofs/forward.md (P6).
"""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
from numpy.typing import NDArray

from formulations.dp.dominance import dropped, in_parts, sorted_places
from formulations.dp.priced_network import Ints
from instances import Instance

#: Bits of a lane, and the most it holds.
LANES = ((8, 127), (16, 32_767), (32, 2_147_483_647))

Layer = tuple[NDArray[Any], ...]


class StateDominance:
    """Arrays that compare states: the requests left, and tokens at ``reach`` later times."""

    def __init__(self, instance: Instance, reach: int) -> None:
        prompts, outputs = instance.prompts, instance.outputs
        order = np.lexsort((-outputs, prompts))
        kinds = np.stack((prompts, outputs), axis=1)[order]
        changes = kinds[1:] != kinds[:-1]
        last = np.append(changes.any(axis=1), True)
        begins = np.append(True, changes[:, 0])
        self._chains = (order, begins, np.where(last, np.cumsum(last) - 1, -1))
        most = max(instance.memory, len(instance))
        self._bits = next(bits for bits, largest in LANES if most <= largest)
        self._words = -(-(int(last.sum()) + reach) * self._bits // 64)

    @property
    def row_bytes(self) -> int:
        """Bytes that comparing takes for each of the width: 1.5 states, five times their lanes."""
        return 8 * 8 * self._words

    def undominated(
        self,
        t: int,
        layer: Layer,
        count: int,
        pool: ThreadPoolExecutor | None,
        out_of_time: Callable[[], bool] = lambda: False,
    ) -> NDArray[np.bool_]:
        """Return which states at t stay: one of them dominates each other state.

        Of two that dominate each other one stays; other dominated states may stay, too.
        """
        from formulations.dp import state_kernels  # loads the compiler

        own, sums = np.empty(count, dtype=np.int64), np.empty(count, dtype=np.int64)
        vectors = np.empty((count, self._words), dtype=np.uint64)

        def fill(low: int, end: int) -> None:
            state_kernels.measure(t, layer, low, end, self._chains, self._bits, own, sums, vectors)

        in_parts(fill, 0, count, pool)
        order: Ints = sorted_places(own, sums)
        vectors = vectors[order]
        alive = np.ones(count, dtype=np.bool_)
        alive[order[dropped(vectors, self._bits, pool, out_of_time)]] = False
        return alive
