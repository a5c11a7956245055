"""Upper bounds on the requests that meet an objective, under any scheduler, and on goodput."""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from instances import Instance, Request
from instances.batch_time import NANOSECONDS, BatchTime
from serving.bounds.loads import PICOSECONDS, RoundRoom, alone, not_covered, work
from serving.slo import Slo

Ints = NDArray[np.int64]

#: Most distinct begins and ends of windows; others are moved outwards.
_GRID = 500
_LARGEST = 2**63 - 1
#: Shares of requests are counted in these parts, rounded up.
_PARTS = 2**40


def goodput_bound(instance: Instance, batch_time: BatchTime, slo: Slo) -> float | None:
    """Return an upper bound on every scheduler's goodput (requests a second); None without one.

    Proof.  No more than :func:`most_good` requests keep the objective, and all are to be completed:
    none earlier than it were alone, and what arrives from a time on not before its work, charged as
    ``serving.bounds.loads.work_bound`` has it, is done after that time.
    """
    if not_covered(instance, batch_time):
        return None
    times, works = instance.arrival_times.tolist(), _works(instance, batch_time)
    last = later = 0  # ns
    for i in sorted(range(len(times)), key=times.__getitem__, reverse=True):
        later += works[i]
        last = max(last, times[i] + later, times[i] + alone(instance.requests[i], batch_time))
    most: float = most_good(instance, batch_time, slo) * NANOSECONDS / (last - min(times))
    return most


def most_good(instance: Instance, batch_time: BatchTime, slo: Slo) -> int:
    """Return an upper bound on the requests that keep the objective under any scheduler.

    It covers schedules as ``serving.bounds.loads.not_covered`` says.

    Proof.  A request that misses a limit when it is alone never keeps it.  For each limit that says
    by when, a request that keeps it has been charged its work w_i in rounds inside the window W_i
    from its arrival to that time, and the charges of a round add up to no more than its time (both
    as :func:`demands` says).  So with y_i = w_i for those that keep it and 0 for the others, the
    y_i of all windows inside any interval add up to no more than its length; wider windows and less
    work leave that true.  Let f(J) be the length of the union of the windows of J.  These
    conditions say just Σ_J y_i ≤ f(J) for all J: an interval's windows have a union no longer than
    it, and a union falls into intervals.  f is submodular, so with y_i ≤ w_i they are a
    polymatroid, where Σ y_i / w_i is largest if each y_i is taken as large as possible, the
    smallest w_i first (Edmonds, 1970).  That is no less than the number of those that keep it.
    """
    times = instance.arrival_times.tolist()
    able = []
    for i, request in enumerate(instance.requests):
        first, whole = (alone(each, batch_time) for each in (_first_token(request), request))
        tpot = None if slo.tpot is None else slo.tpot * (request.output - 1)
        spans = ((first, slo.ttft), (whole, slo.e2el), (whole - first, tpot))
        if all(limit is None or span <= limit for span, limit in spans):
            able.append(i)
    found = [len(able)]
    for works, limits in demands(instance, batch_time, slo):
        # No time of a schedule is larger than 64 bits hold.
        windows = ((times[i], min(times[i] + limits[i], _LARGEST), works[i]) for i in able)
        found.append(_most(*np.array(list(windows), dtype=np.int64).reshape(-1, 3).T))
    return min(found)


def demands(
    instance: Instance, batch_time: BatchTime, slo: Slo
) -> Iterator[tuple[list[int], list[int]]]:
    """Yield work and time (ns) of each request, for each limit that says by when.

    A request that keeps the limit is charged that work by rounds between its arrival and that time
    after it: all of it by the limit on E2EL, or on TTFT and o − 1 times on TPOT, and its prefill by
    the limit on TTFT.
    """
    requests = instance.requests
    if slo.ttft is not None:
        yield _works(instance, batch_time, first=True), [slo.ttft] * len(requests)
    if slo.e2el is not None:
        yield _works(instance, batch_time), [slo.e2el] * len(requests)
    if slo.ttft is not None and slo.tpot is not None:
        limits = [slo.ttft + slo.tpot * (each.output - 1) for each in requests]
        yield _works(instance, batch_time), limits


def _works(instance: Instance, batch_time: BatchTime, *, first: bool = False) -> list[int]:
    """Return the work of each request, or of its first token, in nanoseconds, rounded down."""
    made = map(_first_token, instance.requests) if first else instance.requests
    room = RoundRoom(instance.memory)
    unit = room.size * PICOSECONDS
    return [min(work(each, room, batch_time) // unit, _LARGEST) for each in made]


def _first_token(request: Request) -> Request:
    """Return a request for the first token only, without knowledge of its output."""
    return replace(request, output=1, output_lower=None, output_upper=None)


def _most(begins: Ints, ends: Ints, works: Ints) -> int:
    """Return the largest Σ y_i / w_i, rounded down; windows and works in nanoseconds."""
    if not len(works):
        return 0
    starts = _thinned(np.unique(begins))
    stops = -_thinned(np.unique(-ends))[::-1]
    first = np.searchsorted(starts, begins, side="right")
    last = np.searchsorted(stops, ends)
    # The rest of each interval, by its begin and its end.
    left = stops - starts[:, None]
    parts = 0
    for i in np.argsort(works, kind="stable").tolist():
        around = left[: first[i], last[i] :]
        wanted = int(works[i])
        taken = min(wanted, int(around.min()))
        around -= taken
        parts += -(-taken * _PARTS // wanted) if wanted else _PARTS
    return parts // _PARTS


def _thinned(places: Ints) -> Ints:
    """Return some of ascending places, with the first."""
    return places[:: -(-len(places) // _GRID)]
