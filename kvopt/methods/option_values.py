"""Values in parentheses, as in ``alpha-beta(alpha=0.2,beta=0.1)``: read, refused, written."""

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from formulations.formulation_registry import RELAXED, Formulation, FormulationOption, formulations
from heuristics.policy import Choice, Parameter
from kvopt.methods.syntax import Arguments, MethodError, call_text, parse_call
from support.message_text import did_you_mean, find_name, unknown_name

#: Numbers in ASCII digits, without the underscores and infinities of float().
_NUMBER = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:e[+-]?[0-9]+)?", re.IGNORECASE)
_SWITCH = {"yes": True, "no": False}
#: Largest value of a formulation's option that is a number.
_LARGEST = 2**31 - 1
#: Largest number for a custom function; floats hold every integer up to it.
LARGEST_KEYWORD = 2**53


@dataclass(frozen=True)
class KeywordParameter:
    """A keyword parameter of a custom function: any number, or any text, as its default is."""

    name: str
    default: float | str
    meaning: str = ""


#: Declarations of values in parentheses.
Declared = Parameter | Choice | FormulationOption | KeywordParameter
#: Values of a formulation's options, those that differ from their defaults.
OptionValues = dict[str, bool | int | float]


def read_values(
    name: str, arguments: Arguments | None, declared: Sequence[Declared]
) -> dict[str, Any]:
    """Return the value of every declaration: given by position or by name, else its default.

    Raises MethodError if a name is unknown or occurs twice, or its value is out of range.
    """
    known = {each.name: each for each in declared}
    given: dict[str, Any] = {}
    for position, (key, value) in enumerate(arguments or ()):
        if not key and value and position < len(declared):
            key = declared[position].name
        meant = find_name(key, known)
        if meant is None:
            takes, found = ", ".join(known) or "no options", key or value
            raise MethodError(f"{name} takes {takes}, found {found!r}{did_you_mean(found, known)}")
        if meant in given:
            raise MethodError(f"{name}: {meant} occurs twice")
        given[meant] = _read_value(name, known[meant], value)
    return {key: each.default for key, each in known.items()} | given


def changed_values(values: Mapping[str, Any], declared: Sequence[Declared]) -> dict[str, Any]:
    """Return the values that differ from their defaults, in the order of the declaration."""
    pairs = ((each.name, values.get(each.name, each.default), each.default) for each in declared)
    return {name: value for name, value, default in pairs if value != default}


def format_call(name: str, values: Mapping[str, Any], declared: Sequence[Declared]) -> str:
    """Return the name with the values that differ from their defaults."""
    changed = changed_values(values, declared)
    return call_text(name, ((key, _format_value(value)) for key, value in changed.items()))


def format_numbers(values: Mapping[str, Any]) -> str:
    """Return the numbers among some values, all written out, as in ``beta=1,tau=0.5``."""
    return ",".join(
        f"{name}={_format_value(value)}"
        for name, value in values.items()
        if isinstance(value, int | float) and not isinstance(value, bool)
    )


def read_numbers(text: str) -> dict[str, float]:
    """Return the numbers of :func:`format_numbers`, and nothing of other texts."""
    pairs = (entry.partition("=") for entry in text.split(","))
    return {name: float(value) for name, _, value in pairs if _NUMBER.fullmatch(value)}


def format_formulation(formulation: Formulation, values: Mapping[str, bool | int | float]) -> str:
    """Return a formulation's name with the options that differ from their defaults."""
    return format_call(formulation.name, values, formulation.options)


def read_formulation(text: str) -> tuple[Formulation, OptionValues]:
    """Return a formulation and its options that are no defaults, or raise a MethodError."""
    call = parse_call(text)
    known = find_name(call.name, formulations())
    if known is None:
        raise MethodError(unknown_name("formulation", call.name, formulations()))
    formulation = formulations()[known]
    values = read_values(known, call.arguments, formulation.options)
    return formulation, changed_values(values, formulation.options)


def bound_only(formulation: Formulation, options: OptionValues) -> tuple[bool, OptionValues]:
    """Return whether only a bound is wanted, and the options of the model itself."""
    own = {name: value for name, value in options.items() if name != RELAXED.name}
    return formulation.relaxation or len(own) < len(options), own


def switched(formulation: Formulation, given: OptionValues) -> list[str]:
    """Return a formulation with options, then with each of its switches turned.

    Each integer program comes a second time as its LP relaxation.
    """
    turned = [given]
    for option in formulation.options:
        if option != RELAXED and isinstance(option.default, bool):
            turned.append(given | {option.name: not given.get(option.name, option.default)})
    texts = [format_formulation(formulation, options) for options in turned]
    if RELAXED in formulation.options:
        relaxed = {RELAXED.name: True}
        texts += [format_formulation(formulation, options | relaxed) for options in turned]
    return texts


def describe(declared: Declared) -> str:
    """Return one line: name, default, range, and meaning."""
    words = _allowed_words(declared)
    allowed = (
        " | ".join(words) if words else "..".join(map(_format_value, _allowed_range(declared)[:2]))
    )
    return f"{declared.name}={_format_value(declared.default)}  ({allowed}) {declared.meaning}"


def _format_value(value: bool | float | str) -> str:
    """Return the shortest text from which the very value is read again."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, str):
        return value
    short = f"{value:g}"
    return short if float(short) == value else repr(value)


def _allowed_words(declared: Declared) -> dict[str, str | bool] | None:
    """Return the allowed words with their values; None for a number or a text."""
    if isinstance(declared, Choice):
        return {word: word for word in declared.options}
    if isinstance(declared, FormulationOption) and isinstance(declared.default, bool):
        return {**_SWITCH}
    return None


def _allowed_range(declared: Declared) -> tuple[float, float, bool]:
    """Return both ends of the range, and whether only integers are allowed."""
    if isinstance(declared, Parameter):
        return declared.low, declared.high, declared.integer
    if isinstance(declared, KeywordParameter):
        return -LARGEST_KEYWORD, LARGEST_KEYWORD, False
    return 0, _LARGEST, isinstance(declared.default, int)


def _read_value(name: str, declared: Declared, text: str) -> Any:
    asked = f"{name}: expected {declared.name} as"
    words = _allowed_words(declared)
    if words is not None:
        word = find_name(text, words)
        if word is None:
            near = did_you_mean(text, words)
            raise MethodError(f"{asked} {' or '.join(words)}, found {text!r}{near}")
        return words[word]
    if isinstance(declared.default, str):
        if not text or not text.isprintable():
            raise MethodError(f"{asked} a text, found {text!r}")
        return text
    low, high, integer = _allowed_range(declared)
    value = float(text) if _NUMBER.fullmatch(text) else math.nan
    if not low <= value <= high or (integer and not value.is_integer()):
        ends = f"from {_format_value(low)} to {_format_value(high)}"
        kind = "an integer" if integer else "a number"
        raise MethodError(f"{asked} {kind} {ends}, found {text!r}")
    # A whole number for a whole default of a custom function; a negative zero is a text for zero.
    as_default = isinstance(declared, KeywordParameter) and isinstance(declared.default, int)
    return int(value) if integer or (as_default and value.is_integer()) else value + 0.0
