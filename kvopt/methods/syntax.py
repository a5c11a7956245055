"""The text of methods: split, parsed and written by one grammar of brackets and quotes::

    METHODS   = METHOD {"," METHOD}
    METHOD    = (NAME [":" NAME] | "file" ":" TEXT) [ARGUMENTS] ["with" CALL]
    CALL      = NAME [ARGUMENTS]
    ARGUMENTS = "(" [[NAME "="] TEXT {"," [NAME "="] TEXT}] ")"

TEXT is bare, or in double quotes, where ``""`` is one quote: ``file:"a, b.py"``.  Bare text has no
comma, bracket or quote; a bare path also ends before the word ``with``.  Other text raises a
:class:`MethodError`.
"""

import re
import string
from collections.abc import Iterable
from dataclasses import dataclass

from support.message_text import cut_middle

#: Names and values, in their order; a value that is given by its position has an empty name.
Arguments = tuple[tuple[str, str], ...]

FILE = "file:"
#: Characters of a text in a message.
_LONGEST = 120
#: Form of a method, for messages.
FORM = (
    "NAME[:FORMULATION][(option=value,...)][ with PREDICTION(...)], where NAME may be file:PATH "
    '(file:"PATH" where it has a comma, bracket or quote)'
)
_NAME = r"[a-z0-9_.+/~-]+"
_QUOTED = r'"(?:[^"]|"")*+"'
_VALUE = rf'(?:{_QUOTED}|[^",()]*+)'
_KEY = r'[^\s",()=][^",()=]*?'
# Atomic and possessive, so that a text is never tried in exponentially many ways.
_ARGUMENT = rf"(?>\s*(?:{_KEY}\s*=)?+\s*{_VALUE}\s*)"
_ARGUMENTS = rf"\({_ARGUMENT}(?:,{_ARGUMENT})*+\)"
_PATH = rf'(?:{_QUOTED}|(?>(?:(?!\swith\s)[^",()])+))'
_FLAGS = re.IGNORECASE | re.ASCII
_CALL = re.compile(rf"\s*(?P<name>{_NAME})\s*(?P<arguments>{_ARGUMENTS})?\s*", _FLAGS)
_METHOD = re.compile(
    rf"\s*(?:file\s*:\s*(?P<path>{_PATH})|(?P<name>{_NAME})\s*(?::\s*(?P<formulation>{_NAME}))?)"
    rf"\s*(?P<arguments>{_ARGUMENTS})?\s*(?:with\s+(?P<call>{_NAME}\s*(?:{_ARGUMENTS})?))?\s*",
    _FLAGS,
)
_EACH_ARGUMENT = re.compile(rf"[(,]\s*(?:({_KEY})\s*=)?+\s*({_VALUE})", _FLAGS)
#: Characters between methods.
_GAP = f",{string.whitespace}"
#: A text that needs no quotes.
_PLAIN = re.compile(r'(?!\s)(?:(?!\swith\s)[^",()=])+(?<!\s)', re.IGNORECASE)


class MethodError(ValueError):
    """A method is unknown or its parameters are not right; the message is one line."""


@dataclass(frozen=True)
class MethodCall:
    """A name with its arguments, None without parentheses."""

    name: str
    arguments: Arguments | None = None

    def __str__(self) -> str:
        return call_text(self.name, self.arguments or ())


@dataclass(frozen=True)
class MethodText:
    """The parts of a method's text: it has a ``name``, or the ``path`` of a file."""

    name: str = ""
    path: str = ""
    formulation: str | None = None
    arguments: Arguments | None = None
    prediction: MethodCall | None = None

    def __str__(self) -> str:
        head = self.name or file_text(self.path)
        head += "" if self.formulation is None else f":{self.formulation}"
        text = call_text(head, self.arguments or ())
        return text if self.prediction is None else f"{text} with {self.prediction}"


def split_methods(text: str) -> list[str]:
    """Split ``a,b(x=1,y=2),file:"c,d.py"`` at the commas between methods."""
    pieces, at = list[str](), len(text) - len(text.lstrip(_GAP))
    while text[at:].strip():
        found = _METHOD.match(text, at)
        end = found.end() if found else at
        rest = text[end:].lstrip(_GAP)
        if found is None or (rest.strip() and text[end] != ","):
            raise _error(text, end, "a comma" if found else "a name")
        pieces.append(text[at:end].strip())
        at = len(text) - len(rest)
    return pieces


def parse_method(text: str) -> MethodText:
    """Return the parts of one method's text."""
    found = _whole(_METHOD, text)
    path = _word(found["path"] or "")
    if found["path"] and not path:
        raise _error(text, found.start("path"), "a path")
    prediction = None if found["call"] is None else parse_call(found["call"])
    arguments = _arguments(found["arguments"])
    return MethodText(found["name"] or "", path, found["formulation"], arguments, prediction)


def parse_call(text: str) -> MethodCall:
    """Return the parts of a formulation's or a prediction's text."""
    found = _whole(_CALL, text)
    return MethodCall(found["name"], _arguments(found["arguments"]))


def call_text(name: str, arguments: Iterable[tuple[str, str]]) -> str:
    """Return the text of a call, without empty parentheses."""
    inside = ",".join(f"{key}=" * bool(key) + _written(value) for key, value in arguments)
    return f"{name}({inside})" if inside else name


def file_text(path: str) -> str:
    """Return the text of a file, without arguments."""
    return FILE + _written(path)


def _written(text: str) -> str:
    return text if _PLAIN.fullmatch(text) else '"{}"'.format(text.replace('"', '""'))


def _word(text: str) -> str:
    return text[1:-1].replace('""', '"') if text.startswith('"') else text.strip()


def _arguments(text: str | None) -> Arguments | None:
    if text is None:
        return None
    found = _EACH_ARGUMENT.findall(text) if text[1:-1].strip() else ()
    return tuple((key, _word(value)) for key, value in found)


def _whole(part: re.Pattern[str], text: str) -> re.Match[str]:
    found = part.match(text)
    if found is None or text[found.end() :].strip():
        raise _error(text, found.end() if found else 0, "the end" if found else "a name")
    return found


def _error(text: str, at: int, what: str) -> MethodError:
    left = text[at:].strip()
    found = repr(left[:40]) if left else "nothing"
    shown = cut_middle(text, _LONGEST)
    return MethodError(f"{shown!r}: expected {what}, found {found}; a method is {FORM}")
