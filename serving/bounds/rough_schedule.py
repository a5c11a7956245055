"""A rough schedule in real time, for the scale of the search for prices in seconds."""

import heapq
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from instances import Instance
from instances.batch_time import BatchTime
from serving.bounds.loads import PICOSECONDS, RoundRoom, work


class RoughSchedule(NamedTuple):
    """Rough begins and ends of requests (picoseconds), each of shape (n,)."""

    begins: NDArray[np.float64]
    ends: NDArray[np.float64]


def guide(instance: Instance, batch_time: BatchTime, room: RoundRoom) -> RoughSchedule:
    """Return a rough schedule of the least work first, which proves nothing.

    A running request counts with its mean tokens and its mean load in every round; its prefill
    delays all.
    """
    requests, times = instance.requests, (instance.arrival_times * float(PICOSECONDS)).tolist()
    works = [float(work(request, room, batch_time)) for request in requests]
    means = [r.volume / r.output + room.seat for r in requests]
    mean_loads = [batch_time.decode_load(r.prompt + 1, r.output - 1) / r.output for r in requests]
    order = sorted(range(len(requests)), key=times.__getitem__)
    begins, ends = np.zeros(len(requests)), np.zeros(len(requests))
    waiting: list[tuple[float, int]] = []
    running: list[tuple[float, int]] = []
    now = rounds = used = load = 0.0
    position = 0
    while position < len(order) or waiting or running:
        if not waiting and not running:
            now = max(now, times[order[position]])
        while position < len(order) and times[order[position]] <= now:
            heapq.heappush(waiting, (works[order[position]], order[position]))
            position += 1
        while waiting:
            i = waiting[0][1]
            if running and used + means[i] > room.size:
                break
            heapq.heappop(waiting)
            begins[i] = now
            now += batch_time.prefill_load(requests[i].prompt)
            heapq.heappush(running, (rounds + requests[i].output, i))
            used += means[i]
            load += mean_loads[i]
        length = max(batch_time.base + load, float(PICOSECONDS))
        ahead = max(running[0][0] - rounds, 0.0)
        if position < len(order):
            ahead = min(ahead, max((times[order[position]] - now) / length, 0.0) + 1e-3)
        now, rounds = now + ahead * length, rounds + ahead
        while running and running[0][0] <= rounds * (1 + 1e-12):
            i = heapq.heappop(running)[1]
            ends[i] = now
            used -= means[i]
            load -= mean_loads[i]
    return RoughSchedule(begins, ends)


def work_prices(
    instance: Instance, batch_time: BatchTime, room: RoundRoom
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return times (picoseconds) and rough prices of machine time then, if only work counts.

    Least remaining work first: during a request of work u the price falls by 1/u; it rises by 1
    where an arrival goes first.  It proves nothing.
    """
    requests, times = instance.requests, (instance.arrival_times * float(PICOSECONDS)).tolist()
    works = [float(work(request, room, batch_time)) for request in requests]
    order = sorted(range(len(requests)), key=times.__getitem__)
    #: Begin, end, work of the request, and if it went before another one.
    stretches: list[tuple[float, float, float, bool]] = []
    left: list[tuple[float, int]] = []
    now, position = 0.0, 0
    while left or position < len(order):
        if not left:
            now = max(now, times[order[position]])
        before = left[0] if left else None
        while position < len(order) and times[order[position]] <= now:
            amount = works[order[position]] / room.size
            heapq.heappush(left, (amount, order[position]))
            position += 1
        amount, i = left[0]
        until = times[order[position]] if position < len(order) else now + amount
        end = max(min(now + amount, until), now)
        first = before is not None and before[1] != i and amount < before[0]
        stretches.append((now, end, max(works[i] / room.size, 1.0), first))
        heapq.heappop(left)
        if end < now + amount:
            heapq.heappush(left, (amount - (end - now), i))
        now = end
    price, later = 0.0, now
    points: list[tuple[float, float]] = []
    for begin, end, whole, first in reversed(stretches):
        if end < later:  # idle in between
            points.append((end, price := 0.0))
        points.append((end, price))
        price += (end - begin) / whole
        points.append((begin, price))
        price, later = max(price - first, 0.0), begin
    points.reverse()
    return np.array([when for when, _ in points]), np.array([worth for _, worth in points])
