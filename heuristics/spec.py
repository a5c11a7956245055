"""Method names with parameters, as on the command line: ``alpha-beta(alpha=0.2,beta=0.1)``."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence

from heuristics.policy import Choice, Parameter, Values

_SPEC = re.compile(r"\s*([A-Za-z0-9./+-]+)\s*(?:\((.*)\))?\s*", re.DOTALL)


class SpecError(ValueError):
    """A method name or its parameters are not right; the message is one line."""


def split_spec(text: str) -> tuple[str, str]:
    """Return the name and the text between the parentheses.

    Raises
    ------
    SpecError
        If the text is not ``name`` or ``name(...)``.
    """
    match = _SPEC.fullmatch(text)
    if match is None:
        raise SpecError(f"expected NAME or NAME(parameter=value,...), found {text!r}")
    return match.group(1), match.group(2) or ""


def read_values(name: str, text: str, parameters: Sequence[Parameter | Choice]) -> Values:
    """Return the value of every parameter, defaults where none is given.

    Values may be given by position, like ``interval(1,1000)``, or by name.

    Raises
    ------
    SpecError
        If a parameter is unknown, stands twice, or is out of its range.
    """
    values: Values = {parameter.name: parameter.default for parameter in parameters}
    known = {parameter.name: parameter for parameter in parameters}
    given: set[str] = set()
    entries = text.split(",") if text.strip() else []
    for position, entry in enumerate(entries):
        key, equals, value = (part.strip() for part in entry.partition("="))
        if not equals:
            if position >= len(parameters):
                raise SpecError(f"{name} takes {_takes(parameters)}, found {entry.strip()!r}")
            key, value = parameters[position].name, key
        if key not in known:
            raise SpecError(f"{name} takes {_takes(parameters)}, found {key!r}")
        if key in given:
            raise SpecError(f"{name}: {key} stands twice")
        given.add(key)
        values[key] = _read(name, known[key], value)
    return values


def format_spec(name: str, values: Values, parameters: Sequence[Parameter | Choice]) -> str:
    """Return the name with the parameters that differ from their defaults."""
    changed = [
        f"{parameter.name}={values[parameter.name]:g}"
        if isinstance(parameter, Parameter)
        else f"{parameter.name}={values[parameter.name]}"
        for parameter in parameters
        if values[parameter.name] != parameter.default
    ]
    return f"{name}({','.join(changed)})" if changed else name


def describe_parameter(parameter: Parameter | Choice) -> str:
    """Return one line: name, default, range or options, and meaning."""
    if isinstance(parameter, Choice):
        allowed = " | ".join(parameter.options)
        return f"{parameter.name}={parameter.default}  ({allowed}) {parameter.meaning}"
    return (
        f"{parameter.name}={parameter.default:g}  ({parameter.low:g}..{parameter.high:g}) "
        f"{parameter.meaning}"
    )


def _read(name: str, parameter: Parameter | Choice, text: str) -> float | int | str:
    if isinstance(parameter, Choice):
        if text not in parameter.options:
            options = ", ".join(parameter.options)
            raise SpecError(f"{name}: expected {parameter.name} in {options}, found {text!r}")
        return text
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    whole = not parameter.integer or value == math.floor(value) if math.isfinite(value) else False
    if not (whole and parameter.low <= value <= parameter.high):
        kind = "an integer" if parameter.integer else "a number"
        raise SpecError(
            f"{name}: expected {parameter.name} as {kind} from {parameter.low:g} to "
            f"{parameter.high:g}, found {text!r}"
        )
    return int(value) if parameter.integer else value


def _takes(parameters: Sequence[Parameter | Choice]) -> str:
    return ", ".join(parameter.name for parameter in parameters) or "no parameters"
