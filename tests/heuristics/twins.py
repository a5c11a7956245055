"""What a policy's transcription needs, so that any of them can be run beside its policy."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from typing import Any

import numpy as np
from hypothesis import strategies as st

from heuristics.policy import UNIT_ROUND, Choice
from heuristics.reference import references
from heuristics.registry import policies
from heuristics.simulator import policy_generator
from instances import Instance
from schedules import Schedule

SHARES = st.sampled_from([0.0, 0.1, 0.2, 0.25, 0.5, 0.9])
_SCALES = st.sampled_from([0.001, 0.5, 1.0, 2.5, 20.0, 1000.0])
_FACTORS = st.sampled_from([1.0, 1.5, 2.0, 12.0])
#: Parameters that make a difference on small instances; choices need no line here.
_DRAWN: dict[str, dict[str, st.SearchStrategy[Any]]] = {
    "a-min": {"ties": st.just("permutation")},
    "a-switch": {"ties": st.just("permutation")},
    "alpha-greedy": {"alpha": SHARES},
    "alpha-beta": {
        "alpha": SHARES,
        "beta": st.sampled_from([0.2, 0.5, 0.9, 1.0]),
        "stall": st.just("no"),
    },
    "nested-wait": {"segment": st.integers(1, 6), "scale": _SCALES},
    "sglang-ratio": {"conservativeness": st.sampled_from([0.0, 0.1, 0.5, 1.0, 2.0])},
    **{name: {"factor": _FACTORS} for name in ("srpt", "srpt-predicted", "las")},
    "svf-1bit": {"threshold": st.sampled_from([0.0, 0.5, 1.0, 3.0])},
    "vllm-v1": {
        "block": st.sampled_from([1, 1, 2, 3, 4]),
        "budget": st.integers(1, 30),
        "running": st.integers(1, 8),
        "watermark": st.sampled_from([0.0, 0.1, 0.3]),
        "chunk": st.just("no"),
    },
    "wait": {"scale": _SCALES},
}


def values_of(name: str) -> st.SearchStrategy[dict[str, Any]]:
    """Return how values of all parameters of a policy are drawn."""
    drawn = {
        each.name: st.sampled_from(each.options)
        if isinstance(each, Choice)
        else st.just(each.default)
        for each in policies()[name].parameters
    }
    return st.fixed_dictionaries(drawn | _DRAWN.get(name, {}))


def intervals_of(instance: Instance) -> tuple[list[int], list[int]]:
    """Return the ends of the predictions (tokens), no upper one above M − s."""
    requests = instance.requests
    return (
        [r.output_lower or r.output for r in requests],
        [min(r.output_upper or r.output, instance.memory - r.prompt) for r in requests],
    )


def twin(
    name: str,
    instance: Instance,
    values: dict[str, Any] | None = None,
    seed: int = 0,
    advice: Sequence[float] = (),
    coefficients: tuple[int, ...] = UNIT_ROUND.coefficients,
) -> Schedule:
    """Return the schedule of a policy's transcription, with the policy's own draws."""
    rng = policy_generator(seed)
    lower, upper = intervals_of(instance)
    given: dict[str, Any] = {each.name: each.default for each in policies()[name].parameters}
    given |= {"lower": lower, "upper": upper, "advice": advice, "draw": rng.random}
    given["coefficients"] = coefficients
    given["sample"] = lambda n, size: rng.choice(n, size, replace=False, shuffle=False)
    given |= values or {}
    taken = list(inspect.signature(references()[name]).parameters)[1:]
    if "pick" in taken:
        # Ties by one random order.
        numbers = rng.random(len(instance))
        given["pick"] = lambda equals: min(equals, key=numbers.__getitem__)
    return references()[name](instance, **{each: given[each] for each in taken})


def halves(n: int) -> st.SearchStrategy[list[float]]:
    """Return how advice of shape (n,) is drawn, ties included."""
    return st.lists(st.integers(0, 8).map(lambda value: value / 2), min_size=n, max_size=n)


def as_advice(advice: Sequence[float]) -> np.ndarray[Any, np.dtype[np.float64]]:
    """Return advice as the simulator takes it."""
    return np.array(advice, dtype=np.float64)
