"""Idle gaps, at which an instance falls apart into others.

Where the requests that come first would be complete, run one after the other from the last of
their arrivals on, before the next one arrives, the optima of both parts add up.  Bounds always add
up, whatever the parts are.

Proof: docs/proofs/parts.md (P8).
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from instances import Instance, Request


@dataclass(frozen=True)
class InstancePart:
    """Requests of an instance, by position, as an instance with its first arrival at 0.

    ``offset`` is that arrival in the whole instance (rounds).
    """

    positions: tuple[int, ...]
    offset: int
    instance: Instance


def parts_of(instance: Instance) -> list[InstancePart]:
    """Return the parts of an instance in rounds, in the order of time.

    Each begins at round 0, also if it is the only one; an instance that does is its part itself.
    """
    outputs = [request.output for request in instance.requests]
    arrivals = [int(request.arrival) for request in instance.requests]
    groups = gaps(arrivals, outputs)
    if len(groups) == 1 and not min(arrivals):
        return [InstancePart(tuple(range(len(instance))), 0, instance)]
    return [part_of(instance, sorted(group)) for group in groups]


def gaps(arrivals: Sequence[int], alone: Sequence[int]) -> list[list[int]]:
    """Return the positions of the requests in each part, the parts in the order of time.

    ``alone`` is the time of each request that runs alone, in the unit of the arrivals, above 0.
    """
    groups: list[list[int]] = []
    work = until = 0
    for i in sorted(range(len(arrivals)), key=arrivals.__getitem__):
        if not groups or arrivals[i] >= until:
            groups.append([])
            work = 0
        groups[-1].append(i)
        work += alone[i]
        until = arrivals[i] + work
    return groups


def part_of(instance: Instance, positions: Iterable[int]) -> InstancePart:
    """Return requests of an instance, at least one, as one that begins at round 0."""
    chosen = tuple(positions)
    offset = min(int(instance.requests[i].arrival) for i in chosen)
    requests = (instance.requests[i] for i in chosen)
    moved = (Request(r.id, int(r.arrival) - offset, r.prompt, r.output) for r in requests)
    return InstancePart(chosen, offset, Instance(instance.name, instance.memory, tuple(moved)))


def chosen_of(instance: Instance, positions: Iterable[int]) -> Instance:
    """Return requests of an instance, at least one, as an instance, with their arrivals."""
    requests = tuple(instance.requests[i] for i in positions)
    return Instance(instance.name, instance.memory, requests, time_unit=instance.time_unit)


def closed_up(instance: Instance, starts: Sequence[int]) -> list[int]:
    """Return a schedule that is no later, complete by the last arrival plus all outputs.

    Starts after an idle round from the last arrival on move to it
    (:func:`formulations.valid.windows.start_windows`); a feasible schedule stays feasible.
    """
    last = max(int(request.arrival) for request in instance.requests)
    moved = list(starts)
    end = earlier = 0
    for i in sorted(range(len(starts)), key=starts.__getitem__):
        moved[i] = starts[i] - earlier
        if moved[i] > (free := max(last, end)):
            earlier += moved[i] - free
            moved[i] = free
        end = max(end, moved[i] + instance.requests[i].output)
    return moved
