"""Phase 1 of Sorted-F: order requests as a sequence of batches that are good by the metric F.

``F(X) = Σ o / |X|²`` (wang2025 section 3): small for many requests with short outputs.  Each file
holds one way to choose the next batch; what they share is here.  A batch is bounded by the sum of
its peaks ≤ M (wang2025 Alg. 2-4), except in the true Alg. 1.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from heuristics.policy import Ints, Known

Mask = NDArray[np.bool_]


@dataclass(frozen=True)
class Pool:
    """The requests to be put into batches, as arrays of shape (n,)."""

    #: M, tokens.
    memory: int
    #: Rounds (or seconds); they break ties only.
    arrivals: NDArray[Any]
    #: Tokens; the outputs are true for a clairvoyant policy and estimates for any other.
    prompts: Ints
    outputs: Ints

    @classmethod
    def of(cls, known: Known, outputs: Ints | None = None) -> Pool:
        """Return what is known of the requests, with true outputs unless others are given."""
        outputs = known.outputs if outputs is None else outputs
        return cls(known.memory, known.arrivals, known.prompts, outputs)

    @property
    def peaks(self) -> Ints:
        """Return s + o of each request (tokens)."""
        return self.prompts + self.outputs

    def sorted_by(self, *keys: NDArray[Any]) -> Ints:
        """Return all positions by keys, ties by arrival, then by position."""
        columns = (*keys, self.arrivals, np.arange(len(self.prompts)))
        return np.lexsort(columns[::-1]).astype(np.int64)


def batches(pool: Pool, line: Ints, choose: Callable[[Ints], Mask]) -> Iterator[Ints]:
    """Yield batch by batch, each by nondecreasing output and chosen when asked for (W Alg. 1).

    ``choose`` sees the remaining positions in the order of ``line``, shape (k,), and returns which
    of them form the next batch, shape (k,); never none of them.
    """
    while len(line):
        chosen = choose(line)
        batch = line[chosen]
        keys = (batch, pool.arrivals[batch], pool.outputs[batch])
        yield batch[np.lexsort(keys)]
        line = line[~chosen]
