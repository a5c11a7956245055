"""Tables of texts as Markdown."""

from __future__ import annotations

from collections.abc import Sequence

from tabulate import tabulate


def pipe_table(headers: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a table whose cells stand as they are given."""
    return f"{tabulate(rows, headers, tablefmt='pipe', disable_numparse=True)}\n"
