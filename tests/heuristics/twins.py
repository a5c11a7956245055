"""What a policy's transcription needs, so that any of them can be run with its policy."""

import inspect
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from hypothesis import strategies as st

from heuristics import reference
from heuristics.policy import UNIT_ROUND, Choice, Forecast
from heuristics.policy_registry import policies
from heuristics.simulator import policy_generator
from instances import Instance
from schedules import Schedule


def twins() -> dict[str, Callable[..., Schedule]]:
    """Return the transcriptions of papers, engines and kvopt's policies, by the policy's name."""
    return reference.references() | reference.references("tests.oracles.engines")


SHARES = (0.0, 0.1, 0.2, 0.25, 0.5, 0.9)
_SCALES = (0.001, 0.5, 1.0, 2.5, 20.0, 1000.0)
_FACTORS = (1.0, 1.5, 2.0, 3.0, 12.0)
_ENGINE: dict[str, Sequence[Any]] = {
    "block": (1, 1, 1, 1, 2, 4),
    "budget": (12, 16, 30),
    "running": (1, 2, 8),
    "watermark": (0.0, 0.1, 0.3),
    "chunk": ("no",),
    "accounting": ("engine", "tokens"),
    "asynchronous": ("no",),
    "resume": ("recomputed",),
}
#: Parameters that make a difference on small instances; choices need no line here.
_DRAWN: dict[str, dict[str, Sequence[Any]]] = {
    "a-min": {"ties": ("permutation",)},
    "a-switch": {"ties": ("permutation",)},
    "alpha-greedy": {"alpha": SHARES},
    "alpha-beta": {"alpha": SHARES, "beta": (0.2, 0.5, 0.9, 1.0), "stall": ("no",)},
    "local-search": {"moves": (5,)},
    "nested-wait": {"segment": range(1, 7), "scale": _SCALES},
    "gamma-boost": _ENGINE | {"gamma": (0.01, 0.1, 1.0), "token": (0.3, 1.0)},
    "sglang-ratio": {"conservativeness": (0.0, 0.1, 0.3, 0.5, 1.0, 2.0)},
    **{name: {"factor": _FACTORS} for name in ("srpt", "srpt-predicted", "las")},
    "svf-1bit": {"total": (0, 1, 2, 16, 81)},
    # No two scores fall to the same number within the arrivals that are drawn.
    "tie": _ENGINE | {"beta": (0.0, 0.1, 3.0), "gamma": (0.9, 0.618034, 1.0), "tau": (2.7, 31.7)},
    "ascend-lpt": _ENGINE,
    "ascend-srf": {**_ENGINE, "threshold": (0, 2, 4)},
    "trtllm-sjf": {"fade": (0.0, 0.005, 0.03, 0.1, 0.25, 1.0)},
    "vllm-v1": _ENGINE,
    "vllm-priority": _ENGINE,
    "vllm-most-left": _ENGINE,
    "wait": {"scale": _SCALES},
}


def options_of(name: str) -> dict[str, Sequence[Any]]:
    """Return what values of each parameter of a policy are drawn from."""
    drawn: dict[str, Sequence[Any]] = {
        each.name: each.options if isinstance(each, Choice) else (each.default,)
        for each in policies()[name].parameters
    }
    return drawn | _DRAWN.get(name, {})


def values_of(name: str) -> st.SearchStrategy[dict[str, Any]]:
    """Return how values of all parameters of a policy are drawn."""
    options = options_of(name).items()
    return st.fixed_dictionaries({each: st.sampled_from(values) for each, values in options})


def intervals_of(instance: Instance) -> tuple[list[int], list[int]]:
    """Return the ends of the predictions (tokens), no upper one above M − s."""
    requests = instance.requests
    return (
        [r.output_lower or r.output for r in requests],
        [min(r.output_upper or r.output, instance.memory - r.prompt) for r in requests],
    )


def _told(instance: Instance, forecast: Forecast) -> dict[str, Any]:
    """Return the estimates after each number of tokens, and the laws, uniform if there are none."""
    ends = zip(forecast.lower.tolist(), forecast.upper.tolist(), strict=True)
    laws = [[u + (v - u) * ((i + 0.5) / 100) for i in range(100)] for u, v in ends]
    if forecast.laws is not None:
        laws = forecast.laws.tolist()
    outputs = enumerate(instance.outputs.tolist())
    estimates = [[forecast.estimate(i, made) for made in range(o)] for i, o in outputs]
    return {"estimates": estimates, "laws": laws}


def twin(
    name: str,
    instance: Instance,
    values: dict[str, Any] | None = None,
    seed: int = 0,
    advice: Sequence[float] = (),
    coefficients: tuple[int, ...] = UNIT_ROUND.coefficients,
    forecast: Forecast | None = None,
) -> Schedule:
    """Return the schedule of a policy's transcription, with the policy's own draws."""
    rng = policy_generator(seed)
    lower, upper = intervals_of(instance)
    given: dict[str, Any] = {each.name: each.default for each in policies()[name].parameters}
    given |= {"lower": lower, "upper": upper, "advice": advice, "draw": rng.random}
    given |= _told(instance, forecast or Forecast(np.array(lower), np.array(upper)))
    given["arrived"] = [request.arrival for request in instance.requests]
    given["coefficients"] = coefficients
    given["sample"] = lambda n, size: rng.choice(n, size, replace=False, shuffle=False)
    given |= values or {}
    limits = tuple(given.get(each) for each in ("block", "budget", "running"))
    given["engine"] = limits, given.get("watermark"), given.get("accounting")
    taken = list(inspect.signature(twins()[name]).parameters)[1:]
    if "pick" in taken:
        # Ties by one random order.
        numbers = rng.random(len(instance))
        given["pick"] = lambda equals: min(equals, key=numbers.__getitem__)
    return twins()[name](instance, **{each: given[each] for each in taken})


def halves(n: int) -> st.SearchStrategy[list[float]]:
    """Return how advice of shape (n,) is drawn, ties included."""
    return st.lists(st.integers(0, 8).map(lambda value: value / 2), min_size=n, max_size=n)
