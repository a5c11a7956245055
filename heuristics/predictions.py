"""Prediction models: the interval [lower, upper] that a policy sees instead of the output.

An interval holds the output, as chen2025 (sec. 2) has it: policies reserve memory by its upper end.
``interval`` says the same of every request, so it may be wrong of one; then the run is refused and
the request named: widening it would reveal the exact output of just the requests that matter.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from inspect import signature
from typing import Any

import numpy as np

from heuristics.arrival_queue import exact_fraction
from heuristics.policy import ATOMS, Forecast, Ints, NotApplicableError, Parameter, Values
from instances import Instance

#: Keeps the draws of a prediction apart from those of a policy with the same seed.
_STREAM = 0x70726564
#: More tokens than any memory holds, and still an integer of 64 bits.
_FAR = 2.0**53
#: Degrees of freedom of a log-t law, as arXiv 2604.00499 has them for all prompts.
_FREEDOM = 3.5


@dataclass(frozen=True)
class PredictionModel:
    """A prediction model: ``predict`` takes outputs (tokens, shape (n,)), a generator, values."""

    name: str
    summary: str
    predict: _Predict
    parameters: tuple[Parameter, ...] = ()

    @property
    def draws(self) -> bool:
        """True if another seed gives another forecast: ``predict`` names its generator then."""
        return "rng" in signature(self.predict).parameters


PREDICTIONS: dict[str, PredictionModel] = {}
_SIGMA = Parameter("sigma", 0.3, 0.0, 5.0, "deviation of the logarithm")
_Predict = Callable[[Ints, np.random.Generator, Values], Forecast]


def _model(name: str, summary: str, *parameters: Parameter) -> Callable[[_Predict], _Predict]:
    def add(predict: _Predict) -> _Predict:
        PREDICTIONS[name] = PredictionModel(name, summary, predict, parameters)
        return predict

    return add


@_model("exact", "the true output")
def _exact(outputs: Ints, _: np.random.Generator, __: Values) -> Forecast:
    return Forecast(outputs, outputs)


@_model(
    "interval",
    "one interval for all, which must hold every output (C sec. 6, experiment 1)",
    Parameter("low", 1, 1, 1e9, "lower end, tokens", integer=True),
    Parameter("high", 1000, 1, 1e9, "upper end, tokens", integer=True),
)
def _interval(outputs: Ints, _: np.random.Generator, values: Values) -> Forecast:
    low, high = int(values["low"]), int(values["high"])
    if low > high:
        raise NotApplicableError(f"interval: expected low <= high, found {low} and {high}")
    return Forecast(np.full_like(outputs, low), np.full_like(outputs, high))


@_model(
    "bins",
    "bins of equal width, [1, w], [w+1, 2w], ... (C sec. 6, experiment 2)",
    Parameter("width", 100, 1, 1e9, "tokens", integer=True),
)
def _bins(outputs: Ints, _: np.random.Generator, values: Values) -> Forecast:
    width = int(values["width"])
    first = (outputs - 1) // width * width
    return Forecast(first + 1, first + width)


@_model(
    "deciles", "which tenth of the instance's outputs, ordered, it is of; the law of all is known"
)
def _deciles(outputs: Ints, _: np.random.Generator, __: Values) -> Forecast:
    # The k-th tenth ends at place ⌈k·n / 10⌉.
    places = -(-np.arange(1, 11) * len(outputs) // 10) - 1
    ends = np.unique(np.sort(outputs)[places[places >= 0]])
    place = np.searchsorted(ends, outputs)
    return Forecast(np.concatenate(([0], ends[:-1]))[place] + 1, ends[place])


@_model(
    "relative",
    "[(1-x)o, (1+x)o], rounded outwards, at least 1 (C sec. 6, experiment 3)",
    Parameter("x", 0.5, 0.0, 1.0, "half width as a share of the output"),
)
def _relative(outputs: Ints, _: np.random.Generator, values: Values) -> Forecast:
    # In fractions: as floats, (1 - 0.9) * 10 is below 1 and (1 + 0.1) * 50 above 55.
    x = exact_fraction(values["x"])
    lower = [max(1, math.floor((1 - x) * o)) for o in outputs.tolist()]
    upper = [math.ceil((1 + x) * o) for o in outputs.tolist()]
    return Forecast(np.array(lower, dtype=np.int64), np.array(upper, dtype=np.int64))


@_model("noise", "[o·exp(-|a|), o·exp(|b|)] with a, b normal of deviation sigma, by seed", _SIGMA)
def _noise(outputs: Ints, rng: np.random.Generator, values: Values) -> Forecast:
    # Two draws for one request after the other, so that more requests change no earlier draw.
    below, above = np.abs(rng.normal(0.0, values["sigma"], (len(outputs), 2))).T
    lower = np.maximum(1, np.floor(outputs * np.exp(-below))).astype(np.int64)
    upper = np.ceil(np.minimum(outputs * np.exp(above), _FAR)).astype(np.int64)
    return Forecast(np.minimum(lower, outputs), np.maximum(upper, outputs))


@_model(
    "overestimate",
    "an upper end in [o, factor·o], by seed, which is the estimate (J v5, App. B.3)",
    Parameter("factor", 2.0, 1.0, 1e6, "the largest ratio to the output"),
)
def _overestimate(outputs: Ints, rng: np.random.Generator, values: Values) -> Forecast:
    factor = exact_fraction(values["factor"])
    most = np.array([math.floor(factor * o) for o in outputs.tolist()], dtype=np.int64)
    upper = outputs + (rng.random(len(outputs)) * (most - outputs + 1)).astype(np.int64)
    lower = np.array([math.ceil(each / factor) for each in upper.tolist()], dtype=np.int64)
    return Forecast(lower, upper, upper)


@_model(
    "rank",
    "an order in which this share of all pairs is right on average, and the law of all",
    Parameter("accuracy", 0.75, 0.5, 1.0, "share of the pairs in the right order"),
)
def _rank(outputs: Ints, rng: np.random.Generator, values: Values) -> Forecast:
    # Of many, a pair is in the right order always if both scores are true, two times in three if
    # one is, every second time if none is: 1/2 + p/3 + p²/6 for a share p of true scores.
    n = len(outputs)
    draws = rng.random((n, 3))
    true = np.argsort(np.argsort(outputs, kind="stable"), kind="stable") + draws[:, 0]
    kept = draws[:, 1] < math.sqrt(6 * values["accuracy"] - 2) - 1
    scores = np.where(kept, true, n * draws[:, 2])
    places = np.argsort(np.argsort(scores, kind="stable"), kind="stable")
    return _open(outputs, points=np.sort(outputs)[places])


@_model(
    "refreshed",
    "after every step tokens, the rest times exp(a) with a normal of deviation sigma",
    _SIGMA,
    Parameter("step", 64, 1, 1e9, "tokens between estimates", integer=True),
)
def _refreshed(outputs: Ints, rng: np.random.Generator, values: Values) -> Forecast:
    step, later = int(values["step"]), []
    for o in outputs.tolist():
        made = np.arange(0, o, step)
        left = (o - made) * np.exp(rng.normal(0.0, values["sigma"], len(made)))
        later.append((made + np.maximum(1, np.rint(np.minimum(left, _FAR)))).astype(int).tolist())
    first = np.array([each[0] for each in later], dtype=np.int64)
    return _open(outputs, points=first, later=later, step=step)


@_model(
    "log-t",
    "a law: exp of Student's t with 3.5 degrees of freedom and scale sigma (2604.00499)",
    _SIGMA,
)
def _log_t(outputs: Ints, rng: np.random.Generator, values: Values) -> Forecast:
    from scipy.special import stdtrit

    sigma = values["sigma"]
    places = np.log(outputs) - sigma * rng.standard_t(_FREEDOM, len(outputs))
    quantiles = stdtrit(_FREEDOM, (np.arange(ATOMS) + 0.5) / ATOMS)
    laws = np.exp(np.minimum(places[:, None] + sigma * quantiles, math.log(_FAR)))
    return _open(outputs, laws=np.maximum(1.0, laws))


@_model(
    "histogram",
    "a law: the outputs of a group by o·exp(a), a normal of deviation sigma",
    _SIGMA,
    Parameter("groups", 10, 1, 1e6, "groups of equal size", integer=True),
)
def _histogram(outputs: Ints, rng: np.random.Generator, values: Values) -> Forecast:
    n, groups = len(outputs), int(values["groups"])
    noisy = np.log(outputs) + values["sigma"] * rng.normal(size=n)
    group = np.argsort(np.argsort(noisy, kind="stable"), kind="stable") * groups // max(n, 1)
    laws = np.empty((n, ATOMS))
    for each in np.unique(group):
        own = np.sort(outputs[group == each])
        laws[group == each] = own[((np.arange(ATOMS) + 0.5) / ATOMS * len(own)).astype(int)]
    return _open(outputs, laws=laws)


def _open(outputs: Ints, **told: Any) -> Forecast:
    """Return a forecast that excludes no output."""
    return Forecast(np.ones_like(outputs), np.full_like(outputs, int(_FAR)), **told)


def predict(
    instance: Instance, prediction: PredictionModel | None, values: Values, seed: int
) -> Forecast:
    """Return the predictions of all outputs.

    Without a prediction model the instance's intervals are taken, and where it has none the
    true output.  Values of the model that are left out are its defaults.  No upper end, estimate or
    atom of a law exceeds M − s: a request that fits the memory makes no more.  It raises
    NotApplicableError if the values contradict each other, or the interval does not hold the output
    of a request, which it names.
    """
    outputs, most = instance.outputs, instance.memory - instance.prompts
    if prediction is None:
        lower = np.array([r.output_lower or r.output for r in instance.requests], dtype=np.int64)
        upper = np.array([r.output_upper or r.output for r in instance.requests], dtype=np.int64)
        return Forecast(lower, np.minimum(upper, most))
    rng = np.random.default_rng([_STREAM, seed])
    defaults = {parameter.name: parameter.default for parameter in prediction.parameters}
    found = prediction.predict(outputs, rng, defaults | values)
    outside = np.flatnonzero((outputs < found.lower) | (found.upper < outputs))
    if len(outside):
        first = int(outside[0])
        more = f" (and {len(outside) - 1} more requests)" if len(outside) > 1 else ""
        raise NotApplicableError(
            f"{prediction.name}: expected intervals that hold the outputs, found "
            f"[{found.lower[first]}, {found.upper[first]}] for request id "
            f"{instance.requests[first].id}, which makes {outputs[first]} tokens{more}"
        )
    return _within(found, most)


def _within(found: Forecast, most: Ints) -> Forecast:
    """Return a forecast without outputs above the most that a request can make."""
    later = found.later and [
        [min(each, bound) for each in of_request]
        for of_request, bound in zip(found.later, most.tolist(), strict=True)
    ]
    return replace(
        found,
        upper=np.minimum(found.upper, most),
        points=None if found.points is None else np.minimum(found.points, most),
        laws=None if found.laws is None else np.minimum(found.laws, most[:, None]),
        later=later,
    )
