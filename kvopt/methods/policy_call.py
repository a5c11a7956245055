"""Call of a policy: its parameters and its prediction."""

from dataclasses import dataclass

from heuristics.policy import Policy, Values
from heuristics.predictions import PredictionModel


@dataclass(frozen=True)
class PolicyCall:
    """Call of a policy, which tables show as ``method``."""

    policy: Policy
    values: Values
    prediction: PredictionModel | None
    prediction_values: Values
    method: str
