"""Knowledge of a method about outputs and arrivals, for tables."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Literal

from heuristics.policy import AdvisedPolicy, Policy
from instances import Instance
from kvopt.methods.custom_declaration import Described
from kvopt.methods.method import Method
from kvopt.methods.method_names import method_of_row

#: Knowledge of outputs: all; predictions, which are exact, or the file's (exact without one),
#: deciles or other intervals; or nothing.
Lengths = Literal["outputs", "exact", "file", "deciles", "intervals", "nothing", "unknown"]
WORDS: dict[Lengths, str] = {
    "outputs": "clairvoyant",
    "exact": "with exact predictions",
    "file": "with predictions, exact if the instance has none",
    "deciles": "with deciles of the outputs",
    "intervals": "with predictions",
    "nothing": "non-clairvoyant",
    "unknown": "not declared",
}
#: The classes of the ranking.
CLASSES: dict[Lengths, str] = WORDS | dict.fromkeys(
    ("exact", "file", "deciles", "intervals"), "with predictions"
)
#: Knowledge by the name of a prediction; all others give an interval.
_OF_PREDICTION: dict[str, Lengths] = {"exact": "exact", "deciles": "deciles"}
#: Meaning of the words, for the reader of a table.
OF_CLASSES = (
    "clairvoyant: knows every output; with predictions: knows an interval that holds it, with "
    "exact ones the output itself; non-clairvoyant: knows no output; offline: knows all arrivals"
)


@dataclass(frozen=True)
class Knowledge:
    """Knowledge of a method about outputs before it decides, and about all arrivals."""

    lengths: Lengths
    offline: bool = False

    def __str__(self) -> str:
        return WORDS[self.lengths] + (", offline" if self.offline else "")

    def on(self, instance: Instance) -> Knowledge:
        """Return the knowledge about an instance, whose file may have predictions."""
        if self.lengths != "file":
            return self
        some = any(each.output_lower not in (None, each.output_upper) for each in instance.requests)
        return Knowledge("intervals" if some else "exact", self.offline)

    @staticmethod
    def of_words(words: str) -> Knowledge:
        """Return the knowledge that :meth:`__str__` wrote; other words are unknown."""
        known = [Knowledge(each, offline) for each in WORDS for offline in (False, True)]
        return next((each for each in known if str(each) == words), Knowledge("unknown"))


def knowledge_of(method: Method) -> Knowledge:
    """Return the knowledge that a method declares; ``solve`` of a file has the outputs."""
    called = method.call or method.own
    if called is None:
        return Knowledge("unknown")
    policy, prediction = called.policy, called.prediction
    if isinstance(policy, Described) and not policy.is_policy:
        return Knowledge("outputs", offline=True)
    lengths: Lengths = "file"
    if policy.blind or policy.clairvoyant:
        lengths = "nothing" if policy.blind else "outputs"
    elif prediction is not None:
        lengths = _OF_PREDICTION.get(prediction.name, "intervals")
    return Knowledge(lengths, policy.offline)


@cache
def knowledge(text: str, declared: str = "") -> Knowledge:
    """Return the knowledge of a row's method; a custom file's row has ``declared`` it."""
    method = method_of_row(text)
    if method is None:
        return Knowledge("unknown")
    return Knowledge.of_words(declared) if method.kind == "file" else knowledge_of(method)


def knowledge_words(policy: Policy) -> str:
    """Return the knowledge of a policy, in a few words."""
    lengths: Lengths = (
        "outputs" if policy.clairvoyant else "nothing" if policy.blind else "intervals"
    )
    words = ["offline" if policy.offline else "online", WORDS[lengths]]
    if isinstance(policy, AdvisedPolicy):
        words.append("a solved LP relaxation")
    if policy.randomised:
        words.append("randomised")
    return ", ".join(words)
