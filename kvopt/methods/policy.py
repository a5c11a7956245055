"""A policy as it is called: its parameters, and the prediction that it is given."""

from __future__ import annotations

from dataclasses import dataclass

from heuristics.policy import Policy, Values
from heuristics.predictions import Prediction


@dataclass(frozen=True)
class PolicyCall:
    """A policy with parameters and prediction; tables show it as ``method``."""

    policy: Policy
    values: Values
    prediction: Prediction | None
    prediction_values: Values
    method: str
