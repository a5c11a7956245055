"""Text for messages, rows and tables: one line that any terminal shows, from any source."""

import csv
import io
import re
import textwrap
from collections.abc import Iterable, Sequence
from difflib import get_close_matches

_LONGEST = 600
#: Columns of text for a reader.
WIDTH = 100
#: The blank between a number, or an interval, and its unit.
_UNIT = re.compile(r"(?<=[\d\]]) (?=(?:%|s|ms|GB|tokens?|rounds?)(?:\W|$))")
#: Beginning of a formula, also behind quotes, so that no two texts give one cell.
_FORMULA = re.compile(r"'*[=+\-@\t\r\n]")
#: Most names that a complaint proposes, and how alike they must be, from 0 to 1.
_PROPOSED, _ALIKE = 3, 0.55
#: Most that begin with the word: it may be a name whose end was left out.
_BEGINNING = 10


def one_line(text: object, longest: int = _LONGEST) -> str:
    """Return :func:`printable` text with every stretch of blanks as one blank."""
    return printable(" ".join(str(text).split()), longest)


def printable(text: str, longest: int = _LONGEST) -> str:
    """Return text with control characters written as escapes, cut at so many characters."""
    # The cut comes first too: escapes only make a text longer.
    safe = "".join(c if c.isprintable() else f"\\x{ord(c):02x}" for c in text[: longest + 1])
    return safe if len(safe) <= longest else safe[: longest - 3] + "..."


def integer_text(number: int) -> str:
    """Return an integer as text; one of very many digits as a power of two."""
    return str(number) if number.bit_length() < 200 else f"about 2**{number.bit_length() - 1}"


def cut_middle(text: str, longest: int) -> str:
    """Return a text, without its middle where it is too long."""
    if len(text) <= longest:
        return text
    return f"{text[: (longest - 1) // 2]}…{text[len(text) - longest // 2 :]}"


def wrap_lines(text: str, width: int = WIDTH, indent: str = "") -> str:
    """Return text in lines of so many columns, all but the first indented; units, words stay."""
    whole = textwrap.TextWrapper(
        width, subsequent_indent=indent, break_on_hyphens=False, break_long_words=False
    )
    return whole.fill(glue_units(text)).replace("\N{NO-BREAK SPACE}", " ")


def summary_text(rows: Sequence[tuple[str, str]]) -> str:
    """Return aligned lines of labels and values; of a value with lines the last is wrapped."""
    width = max(len(label) for label, _ in rows)
    below = " " * (width + 2)
    found: list[str] = []
    for label, value in rows:
        text = f"{label:<{width}}  {value}".replace("\n", f"\n{below}")
        *table, last = text.split("\n")
        found += [*table, wrap_lines(last, indent=below)]
    return "\n".join(found)


def glue_units(text: str) -> str:
    """Return text with a no-break space between each number and its unit."""
    return _UNIT.sub("\N{NO-BREAK SPACE}", text)


def csv_text(columns: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Return a CSV whose lines end in a newline alone."""
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows([columns, *rows])
    return text.getvalue()


def guard_cell(text: str) -> str:
    """Return the text of a CSV cell that no spreadsheet takes for a formula: ``'=1+1``."""
    return f"'{text}" if _FORMULA.match(text) else text


def unguard_cell(text: str) -> str:
    """Return the text from which :func:`guard_cell` made a cell."""
    return text[1:] if text.startswith("'") and _FORMULA.match(text) else text


def plural(number: int, what: str) -> str:
    """Return a number with the word for it: ``1 instance``, ``1,200 instances``, ``2 policies``."""
    many = f"{what[:-1]}ies" if what.endswith("y") else f"{what}s"
    return f"{number:,} {what if number == 1 else many}"


def find_name(word: str, known: Iterable[str]) -> str | None:
    """Return the name that a word means, upper case and ``_`` for ``-`` aside."""
    alike = [name for name in known if _plain(name) == _plain(word)]
    return word if word in alike else alike[0] if len(alike) == 1 else None


def unknown_name(what: str, word: str, known: Iterable[str]) -> str:
    """Return a complaint about an unknown name: with the nearest names, or else with all."""
    names = list(known)
    near = did_you_mean(word, names) or f", expected one of {', '.join(names)}"
    return f"unknown {what} {word!r}{near}"


def did_you_mean(word: str, known: Iterable[str], alike: float = _ALIKE) -> str:
    """Return the end of a complaint that proposes up to ten near names, or nothing."""
    names = {_plain(name): name for name in known}
    plain = _plain(word)
    beginning = [each for each in names if len(plain) > 1 and each.startswith(plain)]
    shown = beginning[:_BEGINNING]
    for each in get_close_matches(plain, names, _PROPOSED, alike):
        if len(shown) < _PROPOSED and each not in shown:
            shown.append(each)
    proposed = [names[each] for each in shown]
    if len(beginning) > _BEGINNING:
        proposed.append(f"{len(beginning) - _BEGINNING} more")
    return f"; did you mean {', '.join(proposed)}?" if proposed else ""


def _plain(name: str) -> str:
    return name.casefold().replace("_", "-")
