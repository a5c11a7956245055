"""What the text of a method tells a reader of tables: what was run, and what it was told."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from typing import Literal

from heuristics.policy import AdvisedPolicy, Policy
from instances import Instance
from kvopt.methods.described import Described
from kvopt.methods.grammar import FILE, MethodError, read_method, read_prediction
from kvopt.methods.method import Method
from kvopt.methods.options import bound_only

#: What a policy is told of the outputs.  ``file``: the prediction intervals of the instance's
#: file and, where it has none, the outputs themselves.
Lengths = Literal["outputs", "file", "intervals", "nothing", "unknown"]
_WORDS: dict[Lengths, str] = {
    "outputs": "the outputs",
    "file": "the file's intervals, else the outputs",
    "intervals": "intervals",
    "nothing": "no lengths",
    "unknown": "not declared",
}


@dataclass(frozen=True)
class Told:
    """What a method is told before it decides.

    Attributes
    ----------
    lengths
        Of the outputs.
    offline
        Whether it knows all arrivals from the start.
    """

    lengths: Lengths
    offline: bool = False

    def __str__(self) -> str:
        return _WORDS[self.lengths] + (", all arrivals" if self.offline else "")

    @staticmethod
    def of_words(words: str) -> Told:
        """Return what :meth:`__str__` wrote; of other words nothing is known."""
        for lengths in _WORDS:
            for offline in (False, True):
                told = Told(lengths, offline)
                if str(told) == words:
                    return told
        return Told("unknown")


def told_of(method: Method) -> Told:
    """Return what a method's policy declares to be told, and what ``solve`` of a file is given.

    Of an engine nothing is declared.
    """
    if method.call is not None:
        policy: Policy | Described = method.call.policy
        prediction = method.call.prediction
    elif method.own is None:
        return Told("unknown")
    elif not method.own.described.is_policy:
        return Told("outputs", offline=True)
    else:
        policy, prediction = method.own.described, method.own.prediction
    if policy.blind:
        return Told("nothing", policy.offline)
    if policy.clairvoyant or (prediction is not None and prediction.name == "exact"):
        return Told("outputs", policy.offline)
    return Told("file" if prediction is None else "intervals", policy.offline)


def class_told(text: str, instance: Instance) -> str:
    """Return the class of a policy's information on an instance, in the field's terms.

    ``exact predictions`` are those of a policy that would take intervals and is told the outputs
    themselves, as where the instance's file has no intervals.  ``OF_CLASSES`` explains them all.
    """
    known = told(text)
    if known.lengths == "nothing":
        lengths = "non-clairvoyant"
    elif known.lengths == "unknown":
        lengths = _WORDS["unknown"]
    elif _takes_none(text):
        lengths = "clairvoyant"
    else:
        # As ``heuristics.predictions`` takes them: a request without an interval tells its output.
        some = any(each.output_lower is not None for each in instance.requests)
        exact = known.lengths == "outputs" or (known.lengths == "file" and not some)
        lengths = "exact predictions" if exact else "predictions"
    return lengths + (", offline" if known.offline else "")


#: What the classes of :func:`class_told` mean, for the reader of a table.
OF_CLASSES = (
    "clairvoyant and exact predictions: told every output; predictions: told an interval of each; "
    "non-clairvoyant: told no lengths; offline: told all arrivals"
)


def _takes_none(text: str) -> bool:
    """Tell whether a policy knows the outputs without a prediction."""
    method = _read(text)
    return method is not None and method.call is not None and method.call.policy.clairvoyant


@cache
def told(text: str, declared: str = "") -> Told:
    """Return what the method of a row is told.

    Parameters
    ----------
    text
        The method's.
    declared
        The row's column ``told``, which says it of a file of one's own.
    """
    method = _read(text)
    if method is None:
        return Told("unknown")
    return Told.of_words(declared) if method.kind == "file" else told_of(method)


@cache
def shown_method(text: str, own_name: str = "") -> str:
    """Return how the method of a row is shown.

    A prediction has its values written out: ``a-min with interval(1,1000)``.  A file of one's own
    goes by the name that it gives itself (the row's column ``own_name``), with the file behind it:
    ``longest(beta=2) [mine.py]``.
    """
    name, found, prediction = text.partition(" with ")
    if found and _read(text) is not None and (values := _prediction_values(prediction)):
        text = f"{name} with {values}"
    if not own_name or not text.startswith(FILE):
        return text
    file, _, called = text.removeprefix(FILE).rpartition(".py")
    return f"{own_name}{called} [{file}.py]"


def shown_methods(texts: Iterable[str], own_names: Iterable[str]) -> list[str]:
    """Return how the methods of rows are shown."""
    return list(map(shown_method, texts, own_names))


def _prediction_values(text: str) -> str:
    """Return a prediction with all its values, ``interval(1,1000)``; empty where it has none."""
    try:
        prediction, told_values, _ = read_prediction(text)
    except MethodError:
        return ""
    values = [f"{told_values[each.name]:g}" for each in prediction.parameters]
    return f"{prediction.name}({','.join(values)})" if values else ""


@cache
def only_bounds(text: str) -> bool:
    """Tell whether a method makes bounds only: its schedule is that of the policy it began with."""
    method = _read(text)
    if method is None or method.kind != "engine":
        return False
    if method.solves == "bound":
        return True
    return method.model is not None and bound_only(method.model, method.options)[0]


def knowledge(policy: Policy) -> str:
    """Return what a policy may know, in a few words."""
    words = [
        "all arrivals (offline)" if policy.offline else "online",
        "the outputs (clairvoyant)"
        if policy.clairvoyant
        else "nothing of the outputs (non-clairvoyant)"
        if policy.blind
        else "prediction intervals (non-clairvoyant)",
    ]
    if isinstance(policy, AdvisedPolicy):
        words.append("a solved LP relaxation")
    if policy.randomised:
        words.append("randomised")
    return ", ".join(words)


def _read(text: str) -> Method | None:
    """Return the method of a row, None for what is none of ours."""
    try:
        return read_method(text, planned=True)
    except MethodError:
        return None
