"""Curves of the mean gap over a parameter that methods were run with at several values."""

from __future__ import annotations

import re
from dataclasses import dataclass

import pandas as pd

from kvopt.methods.grammar import MethodError, read_prediction
from kvopt.methods.method_names import method_of_row
from kvopt.methods.option_values import read_numbers
from reports.per_instance import spread_of_runs

#: Values of a curve at least.
LEAST_VALUES = 3
_PREDICTION = re.compile(r"( with \S+\()([^()]*)\)")


@dataclass(frozen=True)
class Curve:
    """The mean gap of a method over one parameter, whose name follows its prediction's.

    ``points`` has value, gap (to the best known schedule, over the instances of all values) and
    spread.
    """

    parameter: str
    method: str
    points: pd.DataFrame


def curves(runs: pd.DataFrame) -> list[Curve]:
    """Return a curve for each numeric parameter of policies that has three values or more.

    All other parameters are the same on a curve.
    """
    policies = runs[~runs["engine"]]
    named = policies.groupby("label")[["method", "called"]].first()
    lines = [
        {"label": label, "parameter": parameter, "method": rest, "value": value}
        for label, method, called in named.itertuples(name=None)
        for parameter, rest, value in _parameters(str(label), str(method), str(called))
    ]
    found = []
    swept = pd.DataFrame(lines, columns=["label", "parameter", "method", "value"])
    for (parameter, method), group in swept.groupby(["parameter", "method"], sort=True):
        joined = policies.merge(group[["label", "value"]], on="label")
        if group["value"].nunique() >= LEAST_VALUES and len(points := _points(joined)):
            found.append(Curve(str(parameter), str(method), points))
    return found


def by_family(runs: pd.DataFrame, curve: Curve) -> dict[str, Curve]:
    """Return the curve of each family of instances of the runs."""
    return {
        str(family): each
        for family, part in runs.groupby("family", sort=True)
        for each in curves(part)
        if (each.parameter, each.method) == (curve.parameter, curve.method)
    }


def _points(runs: pd.DataFrame) -> pd.DataFrame:
    """Return the points of a curve over the instances that all of its values were run on."""
    values = runs["value"].nunique()
    shared = runs[runs.groupby("id")["value"].transform("nunique").eq(values)]
    means = shared.groupby(["value", "id"])["gap_low"].mean().astype(float).groupby("value").mean()
    spreads = spread_of_runs(shared, ["value"])
    return pd.DataFrame({"gap": means, "spread": spreads}).reset_index()


def _parameters(label: str, method: str, called: str) -> list[tuple[str, str, float]]:
    """Return each numeric parameter of a method: its name, the label without it, its value."""
    read = method_of_row(method)
    own = read_numbers(called) if called else {}
    if read is not None and read.call is not None:
        own = {
            name: float(value)
            for name, value in read.call.values.items()
            if isinstance(value, int | float) and not isinstance(value, bool)
        }
    found = [(name, _without(label, name), value) for name, value in own.items()]
    shown = _PREDICTION.search(label)
    try:
        prediction, values, _ = read_prediction(method.partition(" with ")[2])
    except MethodError:
        return found
    for place, each in enumerate(prediction.parameters):
        if shown is not None and isinstance(values[each.name], int | float):
            texts = shown[2].split(",")
            texts[place] = each.name
            rest = f"{label[: shown.start(2)]}{','.join(texts)}{label[shown.end(2) :]}"
            found.append((f"{prediction.name}: {each.name}", rest, float(values[each.name])))
    return found


def _without(label: str, name: str) -> str:
    """Return a label without one of its parameters; a default is in none."""
    head, found, tail = label.partition(" with ")
    head = re.sub(rf"(?<=[(,]){re.escape(name)}=[^,()]*(,|(?=\)))", "", head)
    return head.replace(",)", ")").replace("()", "") + found + tail
