"""Compiled inner loops over a sweep's paths: distances, best path, states."""

import numpy as np

from formulations.lagrangian.compiled_array_functions import longer, nowhere
from support.kernel_cache import compile_kernel, compile_part

_FAR = np.int64(1) << np.int64(61)


@compile_kernel()
def extras(begin, number, entered, prices, found):
    """Fill the payments of each arc's completions."""
    for x in range(len(begin)):
        total = np.int64(0)
        for y in range(begin[x], begin[x] + number[x]):
            total += prices[entered[y]]
        found[x] = total


@compile_kernel()
def to_the_end(origin, to, cost, distance, choice):
    """Fill each node's distance to the last one, and its first arc there; arcs in order."""
    for x in range(len(distance)):
        distance[x], choice[x] = _FAR, -1
    distance[len(distance) - 1] = 0
    for x in range(len(origin) - 1, -1, -1):
        if distance[to[x]] < _FAR and cost[x] + distance[to[x]] < distance[origin[x]]:
            distance[origin[x]] = cost[x] + distance[to[x]]
            choice[origin[x]] = x


@compile_kernel()
def from_the_first(origin, to, cost, distance):
    """Fill each node's distance from the first one; arcs in order."""
    for x in range(len(distance)):
        distance[x] = _FAR
    distance[0] = 0
    for x in range(len(origin)):
        if distance[origin[x]] < _FAR:
            distance[to[x]] = min(distance[to[x]], distance[origin[x]] + cost[x])


@compile_kernel()
def best_path(to, choice, path):
    """Fill the arcs of the best path from the first node on; return their number."""
    node, count = 0, 0
    while choice[node] >= 0:
        path[count] = choice[node]
        node = to[path[count]]
        count += 1
    return count


@compile_kernel()
def short_enough(origin, to, cost, ahead, behind, limit, kept):
    """Mark the arcs on paths no longer than a limit; return their number."""
    total = 0
    for x in range(len(origin)):
        kept[x] = (
            ahead[origin[x]] < _FAR
            and behind[to[x]] < _FAR
            and ahead[origin[x]] + cost[x] + behind[to[x]] <= limit
        )
        total += kept[x]
    return total


@compile_part()
def _counted(code, first, last, entered, step, most):
    """Return the counts with some requests more, −1 if there are more than the instance has."""
    for y in range(first, last):
        g = entered[y]
        if step[g] > 0:
            if (code // step[g]) % (most[g] + 1) >= most[g]:
                return np.int64(-1)
            code += step[g]
    return code


@compile_part()
def _slot(node, code, slots):
    key = (np.uint64(node) * np.uint64(0x9E3779B97F4A7C15)) ^ np.uint64(code)
    key *= np.uint64(0xBF58476D1CE4E5B9)
    key ^= key >> np.uint64(31)
    return np.int64(key & np.uint64(slots - 1))


@compile_part()
def _find(node, code, reached, made, table):
    """Return the place of a state, a new place for a new one."""
    nodes, codes, _ = reached
    slot = _slot(node, code, len(table))
    while table[slot] >= 0:
        k = table[slot]
        if nodes[k] == node and codes[k] == code:
            return k
        slot = (slot + 1) & (len(table) - 1)
    table[slot] = made
    return made


@compile_part()
def _table_of(reached, made):
    """Return a table of states with twice as many slots as their room."""
    nodes, codes, _ = reached
    table = nowhere(2 * len(nodes))
    for k in range(made):
        _find(nodes[k], codes[k], (nodes[:k], codes[:k], codes[:k]), k, table)
    return table


@compile_kernel()
def split_stage(states, arcs, begins, entered, step, most, behind, limit, too_many):
    """Follow the arcs of one stage from nodes with counts to nodes with counts.

    ``states`` are node, counts and distance of each; node k has the arcs ``begins[k]`` up to
    ``begins[k + 1]`` of ``arcs`` (to, cost with prices, begin, number).  A request of kind g raises
    the counts by ``step[g]``, 0 where it is not counted, ``most[g]`` times at most.  Paths longer
    than ``limit`` with the distances ``behind`` to the end are dropped.  Returned are the states
    reached, and of every way its origin, its arc and the place reached.
    """
    nodes, codes, distances = states
    to, cost, begin, number = arcs
    reached = (np.empty(512, np.int32), np.empty(512, np.int64), np.empty(512, np.int64))
    table = nowhere(1024)
    ways = (np.empty(1024, np.int32), np.empty(1024, np.int32), np.empty(1024, np.int32))
    made, count = np.int64(0), 0
    for state in range(len(nodes)):
        for x in range(begins[nodes[state]], begins[nodes[state] + 1]):
            distance = distances[state] + cost[x]
            if behind[to[x]] >= _FAR or distance + behind[to[x]] > limit:
                continue
            code = _counted(codes[state], begin[x], begin[x] + number[x], entered, step, most)
            if code < 0:
                continue
            if count >= too_many:
                return reached[0][:0], reached[1][:0], reached[2][:0], ways[0], ways[1], ways[2]
            if made == len(reached[0]):
                reached = (longer(reached[0]), longer(reached[1]), longer(reached[2]))
                table = _table_of(reached, made)
            k = _find(to[x], code, reached, made, table)
            if k == made:
                reached[0][k], reached[1][k], reached[2][k] = to[x], code, distance
                made += 1
            else:
                reached[2][k] = min(reached[2][k], distance)
            if count == len(ways[0]):
                ways = (longer(ways[0]), longer(ways[1]), longer(ways[2]))
            ways[0][count], ways[1][count], ways[2][count] = state, x, k
            count += 1
    return (
        reached[0][:made], reached[1][:made], reached[2][:made],
        ways[0][:count], ways[1][:count], ways[2][:count],
    )  # fmt: skip
