"""Kernels that start requests in the first gap that memory has, whoever starts before or after.

Source: ours; serial schedule generation, as in Kolisch 1996, on a memory that running requests
fill more and more.  Taken in order of their volumes, requests leave fewer gaps than a list does,
whose starts never go back.

The tokens held are kept by time, in 32 bits, which hold them since neither those held nor a peak
exceeds 10⁹; and the least tokens held within each block of ``BLOCK`` times, so that where memory
is full a search for a gap goes on block by block.
"""

from __future__ import annotations

import numpy as np

from heuristics.compiled import filling_kernel

#: Times of one block.
BLOCK = 64


@filling_kernel
def misfit(held, start, prompt, output, memory):
    """Return 0 where a request fits at a round, else after how many rounds it may.

    Where the tokens held at start + j are too many by x, it cannot start before start + min(x, j).
    """
    one = np.int32(1)
    need = np.int32(prompt - memory)
    if held[start + 1] + need + one > 0:
        return one
    run = held[start + 1 : start + output + 1]
    later = np.int32(0)
    for j in range(output):
        need += one
        later = max(later, min(np.int32(run[j] + need), np.int32(j + 1)))
    return later


@filling_kernel
def fill(held, start, prompt, output, sign):
    """Add the tokens of a request to those held, or with sign −1 take them away."""
    run = held[start + 1 : start + output + 1]
    for j in range(output):
        run[j] += np.int32(sign) * np.int32(prompt + 1 + j)


@filling_kernel
def refill(profile, start, prompt, output, sign):
    """Do so where the least of each block is kept."""
    held, least = profile
    fill(held, start, prompt, output, sign)
    for block in range((start + 1) // BLOCK, (start + output) // BLOCK + 1):
        tokens = held[block * BLOCK : (block + 1) * BLOCK]
        lowest = tokens[0]
        for k in range(len(tokens)):
            lowest = min(lowest, tokens[k])
        least[block] = lowest


@filling_kernel
def first_below(profile, time, most):
    """Return the first time from one on with at most so many tokens held; none: past the last."""
    held, least = profile
    while time < len(held):
        block = time // BLOCK
        if least[block] > most:
            time = (block + 1) * BLOCK
        elif held[time] > most:
            time += 1
        else:
            break
    return time


@filling_kernel
def gap_from(profile, start, prompt, output, memory):
    """Return the first round from ``start`` on at which a request fits, −1 where none is kept."""
    held = profile[0]
    while True:
        start = first_below(profile, start + 1, memory - prompt - 1) - 1
        if start + output >= len(held):
            return -1
        later = misfit(held, start, prompt, output, memory)
        if later == 0:
            return start
        start += later


@filling_kernel
def start_early(columns, memory, order, starts, profile):
    """Start each request of an order as early as all others that have a start let it.

    Parameters
    ----------
    starts
        By request, −1 for those that have none yet, shape (n,); changed in place.
    profile : (array of int32, array of int32)
        Tokens held by time, and the least of each block; filled with 0.

    Returns
    -------
    Whether each has found a start within the times that are kept.
    """
    arrivals, prompts, outputs = columns
    for request in order:
        if starts[request] >= 0:
            refill(profile, starts[request], prompts[request], outputs[request], 1)
    for request in order:
        prompt, output = prompts[request], outputs[request]
        if starts[request] >= 0:
            refill(profile, starts[request], prompt, output, -1)
        starts[request] = gap_from(profile, arrivals[request], prompt, output, memory)
        if starts[request] < 0:
            return False
        refill(profile, starts[request], prompt, output, 1)
    return True
