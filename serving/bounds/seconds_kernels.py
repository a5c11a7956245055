"""Compiled kernel of the bound in seconds: machine prices for given values, and their gradients.

It computes in floating point: its results count only after ``serving.bounds.seconds_certificate``
has evaluated them in integers.
"""

import numpy as np

from support.kernel_cache import compile_kernel

#: Newton steps for one machine price, and the relative error at which they end.
_STEPS, _ERROR = 60, 1e-10


@compile_kernel()
def machine_prices(
    numbers, arrivals, order, begins, knots, values, weights, others, loads, held, roots,
    memory, sharing, machine, rounds, tokens, shares, lengths, value_use, weight_use, root_use,
):  # fmt: skip
    """Fill the least machine price at every knot, and the use of the requests that pay there.

    Names are as in ``serving.bounds.seconds_certificate``, times in picoseconds.  ``numbers`` are
    the size of the room, base and least load of a token after the first.  Of shape (n,):
    ``arrivals``, ``others`` (o − 1), ``order`` (by arrival), ``begins`` (the last knot at or before
    the arrival) and ``weights`` (π).  Of shape (K,): ``knots``, ``memory``, ``sharing`` (T, m, e)
    and ``lengths`` (what an instant at the knot stands for).  Of shape (n, S): ``values``,
    ``loads``, ``held``, ``roots`` (v, ℓ, h, 2σ at the first token and the stations).  Filled are
    ``machine``, ``rounds``, ``tokens``, ``shares`` (y, the length of a round of those that pay, Σh
    and Σ2σ of them), and the derivative of ∫ y by v, minus those by π and by 2σ (``*_use``).
    """
    limit, base, least = numbers
    n, width = values.shape
    alive = np.empty(n, dtype=np.int64)
    paying = np.empty(n, dtype=np.int64)
    station = np.empty(n, dtype=np.int64)
    for i in range(n):
        weight_use[i] = 0
        for s in range(width):
            value_use[i, s], root_use[i, s] = 0, 0
    present, coming = 0, 0
    for k in range(len(knots)):
        while coming < n and begins[order[coming]] <= k:
            alive[present] = order[coming]
            present, coming = present + 1, coming + 1
        price, share = memory[k], sharing[k]
        fixed = limit * price + (share * share / least if least > 0 else 0.0)
        y = fixed / base
        count = 0
        for position in range(present):
            i = alive[position]
            since = knots[k] - arrivals[i]
            worth = values[i, 0] > weights[i] * since
            for s in range(1, width if others[i] > 0 else 1):
                worth = worth or values[i, s] * others[i] > (1 - weights[i]) * since
            if worth:  # else neither now nor later
                alive[count] = i
                count += 1
        present = count
        # One by one: between slices numba compiles a complaint with its text, for a second.
        for position in range(count):
            paying[position] = alive[position]
        for _ in range(_STEPS):
            asked, length, some, root = fixed - y * base, base, 0.0, 0.0
            left = 0
            for position in range(count):
                i = paying[position]
                since = knots[k] - arrivals[i]
                best, chosen = 0.0, -1
                for s in range(width if others[i] > 0 else 1):
                    slope = weights[i] if s == 0 else (1 - weights[i]) / others[i]
                    more = values[i, s] - slope * since - y * loads[i, s] - price * held[i, s]
                    more -= roots[i, s] * share
                    if more > best:
                        best, chosen = more, s
                if chosen >= 0:
                    # Who does not pay at one price does not at a higher one.
                    paying[left], station[left] = i, chosen
                    left += 1
                    asked += best
                    length += loads[i, chosen]
                    some += held[i, chosen]
                    root += roots[i, chosen]
            count = left
            if asked <= _ERROR * max(1.0, y) * base:
                break
            y += asked / length
        machine[k], rounds[k], tokens[k], shares[k] = y, length, some, root
        use = lengths[k] / length
        for position in range(count):
            i, s = paying[position], station[position]
            value_use[i, s] += use
            root_use[i, s] += use * share
            since = knots[k] - arrivals[i]
            weight_use[i] += use * (since if s == 0 else -since / others[i])
