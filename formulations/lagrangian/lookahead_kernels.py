"""Compiled kernels of look-ahead rows: payments of runs under prices, and the cheapest starts.

The payment in the j-th round is linear in j between few places: where y comes to 1, where fewer
rounds are left than the row looks ahead, and where payments end.  So payments under prices are
differences of prefix sums, whatever the length of the run.
"""

import numpy as np

from formulations.lagrangian.compiled_array_functions import first_at_least
from formulations.lagrangian.price_kernels import start_cost
from support.kernel_cache import compile_filling_part, compile_kernel


@compile_filling_part()
def fill_pieces(prompt, output, memory, share, rounds, weight, core, piece):
    """Fill rows (first, last, a, b) of ``piece``, shape (3, 4); return how many.

    Within each a + b·j > 0 is M times the payment in round j.
    """
    full = output + 1
    if core:
        full = 1
    elif share > 0:
        full = min(max(-(-memory // share) - prompt, 1), output + 1)
    short = min(max(output - rounds + 1, 1), output + 1)
    count = 0
    first = 1
    for last in (min(full, short) - 1, max(full, short) - 1, output):
        if last < first:
            continue
        a, b = memory * prompt, memory
        if first >= full:
            a += memory * rounds
        else:
            a += share * rounds * prompt
            b += share * rounds
        if first >= short:
            a -= weight * (rounds - output)
            b -= weight
        low, high = first, last
        first = last + 1
        if a + b * low <= 0:
            if a + b * high <= 0:
                continue
            low = 1 + (-a) // b
        elif a + b * high <= 0:
            high = (a - 1) // (-b)
        piece[count, 0], piece[count, 1] = low, high
        piece[count, 2], piece[count, 3] = a, b
        count += 1
    return count


@compile_filling_part()
def paid(piece, count, start, begin, sums, moments, low, size):
    """Return M times a run's payments under prices of the times begin..begin + size − 1.

    ``sums`` and ``moments`` from place ``low`` on are prefix sums of λ_t and of (t − begin)·λ_t.
    """
    total = sums[low] - sums[low]
    for k in range(count):
        first = max(start + piece[k, 0] - begin, 0)
        last = min(start + piece[k, 1] - begin, size - 1)
        if first > last:
            continue
        a, b = piece[k, 2], piece[k, 3]
        over = sums[low + last + 1] - sums[low + first]
        total += (a + b * (begin - start)) * over
        total += b * (moments[low + last + 1] - moments[low + first])
    return total


@compile_kernel()
def row_use(classes, starts, rows, prefix, core, memory, scale, use):
    """Fill the payments of each class's requests in each row for given starts, (classes, rows).

    ``classes`` are prompts, outputs and sizes, shape (classes,); ``rows`` shares, rounds, weights
    and begins, shape (rows,), and the places where the prefix sums of each row begin, (rows + 1,);
    ``prefix`` the sums and moments of the rows' prices (see ``paid``); ``core`` is uint8, shape
    (rows, classes); ``scale`` has factors on M times the payments, shape (rows,).
    """
    prompts, outputs, sizes = classes
    shares, rounds, weights, begins, places = rows
    sums, moments = prefix
    piece = np.zeros((3, 4), dtype=np.int64)
    for each in range(len(prompts)):
        prompt, output, start = prompts[each], outputs[each], starts[each]
        for r in range(len(shares)):
            begin, size = begins[r], places[r + 1] - places[r] - 1
            use[each, r] = 0.0
            if start + output < begin or start + 1 >= begin + size:
                continue
            inside = core[r, each] != 0
            count = fill_pieces(
                prompt, output, memory, shares[r], rounds[r], weights[r], inside, piece
            )
            found = paid(piece, count, start, begin, sums, moments, places[r], size)
            use[each, r] = found * scale[r] * sizes[each]


@compile_kernel()
def cheapest_paid_starts(
    classes, latest, tokens, unit, rows, prefix, core, memory, grid, first, stop, costs, starts
):
    """Fill the least cost of a start, and a start that has it, for the classes first..stop − 1.

    On 64-bit integers the result is exact; the same source serves floating point.  ``classes`` are
    arrivals, prompts and outputs, ``latest`` the last starts that are tried, ``tokens`` the sums
    and moments of the prices on tokens as in ``costs.PriceSums``, with ``unit`` the cost of a
    round; ``rows``, ``prefix`` and ``core`` are as in :func:`row_use`, the prices on an M-th of a
    token in the prefix sums.  Starts at the arrival and ``grid`` later, increasing rounds from 0
    on, are tried.
    """
    arrivals, prompts, outputs = classes
    shares, rounds, weights, begins, places = rows
    sums, moments = prefix
    length = len(tokens[0]) - 1
    piece = np.zeros((3, 4), dtype=np.int64)
    cost = np.zeros(len(grid), dtype=costs.dtype)
    for each in range(first, stop):
        prompt, output, arrival = prompts[each], outputs[each], arrivals[each]
        end = min(latest[each], max(arrival, length - 1))
        tried = max(1, first_at_least(grid, end - arrival + 1))
        # The start at the arrival, then the others: each costs at least its round.
        done, until = 0, 1
        while done < until:
            for k in range(done, until):
                start = arrival + grid[k]
                low, high = min(start + 1, length), min(start + output + 1, length)
                cost[k] = start_cost(unit, start, prompt, low, high, tokens[0], tokens[1])
            for r in range(len(shares)):
                begin, size = begins[r], places[r + 1] - places[r] - 1
                low = max(done, first_at_least(grid, begin - output - arrival))
                high = min(until, first_at_least(grid, begin + size - 1 - arrival))
                if low >= high:
                    continue
                inside = core[r, each] != 0
                count = fill_pieces(
                    prompt, output, memory, shares[r], rounds[r], weights[r], inside, piece
                )
                for k in range(low, high):
                    start = arrival + grid[k]
                    cost[k] += paid(piece, count, start, begin, sums, moments, places[r], size)
            if done == 0:
                later = np.int64(cost[0] // unit) + 1 - arrival
                tried = max(1, min(tried, first_at_least(grid, later + 1)))
            done, until = until, tried
        best = 0
        for k in range(1, tried):
            if cost[k] < cost[best]:
                best = k
        costs[each], starts[each] = cost[best], arrival + grid[best]


@compile_kernel()
def violations(classes, columns, hat, candidates, core, memory, found):
    """Fill how much columns use of each candidate for a row around one knot, (candidates,).

    ``classes`` are prompts and outputs, ``columns`` class, start and mass of the runs near
    the knot, ``hat`` the first time with a weight and the prefix sums of the weights as in
    ``paid``, ``candidates`` shares, rounds, weights and rows of ``core``, uint8, (cores, classes).
    """
    prompts, outputs = classes
    owners, starts, masses = columns
    begin, sums, moments = hat
    shares, rounds, weights, cores = candidates
    size = len(sums) - 1
    piece = np.zeros((3, 4), dtype=np.int64)
    for k in range(len(shares)):
        total, share, ahead, weight = 0.0, shares[k], rounds[k], weights[k]
        for c in range(len(owners)):
            each = owners[c]
            inside = core[cores[k], each] != 0
            count = fill_pieces(
                prompts[each], outputs[each], memory, share, ahead, weight, inside, piece
            )
            total += masses[c] * paid(piece, count, starts[c], begin, sums, moments, 0, size)
        found[k] = total
