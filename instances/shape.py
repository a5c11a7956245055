"""What tells how hard an instance is before anything has run on it."""

from __future__ import annotations

from dataclasses import dataclass

from instances.model import Instance


@dataclass(frozen=True)
class Shape:
    """Size and tightness of an instance.

    Attributes
    ----------
    n, memory
        Requests, and M (tokens).
    kinds
        Different pairs of prompt and output.
    tightness
        Largest peak over M: α of the papers.
    area
        Σ volumes over M: the rounds that a full memory needs at least.
    last_arrival
        Rounds or seconds, as the instance has them.
    """

    n: int
    memory: int
    kinds: int
    tightness: float
    area: float
    last_arrival: float


def shape(instance: Instance) -> Shape:
    """Return the shape of an instance; tightness has four decimals, area two."""
    requests, memory = instance.requests, instance.memory
    return Shape(
        n=len(requests),
        memory=memory,
        kinds=len({(request.prompt, request.output) for request in requests}),
        tightness=round(max(request.peak for request in requests) / memory, 4),
        area=round(sum(request.volume for request in requests) / memory, 2),
        last_arrival=float(max(request.arrival for request in requests)),
    )
