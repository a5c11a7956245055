"""Text for messages, rows and tables: one line that any terminal shows, whatever it is made of."""

from __future__ import annotations

_LONGEST = 600


def one_line(text: object, longest: int = _LONGEST) -> str:
    """Return text with every stretch of blanks as one blank, and as :func:`printable`."""
    return printable(" ".join(str(text).split()), longest)


def printable(text: str, longest: int = _LONGEST) -> str:
    """Return text with control characters written as escapes, cut at so many characters."""
    # The cut comes first too: escapes only make a text longer.
    safe = "".join(c if c.isprintable() else f"\\x{ord(c):02x}" for c in text[: longest + 1])
    return safe if len(safe) <= longest else safe[: longest - 3] + "..."
