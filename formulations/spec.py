"""Formulations with options, as on the command line: ``cpsat-strong(groups=no,differences=no)``."""

from __future__ import annotations

import re
from collections.abc import Mapping

from formulations.registry import RELAXED, Formulation, Option, formulations

_SPEC = re.compile(r"\s*([A-Za-z0-9_.+-]+)\s*(?:\((.*)\))?\s*", re.DOTALL)
_SWITCH = {"yes": True, "no": False}
#: Largest value of an option that is a number.
_LARGEST = 2**31 - 1

#: Values of the options that differ from their defaults.
Options = dict[str, bool | int]


class FormulationError(ValueError):
    """A formulation's name or options are not right; the message is one line."""


def read_formulation(text: str) -> tuple[Formulation, Options]:
    """Return the formulation and those of its options that differ from their defaults.

    Raises
    ------
    FormulationError
        If the text is no spec, or the name, an option or a value is unknown.
    """
    match = _SPEC.fullmatch(text)
    if match is None:
        raise FormulationError(f"expected NAME or NAME(option=value,...), found {text!r}")
    name, inside = match.group(1), match.group(2) or ""
    known = formulations()
    if name not in known:
        raise FormulationError(f"unknown formulation {name!r}, expected one of {', '.join(known)}")
    formulation = known[name]
    given: Options = {}
    for entry in inside.split(",") if inside.strip() else []:
        key, _, value = (part.strip() for part in entry.partition("="))
        if key in given:
            raise FormulationError(f"{name}: {key} stands twice")
        given[key] = _read(formulation, key, value)
    return formulation, changed_options(formulation, given)


def changed_options(formulation: Formulation, values: Mapping[str, bool | int]) -> Options:
    """Return the options that differ from their defaults, in the formulation's order."""
    return {
        option.name: values[option.name]
        for option in formulation.options
        if option.name in values and values[option.name] != option.default
    }


def format_formulation(formulation: Formulation, values: Mapping[str, bool | int]) -> str:
    """Return the name with the options that differ from their defaults."""
    changed = changed_options(formulation, values)
    inside = ",".join(f"{name}={_shown(value)}" for name, value in changed.items())
    return f"{formulation.name}({inside})" if inside else formulation.name


def bound_only(formulation: Formulation, options: Options) -> tuple[bool, Options]:
    """Return whether only a bound is asked for, and the options that the model itself takes."""
    own = {name: value for name, value in options.items() if name != RELAXED.name}
    return formulation.relaxation or len(own) < len(options), own


def switched(formulation: Formulation) -> list[str]:
    """Return the formulation and, for each of its own switches, the formulation with it turned.

    A number that is 0 where it is off is turned to 2.  Of an integer program each comes a second
    time with its LP relaxation only.
    """
    turned: list[Options] = [{}]
    for option in formulation.options:
        if option == RELAXED:
            continue
        if isinstance(option.default, bool):
            turned.append({option.name: not option.default})
        elif option.default == 0:
            turned.append({option.name: 2})
    texts = [format_formulation(formulation, options) for options in turned]
    if RELAXED in formulation.options:
        relaxed = {RELAXED.name: True}
        texts += [format_formulation(formulation, options | relaxed) for options in turned]
    return texts


def describe_option(option: Option) -> str:
    """Return one line: name, default, what is allowed, and meaning."""
    allowed = "yes | no" if isinstance(option.default, bool) else f"0..{_LARGEST}"
    return f"{option.name}={_shown(option.default)}  ({allowed}) {option.meaning}"


def _shown(value: bool | int) -> str:
    return ("no", "yes")[value] if isinstance(value, bool) else str(value)


def _read(formulation: Formulation, key: str, text: str) -> bool | int:
    option = next((each for each in formulation.options if each.name == key), None)
    if option is None:
        takes = ", ".join(each.name for each in formulation.options) or "no options"
        raise FormulationError(f"{formulation.name} takes {takes}, found {key!r}")
    if isinstance(option.default, bool):
        if text not in _SWITCH:
            raise FormulationError(
                f"{formulation.name}: expected {key} as yes or no, found {text!r}"
            )
        return _SWITCH[text]
    # Digits beyond ASCII and underscores would pass int().
    if not re.fullmatch(r"[0-9]{1,10}", text) or int(text) > _LARGEST:
        raise FormulationError(
            f"{formulation.name}: expected {key} as an integer from 0 to {_LARGEST}, found {text!r}"
        )
    return int(text)
