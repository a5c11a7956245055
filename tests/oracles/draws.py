"""Instances for tests: of rows, and random ones of small memories, in each other's way."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from hypothesis import strategies as st

from instances import Instance, Request


def instance_of(memory: int, *rows: Sequence[Any], name: str = "made", **fields: Any) -> Instance:
    """Return an instance of rows: arrival, prompt, output, and the ends of an interval if any."""
    requests = tuple(Request(i, *row) for i, row in enumerate(rows))
    return Instance(name, memory, requests, **fields)


@st.composite
def instances(
    draw: st.DrawFn,
    max_requests: int = 8,
    max_memory: int = 24,
    max_arrival: int = 20,
    max_output: int | None = None,
) -> Instance:
    """Draw an instance: arrivals with ties and gaps, prompts from 0, peaks up to M."""
    memory = draw(st.integers(1, max_memory))
    outputs = st.integers(1, min(memory, max_output or memory))
    requests = []
    for i in range(draw(st.integers(1, max_requests))):
        output = draw(outputs)
        prompt = draw(st.integers(0, memory - output))
        # Every second one is 0, in one draw: a draw costs more than most policies.
        arrival = max(0, draw(st.integers(-max_arrival, max_arrival)))
        requests.append(Request(i, arrival, prompt, output))
    return Instance("drawn", memory, tuple(requests))


@st.composite
def predicted(draw: st.DrawFn, max_requests: int = 9, max_memory: int = 20) -> Instance:
    """Draw an instance whose requests carry intervals, each its own or one for all, or none."""
    instance = draw(instances(max_requests=max_requests, max_memory=max_memory, max_arrival=15))
    outputs = [request.output for request in instance.requests]
    kind = draw(st.sampled_from(["one", "own", "own", "none"]))
    if kind == "none":
        return instance
    if kind == "one":
        lower = draw(st.integers(1, min(outputs)))
        upper = max(outputs) + draw(st.integers(0, 5))
        return with_intervals(instance, [(lower, upper)] * len(outputs))
    beyond = st.one_of(st.integers(0, 8), st.just(30))
    return with_intervals(
        instance,
        [(draw(st.integers(1, output)), output + draw(beyond)) for output in outputs],
    )


def with_intervals(instance: Instance, intervals: list[tuple[int, int]]) -> Instance:
    """Return an instance with other prediction intervals (tokens)."""
    requests = tuple(
        Request(r.id, r.arrival, r.prompt, r.output, lower, upper)
        for r, (lower, upper) in zip(instance.requests, intervals, strict=True)
    )
    return Instance(instance.name, instance.memory, requests)
