"""Gaps over a parameter that policies were run with at several values, next to other policies."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pandas as pd

from kvopt.methods.grammar import MethodError, read_prediction
from kvopt.methods.knowledge import CLASSES, knowledge
from kvopt.methods.method_names import method_of_row
from kvopt.methods.option_values import read_numbers
from reports.per_instance import spread_of_runs, whole_mean
from serving.answer import BASE

#: Values of a curve at least.
LEAST_VALUES = 3
#: The classes of the policies that curves are compared with.
BLIND, CLAIRVOYANT = CLASSES["nothing"], CLASSES["outputs"]
#: Parts of an instance's name without its family or trace: draw, window, and the unit of time.
_DRAW = re.compile(r"_n\d+(?=_)|_seed\d+|_window[\d.]+-[\d.]+|_secondsTrue")
_PREDICTION = re.compile(r" with \S+\(([^()]*)\)")
#: Outputs (tokens) that the error of a prediction is measured on.
_OUTPUTS = np.arange(1, 501)


@dataclass(frozen=True)
class Panel:
    """Curves over one parameter, on the instances that all of them were run on.

    ``family`` is a family, or its draws with equal parameters but n.  ``runs`` have ``policy``,
    ``value`` and ``error`` (of the prediction, tokens; missing without one).  ``best`` has the runs
    of the best online policy of each class, and of vLLM's scheduler if it was run.
    """

    family: str
    parameter: str
    runs: pd.DataFrame
    best: dict[str, pd.DataFrame]

    @property
    def of_prediction(self) -> bool:
        """Return whether the parameter is a prediction's."""
        return bool(self.runs["error"].notna().any())

    @property
    def values(self) -> list[float]:
        """Return the values, for a prediction from its exact end on."""
        errors = self.runs.groupby("value")["error"].mean()
        return list(errors.index if not errors.iloc[0] > errors.iloc[-1] else errors.index[::-1])

    def points(self, column: str) -> pd.DataFrame:
        """Return the means over the instances: a row a value, a column a policy."""
        return _mean(self.runs, column, ["value", "policy"]).unstack("policy")

    @cached_property
    def spreads(self) -> pd.DataFrame:
        """The deviations of the mean gaps, by value and policy."""
        return spread_of_runs(self.runs, ["value", "policy"])

    def level(self, knows: str, column: str) -> float:
        """Return the mean of the best policy of a class."""
        return float(_mean(self.best[knows], column, ["label"]).iloc[0])


def panels(runs: pd.DataFrame) -> list[Panel]:
    """Return the curves of each numeric parameter of policies that has three values or more.

    All other parameters are the same on a curve.
    """
    policies = runs[~runs["engine"]].copy()
    place = policies["instance"].str.replace(_DRAW, "", regex=True)
    policies["place"] = place.where(place.ne(policies["instance"]), policies["family"])
    named = policies.groupby("label")[["method", "called"]].first()
    lines = [
        (label, *each)
        for label, method, called in named.itertuples(name=None)
        for each in _parameters(str(label), str(method), str(called))
    ]
    swept = pd.DataFrame(lines, columns=["label", "parameter", "policy", "value", "error"])
    curves = policies.merge(swept, on="label")
    values = curves.groupby(["place", "parameter", "policy"])["value"].transform("nunique")
    found = []
    for (parameter, family), own in curves[values.ge(LEAST_VALUES)].groupby(["parameter", "place"]):
        ran = own.groupby("id")["label"].transform("nunique")
        shared = own[ran.eq(own["label"].nunique())]
        others = policies[policies["id"].isin(shared["id"]) & ~policies["label"].isin(own["label"])]
        if len(shared):
            found.append(Panel(str(family), str(parameter), shared, dict(_best(others))))
    return found


def _best(runs: pd.DataFrame) -> Iterator[tuple[str, pd.DataFrame]]:
    """Yield each class and the runs of its best online policy on all of the instances."""
    runs = runs[runs.groupby("label")["id"].transform("nunique").eq(runs["id"].nunique())]
    told = [knowledge(*each) for each in zip(runs["method"], runs["told"], strict=True)]
    classes = ["" if each.offline else CLASSES[each.lengths] for each in told]
    for knows, own in runs.groupby(pd.Series(classes, runs.index, dtype=object)):
        if knows in (BLIND, CLAIRVOYANT):
            least = str(_mean(own, "gap_low", ["label"]).idxmin())
            yield str(knows), own[own["label"].eq(least)]
    if runs["method"].eq(BASE).any():
        yield BASE, runs[runs["method"].eq(BASE)]


def _mean(runs: pd.DataFrame, column: str, keys: list[str]) -> pd.Series:
    """Return the mean over the instances of each group, missing where a value is."""
    of_instances = whole_mean(runs.groupby([*keys, "id"])[column]).astype(float)
    return whole_mean(of_instances.groupby(keys))


def _parameters(label: str, method: str, called: str) -> Iterator[tuple[str, str, float, float]]:
    """Yield each numeric parameter: its name, the label without it, its value, and the error."""
    read = method_of_row(method)
    own = read_numbers(called) if called else {}
    if read is not None and read.call is not None:
        own = {
            name: float(value)
            for name, value in read.call.values.items()
            if isinstance(value, int | float) and not isinstance(value, bool)
        }
    for name, value in own.items():
        yield name, _without(label, name), value, np.nan
    shown = _PREDICTION.search(label)
    try:
        prediction, values, _ = read_prediction(method.partition(" with ")[2])
    except MethodError:
        return
    forecast = prediction.predict(_OUTPUTS, np.random.default_rng(0), values)
    error = float(np.abs(forecast.estimates - _OUTPUTS).mean())
    for place, each in enumerate(prediction.parameters):
        if shown is not None and isinstance(values[each.name], int | float):
            texts = shown[1].split(",")
            texts[place] = each.name
            policy = label[: shown.start()] + label[shown.end() :]
            name = f"{prediction.name}({','.join(texts)})"
            yield name, policy, float(values[each.name]), error


def _without(label: str, name: str) -> str:
    """Return a label without one of its parameters; a default is in none."""
    head, found, tail = label.partition(" with ")
    head = re.sub(rf"(?<=[(,]){re.escape(name)}=[^,()]*(,|(?=\)))", "", head)
    return head.replace(",)", ")").replace("()", "") + found + tail
