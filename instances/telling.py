"""Text for messages, rows and tables: one line that any terminal shows, whatever it is made of."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches

_LONGEST = 600
#: Most names that a complaint proposes, and how alike they must be, from 0 to 1.
_PROPOSED, _ALIKE = 3, 0.6


def one_line(text: object, longest: int = _LONGEST) -> str:
    """Return text with every stretch of blanks as one blank, and as :func:`printable`."""
    return printable(" ".join(str(text).split()), longest)


def printable(text: str, longest: int = _LONGEST) -> str:
    """Return text with control characters written as escapes, cut at so many characters."""
    # The cut comes first too: escapes only make a text longer.
    safe = "".join(c if c.isprintable() else f"\\x{ord(c):02x}" for c in text[: longest + 1])
    return safe if len(safe) <= longest else safe[: longest - 3] + "..."


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """Return the end of a complaint that proposes the nearest names, or nothing.

    Upper case, and ``_`` for ``-``, count for nothing.
    """
    names = {_plain(name): name for name in known}
    near = get_close_matches(_plain(word), names, _PROPOSED, _ALIKE)
    return f"; did you mean {', '.join(names[each] for each in near)}?" if near else ""


def _plain(name: str) -> str:
    return name.casefold().replace("_", "-")
