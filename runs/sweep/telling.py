"""Text for rows: one line, whatever it is made of."""

from __future__ import annotations

from pathlib import Path

_LONGEST = 600


def one_line(text: str) -> str:
    """Return text that any terminal, table and database takes: no control characters."""
    # What is cut away need not be looked at; a method may send any length.
    flat = " ".join(text[: 4 * _LONGEST].split())
    safe = "".join(c if c.isprintable() else f"\\x{ord(c):02x}" for c in flat)
    return safe if len(safe) <= _LONGEST else safe[: _LONGEST - 3] + "..."


def where_and_what(error: BaseException) -> str:
    """Return one line on an exception: file and line, type, text."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    where = ""
    if trace is not None:
        where = f"{Path(trace.tb_frame.f_code.co_filename).name}:{trace.tb_lineno}: "
    return one_line(f"{where}{type(error).__name__}: {error}")
