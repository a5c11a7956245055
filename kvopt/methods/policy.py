"""A policy as it is called: its parameters, and the prediction that it is given."""

from __future__ import annotations

from dataclasses import dataclass

from heuristics.policy import Policy, Values
from heuristics.predictions import PREDICTIONS, Prediction
from heuristics.registry import policies
from heuristics.spec import SpecError, format_spec, read_values, split_spec


@dataclass(frozen=True)
class PolicyCall:
    """A policy with its parameters and the prediction it is given.

    ``method`` is how the call is named in schedules and tables.
    """

    policy: Policy
    values: Values
    prediction: Prediction | None
    prediction_values: Values
    method: str


def read_policy_call(text: str, prediction: str | None = None) -> PolicyCall:
    """Read ``name(parameter=value,...)`` and, if given, a prediction model in the same form.

    Raises
    ------
    SpecError
        If a name or parameter is unknown or out of range; the message is one line.
    """
    name, inside = split_spec(text)
    if name not in policies():
        raise SpecError(f"unknown policy {name!r}, expected one of {', '.join(policies())}")
    policy = policies()[name]
    values = read_values(name, inside, policy.parameters)
    method = format_spec(name, values, policy.parameters)
    if prediction is None:
        return PolicyCall(policy, values, None, {}, method)
    model, inside = split_spec(prediction)
    if model not in PREDICTIONS:
        raise SpecError(f"unknown prediction {model!r}, expected one of {', '.join(PREDICTIONS)}")
    chosen = PREDICTIONS[model]
    given = read_values(model, inside, chosen.parameters)
    if not policy.clairvoyant:
        method += f" with {format_spec(model, given, chosen.parameters)}"
    return PolicyCall(policy, values, chosen, given, method)
