"""The text of methods: split, parsed and written by one parser that knows brackets and quotes::

    METHODS   = METHOD {"," METHOD}
    METHOD    = (NAME [":" NAME] | "file" ":" TEXT) [ARGUMENTS] ["with" CALL]
    CALL      = NAME [ARGUMENTS]
    ARGUMENTS = "(" [[NAME "="] TEXT {"," [NAME "="] TEXT}] ")"

TEXT is bare, or stands in double quotes, where ``""`` is one quote: ``file:"a, b.py"``.  Bare text
has no comma, bracket or quote; a bare path also ends before the word ``with``.  Blanks around signs
do not count.  What cannot be parsed raises a :class:`MethodError`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TypeVar

from support.text import cut_middle

#: Names and values, in their order; a value that is given by its position has an empty name.
Arguments = tuple[tuple[str, str], ...]
_T = TypeVar("_T")

FILE = "file:"
#: Characters of a text that a message repeats.
_LONGEST = 120
#: How a method is written, for messages.
FORM = (
    "NAME[:FORMULATION][(option=value,...)][ with PREDICTION(...)], where NAME may be file:PATH "
    '(file:"PATH" where it has a comma, bracket or quote)'
)


def _part(pattern: str) -> re.Pattern[str]:
    return re.compile(rf"\s*({pattern}", re.IGNORECASE | re.ASCII)


# With the signs of a path, whose reader asks for what is missing before it.
_NAME = _part(r"[a-z0-9_.+/~-]+)")
_FILE = _part(r"file)\s*:")
_KEY = _part(r'[^\s",()=][^",()=]*?)\s*=')
_WITH = _part(r"with)\s")
_QUOTED = _part(r'"(?:[^"]|"")*")')
_VALUE = _part(r'[^",()]*)')
_PATH = _part(r'(?:(?!\swith\s)[^",()])*)')
#: A text that is written without quotes.
_PLAIN = re.compile(r'(?!\s)(?:(?!\swith\s)[^",()=])+(?<!\s)', re.IGNORECASE)


class MethodError(ValueError):
    """A method is unknown or its parameters are not right; the message is one line."""


@dataclass(frozen=True)
class Call:
    """A name, and what stands in parentheses behind it; None without any."""

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
    prediction: Call | None = None

    def __str__(self) -> str:
        head = self.name or file_text(self.path)
        head += "" if self.formulation is None else f":{self.formulation}"
        text = call_text(head, self.arguments or ())
        return text if self.prediction is None else f"{text} with {self.prediction}"


def split_methods(text: str) -> list[str]:
    """Split ``a,b(x=1,y=2),file:"c,d.py"`` at the commas between methods."""
    parser, pieces = _Parser(text), list[str]()
    while parser.left():
        if not parser.sign(","):
            start = parser.at
            parser.method()
            pieces.append(text[start : parser.at].strip())
            if parser.left() and not parser.sign(","):
                raise parser.error("a comma")
    return pieces


def parse_method(text: str) -> MethodText:
    """Return the parts of one method's text."""
    return _whole(text, _Parser.method)


def parse_call(text: str) -> Call:
    """Return the parts of a formulation's or a prediction's text."""
    return _whole(text, _Parser.call)


def call_text(name: str, arguments: Iterable[tuple[str, str]]) -> str:
    """Return the text of a call, without parentheses where nothing stands in them."""
    inside = ",".join(f"{key}=" * bool(key) + _written(value) for key, value in arguments)
    return f"{name}({inside})" if inside else name


def file_text(path: str) -> str:
    """Return the text of a file, without arguments."""
    return FILE + _written(path)


def _written(text: str) -> str:
    return text if _PLAIN.fullmatch(text) else '"{}"'.format(text.replace('"', '""'))


def _whole(text: str, part: Callable[[_Parser], _T]) -> _T:
    parser = _Parser(text)
    found = part(parser)
    if parser.left():
        raise parser.error("the end")
    return found


class _Parser:
    """Takes the parts of a text, one after the other; blanks before each are skipped."""

    def __init__(self, text: str) -> None:
        self._text, self.at = text, 0

    def left(self) -> str:
        """Return what has not been taken."""
        return self._text[self.at :].strip()

    def error(self, what: str) -> MethodError:
        """Return the complaint that something else was expected here."""
        found = repr(self.left()[:40]) if self.left() else "nothing"
        text = cut_middle(self._text, _LONGEST)
        return MethodError(f"{text!r}: expected {what}, found {found}; a method is {FORM}")

    def sign(self, sign: str) -> bool:
        """Take a sign, if it comes next."""
        return self._take(_part(rf"\{sign})")) is not None

    def method(self) -> MethodText:
        """Take a method."""
        if self._take(_FILE) is None:
            name, path = self._name(), ""
            formulation = self._name() if self.sign(":") else None
        else:
            name, path, formulation = "", self._word(_PATH, "a path"), None
        arguments = self._arguments()
        prediction = None if self._take(_WITH) is None else self.call()
        return MethodText(name, path, formulation, arguments, prediction)

    def call(self) -> Call:
        """Take a formulation or a prediction."""
        return Call(self._name(), self._arguments())

    def _arguments(self) -> Arguments | None:
        if not self.sign("("):
            return None
        found: list[tuple[str, str]] = []
        while not self.sign(")"):
            if found and not self.sign(","):
                raise self.error("a comma or )")
            found.append((self._take(_KEY) or "", self._word(_VALUE)))
        return tuple(found)

    def _name(self) -> str:
        name = self._take(_NAME)
        if name is None:
            raise self.error("a name")
        return name

    def _word(self, bare: re.Pattern[str], needed: str = "") -> str:
        quoted = self._take(_QUOTED)
        if quoted is None:
            word = (self._take(bare) or "").strip()
        else:
            word = quoted[1:-1].replace('""', '"')
        if needed and not word:
            raise self.error(needed)
        return word

    def _take(self, part: re.Pattern[str]) -> str | None:
        match = part.match(self._text, self.at)
        if match is None:
            return None
        self.at = match.end()
        return match[1]
