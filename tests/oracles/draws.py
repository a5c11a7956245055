"""Instances for tests: of rows, drawn by hypothesis, or by seeds where models have disagreed."""

import random
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from hypothesis import strategies as st

from instances import Instance, Request
from tests.oracles.brute_force import fits, hold


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
def alike(
    draw: st.DrawFn,
    max_requests: int = 5,
    max_memory: int = 9,
    max_arrival: int = 4,
    max_output: int = 5,
) -> Instance:
    """Draw an instance of up to three kinds, so that several requests are equal."""
    few = draw(instances(3, max_memory, max_arrival, max_output))
    chosen = draw(st.lists(st.sampled_from(few.requests), min_size=1, max_size=max_requests))
    requests = tuple(replace(request, id=i) for i, request in enumerate(chosen))
    return Instance("alike", few.memory, requests)


@st.composite
def scheduled(
    draw: st.DrawFn, of: st.SearchStrategy[Instance], latest: int = 14
) -> tuple[Instance, list[int]]:
    """Draw an instance and starts that fit, each the first one from a drawn round on."""
    instance = draw(of)
    held: dict[int, int] = {}
    starts = []
    for request in instance.requests:
        start = draw(st.integers(int(request.arrival), latest))
        while not fits(held, start, request.prompt, request.output, instance.memory):
            start += 1
        hold(held, start, request.prompt, request.output, +1)
        starts.append(start)
    return instance, starts


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
    ends = [(draw(st.integers(1, output)), output + draw(beyond)) for output in outputs]
    return with_intervals(instance, ends)


def with_intervals(instance: Instance, intervals: list[tuple[int, int]]) -> Instance:
    """Return an instance with other prediction intervals (tokens)."""
    requests = tuple(
        Request(r.id, r.arrival, r.prompt, r.output, lower, upper)
        for r, (lower, upper) in zip(instance.requests, intervals, strict=True)
    )
    return Instance(instance.name, instance.memory, requests)


#: Kinds of instances on which models have disagreed.
KINDS = ("mixed", "equal", "no prompts", "peaks of M", "tight memory", "gaps")


def crowd(seed: int, most: int = 5) -> Instance:
    """Return an instance of two to ``most`` requests; its kind is ``KINDS[seed % 6]``."""
    draws = random.Random(seed)
    kind = KINDS[seed % len(KINDS)]
    late = seed // len(KINDS) % 2 == 1
    memory = draws.randint(4, 13)
    requests: list[Request] = []
    for i in range(draws.randint(2, most)):
        output = draws.randint(1, min(7, memory))
        prompt = draws.randint(0, memory - output)
        if kind == "no prompts":
            prompt = 0
        elif kind == "peaks of M" and draws.random() < 0.6:
            prompt = memory - output
        elif kind == "tight memory":
            # Any two overflow when they end together.
            prompt = draws.randint(min(memory // 2, memory - output), memory - output)
        arrival = draws.choice([0, draws.randint(0, 8)]) if late else 0
        if kind == "gaps":
            arrival = draws.choice([0, 3 * i, 20 + i])
        if kind == "equal" and i and draws.random() < 0.7:
            twin = draws.choice(requests)
            arrival, prompt, output = int(twin.arrival), twin.prompt, twin.output
        requests.append(Request(i, arrival, prompt, output))
    return Instance(f"crowd_{seed}", memory, tuple(requests))


#: Memories of many tokens.
MEMORIES = (2_000, 16_492, 10**5, 10**7, 10**8, 10**9)


def edge(seed: int, most: int = 6) -> Instance:
    """Return an instance of two to ``most`` requests whose peaks are near fractions of M."""
    draws = random.Random(seed)
    memory = draws.choice(MEMORIES)
    near = draws.choice((0, 1, 2, 6))
    requests: list[Request] = []
    for i in range(draws.randint(2, most)):
        output = draws.randint(1, 5)
        part = draws.choice((1, 2, 2, 3, 3, 4))
        peak = memory * draws.randint(1, part) // part + draws.randint(-near, near)
        if draws.random() < 0.15:
            peak = draws.randint(output, memory)
        prompt = min(max(peak - output, 0), memory - output)
        arrival = draws.choice((0, draws.randint(0, 6))) if seed % 2 else 0
        if seed % 4 == 0 and i == 0:
            prompt = 0
        if seed % 3 == 0 and requests and draws.random() < 0.5:
            twin = draws.choice(requests)
            arrival, prompt, output = int(twin.arrival), twin.prompt, twin.output
        requests.append(Request(i, arrival, prompt, output))
    return Instance(f"edge_{seed}", memory, tuple(requests))


def gapped(seed: int, most: int = 6) -> Instance:
    """Draw requests whose arrivals leave what came before just, or just not, time to complete."""
    draws = random.Random(seed)
    memory = draws.randint(4, 12)
    rows: list[tuple[int, int, int]] = []
    since: list[int] = []
    for _ in range(draws.randint(2, most)):
        output = draws.randint(1, min(5, memory))
        prompt = draws.randint(0, memory - output)
        last = max((arrival for arrival, *_ in rows), default=0)
        done = last + sum(since)
        arrival = max(last, draws.choice([last, done - 1, done, done, done + 1, last + 500]))
        since = [output] if arrival >= done else [*since, output]
        rows.append((arrival, prompt, output))
    draws.shuffle(rows)
    return instance_of(memory, *rows, name=f"gapped_{seed}")
