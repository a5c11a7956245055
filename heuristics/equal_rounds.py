"""Rounds in which nothing changes but the tokens read, added up at once (integers, picoseconds).

The i-th round takes x_i = first + i · slope picoseconds, rounded up to nanoseconds, one at least.
A long stretch is added by the sum of floors of a line, in as many steps as Euclid's algorithm.
"""

from heuristics.kernel_compiler import kernel


@kernel
def floor_sum(count: int, modulus: int, slope: int, offset: int) -> int:
    """Return the sum of ⌊(slope · i + offset) / modulus⌋ over i = 0..count−1, nothing negative.

    Whole multiples of the modulus are taken out of slope and offset; what is left counts lattice
    points below a line, which are as many with the axes exchanged.
    """
    total = 0
    while count > 0:
        total += count * (count - 1) // 2 * (slope // modulus) + count * (offset // modulus)
        slope %= modulus
        offset %= modulus
        top = slope * count + offset
        count = top // modulus
        offset = top % modulus
        slope, modulus = modulus, slope
    return total


@kernel
def time_of_rounds(first: int, slope: int, count: int) -> int:
    """Return the nanoseconds of so many rounds, the i-th of first + i · slope picoseconds."""
    if count <= 0:
        return 0
    if first > 0:
        return floor_sum(count, 1000, slope, first + 999)
    # The first round would take no time at all, and takes one nanosecond.
    return 1 + (floor_sum(count - 1, 1000, slope, slope + 999) if slope > 0 else count - 1)


@kernel
def pass_rounds(first: int, slope: int, rounds: int, limit: int) -> tuple[int, int]:
    """Return how many of so many rounds pass, and the nanoseconds that they take together.

    The first takes ``first`` picoseconds, each further one ``slope`` more.  No round begins once
    ``limit`` nanoseconds have passed; with a negative limit all pass.
    """
    if limit < 0:
        return rounds, time_of_rounds(first, slope, rounds)
    if slope == 0:
        each = max(1, -(-first // 1000))
        count = min(rounds, -(-limit // each))
        return count, count * each
    # The least number of rounds that takes ``limit`` or more, or all.
    low, high = 0, rounds
    if time_of_rounds(first, slope, rounds - 1) < limit:
        low = rounds
    while low < high:
        middle = (low + high) // 2
        if time_of_rounds(first, slope, middle) < limit:
            low = middle + 1
        else:
            high = middle
    return low, time_of_rounds(first, slope, low)
