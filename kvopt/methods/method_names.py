"""Names of methods, policies and supports of bounds for tables, from a row's text."""

from dataclasses import replace
from functools import cache

from heuristics.policy import RoundPolicy
from heuristics.policy_registry import policies
from kvopt.methods.engine_table import named_engines
from kvopt.methods.grammar import MethodError, read_method, read_prediction
from kvopt.methods.method import Method
from kvopt.methods.option_values import bound_only
from kvopt.methods.syntax import MethodCall, parse_method
from schedules.evidence import CERTIFICATE, VOLUMES

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


def method_of_row(text: str) -> Method | None:
    """Return the method that a row names, None for an unknown one."""
    try:
        return read_method(text, planned=True)
    except MethodError:
        return None


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
