"""A policy as it is called: its parameters, and the prediction that it is given."""

from __future__ import annotations

from dataclasses import dataclass

from heuristics.policy import Policy, Values
from heuristics.predictions import Prediction


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
