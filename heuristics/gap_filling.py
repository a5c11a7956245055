"""Kernels that start requests in the first gap that memory has, whoever starts before or after.

Source: ours; forward justification, as in Valls, Ballestín and Quintanilla 2005.

Tokens held are kept by time in 32 bits (none exceeds 10⁹), with the least of each block of
``BLOCK`` times, so that where memory is full a search for a gap goes on block by block.
"""

import numpy as np

from heuristics.kernel_compiler import filling_kernel

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
    """Return the first time from one on with at most so many tokens held; there is one."""
    held, least = profile
    while held[time] > most:
        block = time // BLOCK
        time = (block + 1) * BLOCK if least[block] > most else time + 1
    return time


@filling_kernel
def gap_from(profile, start, prompt, output, memory):
    """Return the first round from ``start`` on at which a request fits; there is one."""
    while True:
        start = first_below(profile, start + 1, memory - prompt - 1) - 1
        later = misfit(profile[0], start, prompt, output, memory)
        if later == 0:
            return start
        start += later


@filling_kernel
def shift_left(columns, memory, by_start, starts, profile):
    """Start each request as early as all others let it; ``starts`` by request, changed in place.

    ``profile`` has the tokens held by time and the least of each block, 0 so far (32 bits).
    """
    arrivals, prompts, outputs = columns
    for request in by_start:
        refill(profile, starts[request], prompts[request], outputs[request], 1)
    for request in by_start:
        prompt, output = prompts[request], outputs[request]
        refill(profile, starts[request], prompt, output, -1)
        starts[request] = gap_from(profile, arrivals[request], prompt, output, memory)
        refill(profile, starts[request], prompt, output, 1)
