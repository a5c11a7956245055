"""Random instances for tests: small memories, so that requests are in each other's way."""

from __future__ import annotations

from hypothesis import strategies as st

from instances import Instance, Request


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
    requests = []
    for i in range(draw(st.integers(1, max_requests))):
        output = draw(st.integers(1, min(memory, max_output or memory)))
        prompt = draw(st.integers(0, memory - output))
        arrival = draw(st.one_of(st.just(0), st.integers(0, max_arrival)))
        requests.append(Request(i, arrival, prompt, output))
    return Instance("drawn", memory, tuple(requests))
