"""What an exception tells, for rows."""

from __future__ import annotations

from pathlib import Path

from support.text import one_line


def where_and_what(error: BaseException) -> str:
    """Return one line on an exception: file and line, type, text."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    where = ""
    if trace is not None:
        where = f"{Path(trace.tb_frame.f_code.co_filename).name}:{trace.tb_lineno}: "
    return one_line(f"{where}{type(error).__name__}: {error}")
