"""Ranges in which 64-bit integers are exact: one argument for all priced costs, and their scales.

*The argument.*  Prices are numerators over one denominator D.  Let no start, completion or priced
time exceed E rounds, no request hold more than K tokens, and let the numerators sum to Λ on memory
and to Μ on window groups.  A start p of a request (s, o) costs

    D·(p + o − a) + (s − p)·(S[p + o] − S[p]) + (R[p + o] − R[p]) + windows,

with S and R the prefix sums of λ_t and t·λ_t.  No number on the way, in whatever order it is
added up, is larger in size than D·E + (K + E)·Λ + E·Λ + E·Λ + Μ ≤ :func:`run_cost`: the latency,
the product, both ends of R, and the windows.  Sums over n requests are n times that, and what the
memory is worth is M·Λ.  Who keeps these below :data:`SAFE` in Python's integers, which do not
overflow, may compute in 64 bits: the factor of four to 2⁶³ is room for one more addition.

*Prices on states.*  A price is at most Π, and is interpolated in a cell of Δ_w tokens by Δ_r rounds
left: four products of a price and two distances, at most 4·Π·Δ_w·Δ_r together.  What a run or a
pattern of at most P payers pays is at most P·Π, and P·Π·Δ_t where it is interpolated between knots
Δ_t rounds apart.  With the latency that is at most D times :func:`state_cost`.

D is a power of two, at most 2⁴⁰, and prices are rounded to it after it is chosen; any prices ≥ 0
certify a bound, so a small D costs quality, never validity.  Where not even D = 1 is safe, prices
of 0 are: their costs are latencies, at most 10¹² + n·10⁹ rounds each by the limits of
``instances.instance``, and n = 10⁶ of them stay below 10²², which only Python's integers hold; so
sums over all requests are taken by them or by :func:`exact_sum`.
"""

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

#: Integers below this leave room for one addition in 64 bits.
SAFE = 1 << 61
#: Bits of the largest denominator.
_BITS = 40


def run_cost(denominator: int, rounds: int, tokens: int, memory: float, groups: float = 0) -> float:
    """Return a bound on every number on the way to the cost of one start; see the module.

    An integer if ``memory`` and ``groups``, the sums of the numerators, are integers.
    """
    return denominator * rounds + memory * (tokens + 3 * rounds) + groups


def lookahead_cost(
    memory: int, peak: int, rounds: int, share: int, weight: int, times: int, price: int, last: int
) -> int:
    """Return a bound on all payments of one run in a look-ahead row, and on a + b·j.

    The row has a price of at most Π (``price``), on an M-th of a token, at T times (``times``) in a
    row, and κ is K M-ths (``weight``).  A request of at most K' tokens and rounds pays no more than
    P = M·(K' + ℓ) M-ths in a round, so no more than P·T·Π in the row.  In its j-th round it pays 0
    or a + b·j with |b| ≤ B = M + c·ℓ + K and |a| ≤ P + B·(K' + ℓ).  Prices that add up to at most
    M·T·Π up to time t (``last``), one on tokens and ℓ times that on rounds, pay that at least, and
    no number on the way exceeds M·T·Π·(K' + ℓ + 3·(t + 1)), as in :func:`run_cost`.

    Prefix sums of prices and their products may exceed 64 bits: sums, differences and products of
    words are right but for a multiple of 2⁶⁴, and so is what comes of them, which is small.
    """
    most = memory * (peak + rounds)
    slope = memory + share * rounds + weight
    return times * price * (most + 3 * memory * (last + 1)) + most + 2 * slope * (peak + rounds)


def state_cost(rounds: int, price: float, payers: int, widest: Sequence[int]) -> float:
    """Return a bound on every number, in rounds, where states are priced; see the module.

    ``widest`` are the largest distances between knots, tokens and rounds left on the grids.
    """
    times, tokens, left = widest
    return price * (max(times, 4) * payers + 4 * tokens * left) + rounds


def largest_denominator(fits: Callable[[int], bool], first: int = 1 << _BITS) -> int | None:
    """Return the largest power of two up to ``first`` that fits; None if not even 1 does."""
    denominator = first
    while denominator and not fits(denominator):
        denominator >>= 1
    return denominator or None


def exact_sum(values: NDArray[np.int64]) -> int:
    """Return the sum as Python's integer; exact for up to 2³¹ values of any size.

    The upper and the lower 32 bits are added up apart, each sum below 2⁶³.
    """
    return (int((values >> 32).sum()) << 32) + int((values & 0xFFFFFFFF).sum())
