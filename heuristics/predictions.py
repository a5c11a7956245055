"""Prediction models: the interval [lower, upper] that a policy sees instead of the output.

An interval holds the output, as chen2025 (sec. 2) has it: policies reserve memory by its upper end.
``interval`` says the same of every request, so it may be wrong of one; then the run is refused and
the request named: widening it would reveal the exact output of just the requests that matter.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from heuristics.arrival_queue import exact_fraction
from heuristics.policy import Ints, NotApplicableError, Parameter, Values
from instances import Instance

#: Keeps the draws of a prediction apart from those of a policy with the same seed.
_STREAM = 0x70726564
#: More tokens than any memory holds, and still an integer of 64 bits.
_FAR = 2.0**53


@dataclass(frozen=True)
class PredictionModel:
    """A prediction model."""

    #: Name on the command line.
    name: str
    summary: str
    #: Returns lower and upper ends (tokens, shape (n,)), given outputs, a generator and values.
    predict: Callable[[Ints, np.random.Generator, Values], tuple[Ints, Ints]]
    parameters: tuple[Parameter, ...] = ()


def _interval(outputs: Ints, _: np.random.Generator, values: Values) -> tuple[Ints, Ints]:
    low, high = int(values["low"]), int(values["high"])
    if low > high:
        raise NotApplicableError(f"interval: expected low <= high, found {low} and {high}")
    return np.full_like(outputs, low), np.full_like(outputs, high)


def _bins(outputs: Ints, _: np.random.Generator, values: Values) -> tuple[Ints, Ints]:
    width = int(values["width"])
    first = (outputs - 1) // width * width
    return first + 1, first + width


def _deciles(outputs: Ints, _: np.random.Generator, __: Values) -> tuple[Ints, Ints]:
    # The k-th tenth ends at place ⌈k·n / 10⌉.
    places = -(-np.arange(1, 11) * len(outputs) // 10) - 1
    ends = np.unique(np.sort(outputs)[places[places >= 0]])
    place = np.searchsorted(ends, outputs)
    return np.concatenate(([0], ends[:-1]))[place] + 1, ends[place]


def _relative(outputs: Ints, _: np.random.Generator, values: Values) -> tuple[Ints, Ints]:
    # In fractions: as floats, (1 - 0.9) * 10 is below 1 and (1 + 0.1) * 50 above 55.
    x = exact_fraction(values["x"])
    lower = [max(1, math.floor((1 - x) * o)) for o in outputs.tolist()]
    upper = [math.ceil((1 + x) * o) for o in outputs.tolist()]
    return np.array(lower, dtype=np.int64), np.array(upper, dtype=np.int64)


def _noise(outputs: Ints, rng: np.random.Generator, values: Values) -> tuple[Ints, Ints]:
    # Two draws for one request after the other, so that more requests change no earlier draw.
    below, above = np.abs(rng.normal(0.0, values["sigma"], (len(outputs), 2))).T
    lower = np.maximum(1, np.floor(outputs * np.exp(-below))).astype(np.int64)
    upper = np.ceil(np.minimum(outputs * np.exp(above), _FAR)).astype(np.int64)
    return np.minimum(lower, outputs), np.maximum(upper, outputs)


PREDICTIONS = {
    prediction.name: prediction
    for prediction in (
        PredictionModel("exact", "the true output", lambda outputs, _, __: (outputs, outputs)),
        PredictionModel(
            "interval",
            "one interval for all, which must hold every output (C sec. 6, experiment 1)",
            _interval,
            (
                Parameter("low", 1, 1, 1e9, "lower end, tokens", integer=True),
                Parameter("high", 1000, 1, 1e9, "upper end, tokens", integer=True),
            ),
        ),
        PredictionModel(
            "bins",
            "bins of equal width, [1, w], [w+1, 2w], ... (C sec. 6, experiment 2)",
            _bins,
            (Parameter("width", 100, 1, 1e9, "tokens", integer=True),),
        ),
        PredictionModel(
            "deciles",
            "which tenth of the instance's outputs, ordered, it is of; the law of all is known",
            _deciles,
        ),
        PredictionModel(
            "relative",
            "[(1-x)o, (1+x)o], rounded outwards, at least 1 (C sec. 6, experiment 3)",
            _relative,
            (Parameter("x", 0.5, 0.0, 1.0, "half width as a share of the output"),),
        ),
        PredictionModel(
            "noise",
            "[o·exp(-|a|), o·exp(|b|)] with a, b normal of deviation sigma, by seed",
            _noise,
            (Parameter("sigma", 0.3, 0.0, 5.0, "deviation of the logarithm"),),
        ),
    )
}


def predict(
    instance: Instance, prediction: PredictionModel | None, values: Values, seed: int
) -> tuple[Ints, Ints]:
    """Return lower and upper ends of the predictions (tokens, shape (n,)).

    Without a prediction model the instance's intervals are taken, and where it has none the
    true output.  Values of the model that are left out are its defaults.  No upper end exceeds
    M − s: a request that fits the memory makes no more.  It raises NotApplicableError if the values
    contradict each other, or the interval does not hold the output of a request, which it names.
    """
    outputs = instance.outputs
    if prediction is None:
        lower = np.array([r.output_lower or r.output for r in instance.requests], dtype=np.int64)
        upper = np.array([r.output_upper or r.output for r in instance.requests], dtype=np.int64)
    else:
        rng = np.random.default_rng([_STREAM, seed])
        defaults = {parameter.name: parameter.default for parameter in prediction.parameters}
        lower, upper = prediction.predict(outputs, rng, defaults | values)
        outside = np.flatnonzero((outputs < lower) | (upper < outputs))
        if len(outside):
            first = int(outside[0])
            more = f" (and {len(outside) - 1} more requests)" if len(outside) > 1 else ""
            raise NotApplicableError(
                f"{prediction.name}: expected intervals that hold the outputs, found "
                f"[{lower[first]}, {upper[first]}] for request id {instance.requests[first].id}, "
                f"which makes {outputs[first]} tokens{more}"
            )
    return lower, np.minimum(upper, instance.memory - instance.prompts)
