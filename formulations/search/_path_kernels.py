"""Compiled inner loops over the paths that a sweep has left: distances, best path, states."""

from __future__ import annotations

import numpy as np
from numba import njit

_FAR = np.int64(1) << np.int64(61)


@njit(cache=True, nogil=True)
def extras(begin, number, entered, prices, found):
    """Fill what the requests that each arc lets in pay."""
    for x in range(len(begin)):
        total = np.int64(0)
        for y in range(begin[x], begin[x] + number[x]):
            total += prices[entered[y]]
        found[x] = total


@njit(cache=True, nogil=True)
def to_the_end(origin, to, cost, distance, choice):
    """Fill each node's distance to the last one, and the arc that it takes; arcs in order."""
    distance[:] = _FAR
    choice[:] = -1
    distance[-1] = 0
    for x in range(len(origin) - 1, -1, -1):
        if distance[to[x]] < _FAR and cost[x] + distance[to[x]] < distance[origin[x]]:
            distance[origin[x]] = cost[x] + distance[to[x]]
            choice[origin[x]] = x


@njit(cache=True, nogil=True)
def from_the_first(origin, to, cost, distance):
    """Fill each node's distance from the first one; arcs in order."""
    distance[:] = _FAR
    distance[0] = 0
    for x in range(len(origin)):
        if distance[origin[x]] < _FAR:
            distance[to[x]] = min(distance[to[x]], distance[origin[x]] + cost[x])


@njit(cache=True, nogil=True)
def best_path(to, choice, path):
    """Fill the arcs of the best path from the first node on; return how many."""
    node, count = 0, 0
    while choice[node] >= 0:
        path[count] = choice[node]
        node = to[path[count]]
        count += 1
    return count


@njit(cache=True, nogil=True)
def short_enough(origin, to, cost, ahead, behind, limit, kept):
    """Mark the arcs on paths no longer than a limit; return how many."""
    total = 0
    for x in range(len(origin)):
        kept[x] = (
            ahead[origin[x]] < _FAR
            and behind[to[x]] < _FAR
            and ahead[origin[x]] + cost[x] + behind[to[x]] <= limit
        )
        total += kept[x]
    return total


@njit(cache=True, nogil=True)
def _longer(array):
    return np.concatenate((array, np.empty_like(array)))


@njit(cache=True, nogil=True)
def _counted(code, first, last, entered, step, most):
    """Return the counts with some requests more, −1 if there are more than the instance has."""
    for y in range(first, last):
        g = entered[y]
        if step[g] > 0:
            if (code // step[g]) % (most[g] + 1) >= most[g]:
                return np.int64(-1)
            code += step[g]
    return code


@njit(cache=True, nogil=True)
def split_stage(states, arcs, begins, entered, step, most, behind, limit, too_many):
    """Follow the arcs of one stage from nodes with counts to nodes with counts.

    Parameters
    ----------
    states
        Node, counts and distance of each state of the stage.
    begins
        The arcs of node k: ``begins[k]``..``begins[k + 1]`` − 1 of ``arcs`` (to, cost with prices,
        begin, number).
    step, most
        By what one request of a kind raises the counts, 0 where it is not counted, and its limit.
    behind, limit
        Distances of the nodes to the end; longer paths are dropped.

    Returns
    -------
    Node, counts and distance of the states reached; and of every way: origin, arc, place reached.
    """
    nodes, codes, distances = states
    to, cost, begin, number = arcs
    slots = 1024
    table = np.full(slots, -1, np.int32)
    size = 512
    new_node, new_code = np.empty(size, np.int32), np.empty(size, np.int64)
    new_distance = np.empty(size, np.int64)
    made = 0
    room = 1024
    way_origin, way_arc = np.empty(room, np.int32), np.empty(room, np.int32)
    way_to = np.empty(room, np.int32)
    ways = 0
    for state in range(len(nodes)):
        for x in range(begins[nodes[state]], begins[nodes[state] + 1]):
            distance = distances[state] + cost[x]
            if behind[to[x]] >= _FAR or distance + behind[to[x]] > limit:
                continue
            code = _counted(codes[state], begin[x], begin[x] + number[x], entered, step, most)
            if code < 0:
                continue
            if ways >= too_many:
                return new_node[:0], new_code[:0], new_distance[:0], way_origin, way_arc, way_to
            slot = _slot(to[x], code, slots)
            while table[slot] >= 0:
                k = table[slot]
                if new_node[k] == to[x] and new_code[k] == code:
                    break
                slot = (slot + 1) & (slots - 1)
            if table[slot] < 0:
                if made == size:
                    size *= 2
                    new_node, new_code = _longer(new_node), _longer(new_code)
                    new_distance = _longer(new_distance)
                    slots *= 2
                    table = np.full(slots, -1, np.int32)
                    for k in range(made):
                        again = _slot(new_node[k], new_code[k], slots)
                        while table[again] >= 0:
                            again = (again + 1) & (slots - 1)
                        table[again] = k
                    slot = _slot(to[x], code, slots)
                    while table[slot] >= 0:
                        slot = (slot + 1) & (slots - 1)
                table[slot] = made
                new_node[made], new_code[made], new_distance[made] = to[x], code, distance
                made += 1
            k = table[slot]
            new_distance[k] = min(new_distance[k], distance)
            if ways == room:
                room *= 2
                way_origin, way_arc = _longer(way_origin), _longer(way_arc)
                way_to = _longer(way_to)
            way_origin[ways], way_arc[ways], way_to[ways] = state, x, k
            ways += 1
    return (
        new_node[:made],
        new_code[:made],
        new_distance[:made],
        way_origin[:ways],
        way_arc[:ways],
        way_to[:ways],
    )


@njit(cache=True, nogil=True)
def _slot(node, code, slots):
    key = (np.uint64(node) * np.uint64(0x9E3779B97F4A7C15)) ^ np.uint64(code)
    key *= np.uint64(0xBF58476D1CE4E5B9)
    key ^= key >> np.uint64(31)
    return np.int64(key & np.uint64(slots - 1))
