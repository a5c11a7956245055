"""Name and knowledge of a method for tables, from its text."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cache
from typing import Literal

from heuristics.policy import AdvisedPolicy, Policy, RoundPolicy
from heuristics.policy_registry import policies
from instances import Instance
from kvopt.methods.custom_declaration import Described
from kvopt.methods.engine_table import named_engines
from kvopt.methods.grammar import MethodError, read_method, read_prediction
from kvopt.methods.method import Method
from kvopt.methods.option_values import bound_only
from kvopt.methods.syntax import MethodCall, parse_method
from schedules.evidence import CERTIFICATE, VOLUMES

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
_OFFLINE = ", offline"
#: Knowledge by the name of a prediction; all others give an interval.
_OF_PREDICTION: dict[str, Lengths] = {"exact": "exact", "deciles": "deciles"}
#: Meaning of the words, for the reader of a table.
OF_CLASSES = (
    "clairvoyant: knows every output; with predictions: knows an interval that holds it, with "
    "exact ones the output itself; non-clairvoyant: knows no output; offline: knows all arrivals"
)
#: Mark of methods that may keep tokens over an eviction, in all tables and figures.
MARK = " *"
#: Support of a bound: its text in rows and certificates, and its name in reports.
_SOURCES = {
    VOLUMES: "area bound",
    "volumes of parts": "area bounds of parts",
    "prices": "Lagrangian multipliers",
    "prices of patterns": "configuration LP",
    "prices of the LP relaxation": "multipliers of the LP relaxation",
    "rates": "Lagrangian multipliers on loads",
    "alone": "each request alone",
    "work": "total work",
}


@dataclass(frozen=True)
class Knowledge:
    """Knowledge of a method about outputs before it decides, and about all arrivals."""

    lengths: Lengths
    offline: bool = False

    def __str__(self) -> str:
        return WORDS[self.lengths] + (_OFFLINE if self.offline else "")

    def on(self, instance: Instance) -> Knowledge:
        """Return the knowledge about an instance, whose file may have predictions."""
        if self.lengths != "file":
            return self
        some = any(each.output_lower is not None for each in instance.requests)
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


@cache
def shown_method(text: str, own_name: str = "") -> str:
    """Return the text of a row's method for tables.

    A prediction has all its values: ``a-min with interval(1,1000)``.  A custom file has the name
    that it gives itself (``own_name``), then its file where that has another name or the name is
    taken: ``longest(beta=2) [mine.py]``, ``mine(beta=2)``, ``mine [program]``.
    """
    try:
        parsed = parse_method(text)
    except MethodError:
        return text
    if parsed.prediction and method_of_row(text):
        parsed = replace(parsed, prediction=_with_values(parsed.prediction))
        text = str(parsed)
    if not own_name or not parsed.path:
        return text
    shown = str(replace(parsed, name=own_name, path=""))
    if not parsed.path.endswith(".py"):
        return f"{shown} [program]"
    taken = own_name in policies() or own_name in named_engines()
    same = parsed.path == own_name.replace("-", "_") + ".py" and not taken
    return shown if same else f"{shown} [{parsed.path}]"


def shown_source(source: str) -> str:
    """Return the support of a bound in the field's words."""
    kind = source.removeprefix(CERTIFICATE)
    return source.removesuffix(kind) + _SOURCES.get(kind, kind)


def shown_methods(texts: Iterable[str], own_names: Iterable[str]) -> list[str]:
    """Return the texts of rows' methods for tables."""
    return list(map(shown_method, texts, own_names))


def _with_values(call: MethodCall) -> MethodCall:
    """Return a prediction with all its values, ``interval(1,1000)``."""
    try:
        prediction, given, _ = read_prediction(call)
    except MethodError:
        return call
    return MethodCall(prediction.name, tuple(("", f"{v:g}") for v in given.values()))


@cache
def only_bounds(text: str) -> bool:
    """Return whether a method makes bounds only: its schedule is the first policy's."""
    method = method_of_row(text)
    if method is None or method.kind != "engine":
        return False
    if method.solves == "bound":
        return True
    return method.model is not None and bound_only(method.model, method.options)[0]


@cache
def token_keeping_policies() -> frozenset[str]:
    """Return the names of the policies whose requests may keep tokens over an eviction."""
    return frozenset(
        name
        for name, policy in policies().items()
        if isinstance(policy, RoundPolicy) and policy.keeps_tokens
    )


def policy_name(method: str) -> str:
    """Return the first word of a method's text, without parameters and prediction."""
    return method.partition(" ")[0].partition("(")[0]


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


def method_of_row(text: str) -> Method | None:
    """Return the method that a row names, None for an unknown one."""
    try:
        return read_method(text, planned=True)
    except MethodError:
        return None
