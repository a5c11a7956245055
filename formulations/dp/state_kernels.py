"""Compiled inner loops of ``layers``."""

import numpy as np

from formulations.dp.dominance_kernels import below
from formulations.lagrangian.compiled_array_functions import ordered
from formulations.lagrangian.price_kernels import start_cost
from support.kernel_cache import compile_filling_part, compile_kernel, compile_part

_ONE = np.uint64(1)
#: Hash tables have the states of a layer above its number, which is in their last place and grows
#: by this from layer to layer, so that none is ever cleared.
NEXT_LAYER = 1 << 32


@compile_filling_part()
def _bound(t, mask, starts, data, tables):
    """Return the scaled lower bound of a state with its starts before round t."""
    arrival, prompt, output = data
    later, sums, moments, tail, unit = tables
    length = len(sums) - 1
    total = -tail[min(t, length)]
    for i in range(len(arrival)):
        if not (mask >> np.uint64(i)) & _ONE:
            total += later[i, t]
            continue
        start = starts[i]
        total += unit * (start + output[i] - arrival[i])
        low = min(max(t, start) + 1, length)
        high = min(start + output[i] + 1, length)
        if high > low:
            # The latency is counted, so a round costs nothing more.
            total += start_cost(0, start, prompt[i], low, high, sums, moments)
    return total


@compile_filling_part()
def _least_below(u, known, limit, held, stack):
    """Return the least sigma of the bases at u that hold at most ``held``, else limit + 1."""
    begin, sigma, vectors, nodes, corners, least, high = known
    best, leaves = limit + 1, (nodes[u + 1] - nodes[u]) // 2
    top, stack[0] = 1, 1
    while top > 0:
        top -= 1
        node = stack[top]
        row = nodes[u] + node
        if least[row] >= best or not below(corners, row, held, 0, high):
            continue
        if node < leaves:
            # The child that may have the least one comes first.
            other = np.int64(least[row + node] <= least[row + node + 1])
            stack[top], stack[top + 1] = 2 * node + other, 2 * node + 1 - other
            top += 2
            continue
        leaf, length = node - leaves, begin[u + 1] - begin[u]
        for k in range(
            begin[u] + length * leaf // leaves, begin[u] + length * (leaf + 1) // leaves
        ):
            if sigma[k] < best and below(vectors, k, held, 0, high):
                best = sigma[k]
    return best


@compile_filling_part()
def completion_bound(u, mask, starts, data, known, most, work):
    """Return a TEL that no completion up to ``most`` is below, ``most`` + 1 where there is none.

    Proof: docs/proofs/completion.md (P15).

    ``mask`` and ``starts`` are of the requests started before round u; ``known`` are
    ``state_bounds.CompletionBounds``; ``work``, shapes (1, words) and (64,), is scratch space.
    """
    arrival, _, output = data
    bases, profiles, first, extra, worth, unit = known
    held, stack = work
    value, limit = worth[min(u, len(worth) - 1)], most * unit
    for w in range(held.shape[1]):
        held[0, w] = 0
    running = False
    for i in range(len(arrival)):
        if not (mask >> np.uint64(i)) & _ONE:
            continue
        if starts[i] + output[i] <= u:
            value += unit * (starts[i] + output[i] - arrival[i]) + extra[i]
            continue
        running = True
        state = first[i] + u - starts[i] - 1
        for w in range(held.shape[1]):
            held[0, w] += profiles[state, w]
    if u >= len(bases[0]) - 1:
        # Nothing that completes within the window runs there.
        return most + 1 if running else np.int64(0)
    found = _least_below(u, bases, limit - value, held, stack)
    return -(-(value + found) // unit) if found <= limit - value else most + 1


@compile_filling_part()
def _hash(mask, profile):
    key = mask * np.uint64(0x9E3779B97F4A7C15)
    for e in range(len(profile)):
        key = (key ^ np.uint64(profile[e])) * np.uint64(0xBF58476D1CE4E5B9)
        key ^= key >> np.uint64(29)
    return key


@compile_filling_part()
def _fill(rows, k, values):
    """Fill row k, number by number: an assignment of the whole takes a second to compile."""
    for e in range(len(values)):
        rows[k, e] = values[e]


@compile_filling_part()
def _copy(found, values, first):
    """Fill an array with values from one on, and the rest with 0."""
    for e in range(len(found)):
        found[e] = values[e + first] if e + first < len(values) else 0


@compile_filling_part()
def _equal(profiles, k, profile):
    """Tell whether row k is a profile."""
    for e in range(len(profile)):  # noqa: SIM110, which numba compiles slowly
        if profiles[k, e] != profile[e]:
            return False
    return True


@compile_filling_part()
def _insert(layer, count, table, mask, cost, bound, starts, profile):
    """Add a state, unless an equal one costs no more; return their number."""
    masks, costs, bounds, all_starts, profiles = layer
    slots, zero = np.uint64(len(table) - 2), table[len(table) - 1]
    slot = _hash(mask, profile) & slots
    while table[slot] >= zero:
        k = table[slot] - zero
        if masks[k] == mask and _equal(profiles, k, profile):
            if cost >= costs[k]:
                return count
            costs[k], bounds[k] = cost, bound
            _fill(all_starts, k, starts)
            return count
        slot = (slot + _ONE) & slots
    table[slot] = zero + count
    masks[count], costs[count], bounds[count] = mask, cost, bound
    _fill(all_starts, count, starts)
    _fill(profiles, count, profile)
    return count + 1


@compile_kernel()
def keep(layer, count, table, is_kept):
    """Keep some of the states of a layer, in order; return their number."""
    masks, costs, bounds, all_starts, profiles = layer
    table[len(table) - 1] += NEXT_LAYER
    slots, zero = np.uint64(len(table) - 2), table[len(table) - 1]
    k = 0
    for source in range(count):
        if not is_kept[source]:
            continue
        masks[k], costs[k], bounds[k] = masks[source], costs[source], bounds[source]
        _fill(all_starts, k, all_starts[source])
        _fill(profiles, k, profiles[source])
        slot = _hash(masks[k], profiles[k]) & slots
        while table[slot] >= zero:
            slot = (slot + _ONE) & slots
        table[slot] = zero + k
        k += 1
    return k


@compile_kernel()
def shrink(layer, count, table, width, least_lost):
    """Keep the states of least bound, ``width`` of them; return their number.

    ``least_lost``, shape (1,), is lowered to the least bound of the others.
    """
    costs, bounds = layer[1], layer[2]
    order = ordered(bounds[:count], costs[:count])
    least_lost[0] = min(least_lost[0], bounds[order[width]])
    is_kept = np.zeros(count, np.bool_)
    for x in range(width):
        is_kept[order[x]] = True
    return keep(layer, count, table, is_kept)


@compile_kernel(_nrt=False)
def measure(t, layer, low, high, chains, bits, own, sums, vectors):
    """Fill the least sum of starts, the tokens held in all, and the lanes of some states at t.

    Proof: docs/proofs/forward.md (P6).  ``chains`` are requests by prompt and falling output,
    whether each is the first of its prompt, and the lane that it fills, or −1.
    """
    masks, _, _, all_starts, profiles = layer
    request, begins, lane = chains
    each = 64 // bits
    for x in range(low, high):
        for w in range(vectors.shape[1]):
            vectors[x, w] = 0
        total, unstarted = np.int64(0), np.int64(0)
        for k in range(len(request)):
            i = request[k]
            if begins[k]:
                unstarted = np.int64(0)
            if (masks[x] >> np.uint64(i)) & _ONE:
                total += all_starts[x, i]
            else:
                total += t
                unstarted += 1
            if lane[k] >= 0:
                vectors[x, lane[k] // each] |= np.uint64(unstarted) << np.uint64(
                    bits * (lane[k] % each)
                )
        own[x], held = total, np.int64(0)
        for e in range(profiles.shape[1]):
            place = vectors.shape[1] * each - 1 - e
            held += profiles[x, e]
            vectors[x, place // each] |= np.uint64(profiles[x, e]) << np.uint64(
                bits * (place % each)
            )
        sums[x] = held


@compile_part()
def _twins(arrival, prompt, output):
    """Return for each request the earlier ones equal to it, as bits: they start first."""
    twins = np.zeros(len(arrival), np.uint64)
    for i in range(len(arrival)):
        for j in range(i):
            if arrival[j] == arrival[i] and prompt[j] == prompt[i] and output[j] == output[i]:
                twins[i] |= _ONE << np.uint64(j)
    return twins


@compile_filling_part()
def _fits(profile, depth, prompt, output, memory):
    """Return whether a request has room at every time of its run beside those chosen."""
    e = output
    while e > 0 and profile[depth, e - 1] + prompt + e <= memory:
        e -= 1
    return e == 0


@compile_part(inline="always")
def _branch(t, state, made, now, following, table, data, tables, completion, rules, known, work):
    """Add every choice of starts at round t from one state to the following layer.

    Part of its caller, since so many arrays cost each call a fifth.  ``known`` are the last three
    of :func:`advance`.  ``profile[d, e]`` are tokens at time t + 1 + e with the first d chosen.
    """
    arrival, prompt, output = data
    best, best_starts, lost = known
    profile, shifted, chosen, twins, own_starts, spare = work
    n, memory, limit = len(arrival), rules.memory, (best[0] - 1) * tables[4]
    mask, cost, bound = now[0][state], now[1][state], now[2][state]
    _fill(own_starts, 0, now[3][state])
    starts = own_starts[0]
    _fill(profile, 0, now[4][state])
    depth, i, fresh = np.int64(0), np.int64(0), True
    while True:  # The choice made so far is one branch by itself.
        if fresh and mask == (_ONE << np.uint64(n)) - _ONE:
            if cost < best[0]:
                best[0] = cost
                _copy(best_starts, starts, 0)
                limit = (best[0] - 1) * tables[4]
        elif fresh:
            value = max(bound, _bound(t + 1, mask, starts, data, tables))
            if value <= limit and rules.completion:
                least = completion_bound(t + 1, mask, starts, data, completion, best[0] - 1, spare)
                value = max(value, tables[4] * least)
            if value <= limit:
                if made == len(following[0]):
                    made = shrink(following, made, table, rules.width, lost)
                _copy(shifted, profile[depth], 1)
                made = _insert(following, made, table, mask, cost, value, starts, shifted)
        fresh = False  # Next request that fits; of equal requests the first not started goes first.
        while i < n and not fresh:
            if not (mask >> np.uint64(i)) & _ONE and arrival[i] <= t and not twins[i] & ~mask:
                fresh = _fits(profile, depth, prompt[i], output[i], memory)
            i += 0 if fresh else 1
        if fresh:
            _fill(profile, depth + 1, profile[depth])
            for e in range(output[i]):
                profile[depth + 1, e] += prompt[i] + 1 + e
            depth += 1
            chosen[depth], starts[i] = i, t
        elif depth == 0:
            return made
        else:
            i = chosen[depth]
            depth -= 1
            starts[i] = 0
        mask ^= _ONE << np.uint64(i)
        cost += (t + output[i] - arrival[i]) * (1 if fresh else -1)
        i += 1


@compile_kernel()
def advance(
    t, now, count, begin, following, made, pause, table, data, tables, completion, rules,
    best, best_starts, lost,
):  # fmt: skip
    """Decide the starts at round t for the states of a layer and fill the following layer.

    It goes through ``count`` states from ``begin`` on, until the following layer grows from
    ``made`` to ``pause`` states.  Returns the layer's number of states, and the next state.  It
    lowers ``best``, shape (1,), with ``best_starts``, and ``lost``, the least bound of a dropped
    state, shape (1,).
    """
    n, reach = len(best_starts), now[4].shape[1]
    known = best, best_starts, lost
    work = (
        np.zeros((n + 1, reach), np.int64),
        np.zeros(reach, now[4].dtype),
        np.zeros(n + 1, np.int64),
        _twins(data[0], data[1], data[2]),
        np.zeros((1, n), best_starts.dtype),
        (np.zeros((1, completion[1].shape[1]), np.uint64), np.zeros(64, np.int64)),
    )
    state = begin
    while state < count and (state == begin or made < pause):
        if now[2][state] <= (best[0] - 1) * tables[4]:
            made = _branch(
                t, state, made, now, following, table, data, tables, completion, rules, known, work
            )
        state += 1
    return made, state
