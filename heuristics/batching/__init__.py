"""Phase 1 of Sorted-F: order requests as a sequence of batches that are good by the metric F.

``F(X) = Σ o / |X|²`` (wang2025 section 3): small for many requests with short outputs.  Each file
holds one way to choose the next batch; what they share is here.  A batch is bounded by the sum of
its peaks ≤ M (wang2025 Alg. 2-4), except in the true Alg. 1.
"""

from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import NDArray

from heuristics.policy import Ints, Known

Mask = NDArray[np.bool_]


def batches(known: Known, line: Ints, choose: Callable[[Ints], Mask]) -> Iterator[Ints]:
    """Yield batch by batch, each by nondecreasing output and chosen when asked for (W Alg. 1).

    ``choose`` sees the remaining positions in the order of ``line``, shape (k,), and returns which
    of them form the next batch, shape (k,); never none of them.
    """
    outputs = known.outputs
    while len(line):
        chosen = choose(line)
        batch = line[chosen]
        yield batch[np.lexsort((batch, known.arrivals[batch], outputs[batch]))]
        line = line[~chosen]
