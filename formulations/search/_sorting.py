"""A compiled sort of the places of rows, which the searches share."""

from __future__ import annotations

import numpy as np

from support.compiling import part


@part()
def ordered(first, second):
    """Return the places of rows in the order of ``first``, then of ``second``; a merge sort.

    numba's own sorts take seconds to compile, anew for each kind of number.
    """
    count, width = len(first), 1
    order, merged = np.arange(count), np.empty(count, np.int64)
    while width < count:
        for low in range(0, count, 2 * width):
            middle, high = min(low + width, count), min(low + 2 * width, count)
            x, y = low, middle
            for z in range(low, high):
                from_right = x == middle
                if not from_right and y < high:
                    a, b = order[x], order[y]
                    from_right = first[b] < first[a] or (
                        first[b] == first[a] and second[b] < second[a]
                    )
                if from_right:
                    merged[z] = order[y]
                    y += 1
                else:
                    merged[z] = order[x]
                    x += 1
        order, merged = merged, order
        width *= 2
    return order
