"""Compiled parts of kernels that make arrays: longer ones, and places in order.

numba's functions and assignments of slices take seconds to compile, anew for each type.
"""

import numpy as np

from support.kernel_cache import compile_filling_part, compile_part


@compile_part()
def longer(array):
    """Return the same with as many empty rows behind it, which take no memory yet."""
    grown = np.empty(2 * len(array), array.dtype)
    for x in range(len(array)):
        grown[x] = array[x]
    return grown


@compile_part()
def more_rows(array):
    """Return the same of a table."""
    grown = np.empty((2 * len(array), array.shape[1]), array.dtype)
    for x in range(len(array)):
        for y in range(array.shape[1]):
            grown[x, y] = array[x, y]
    return grown


@compile_part()
def in_order(count):
    """Return the places 0, 1, ... of so many rows."""
    places = np.empty(count, np.int64)
    for k in range(count):
        places[k] = k
    return places


@compile_part()
def nowhere(count):
    """Return −1 for so many rows, whose place is not known."""
    places = np.empty(count, np.int32)
    for k in range(count):
        places[k] = -1
    return places


@compile_part()
def ordered(first, second):
    """Return the places of rows in the order of ``first``, then of ``second``; a merge sort."""
    count, width = len(first), 1
    order, merged = in_order(count), np.empty(count, np.int64)
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


@compile_filling_part()
def first_at_least(array, value):
    """Return the place of the first number of a sorted array that is no less than a value."""
    low, high = 0, len(array)
    while low < high:
        middle = (low + high) // 2
        if array[middle] < value:
            low = middle + 1
        else:
            high = middle
    return low
