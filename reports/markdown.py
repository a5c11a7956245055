"""Markdown that no name can break out of."""

from __future__ import annotations

import re
from collections.abc import Sequence

from tabulate import tabulate

from reports.table import MISSING, Cell, Column, Table

#: Lines of a table in Markdown.
MOST_LINES = 400


def code(text: str, *, in_table: bool = True) -> str:
    """Return text from the rows as a code span: nothing in it is HTML, a link or emphasis.

    In a table a pipe is escaped, which holds in code spans too (GitHub Flavored Markdown, tables).
    """
    # Whatever ends a line would end the cell.
    flat = "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in text)
    if not flat.strip():
        return MISSING
    longest = max((len(run) for run in re.findall("`+", flat)), default=0)
    fence = "`" * (longest + 1)
    padded = f" {flat} " if flat[0] in "` " or flat[-1] in "` " else flat
    span = f"{fence}{padded}{fence}"
    return span.replace("|", "\\|") if in_table else span


def pipe_table(
    headers: Sequence[str], rows: Sequence[Sequence[object]], align: Sequence[str] = ()
) -> str:
    """Return a table whose cells stand as they are given, columns left-aligned by default."""
    sides = align or None
    text = tabulate(rows, headers, tablefmt="pipe", colalign=sides, disable_numparse=True)
    return f"{text}\n"


def column_table(columns: Sequence[Column], rows: Sequence[Sequence[str]]) -> str:
    """Return a table whose cells stand as they are given, numbers to the right."""
    sides = ["right" if column.numeric else "left" for column in columns]
    return pipe_table([column.title for column in columns], rows, sides)


def table_text(table: Table, to_pages: str, most: int = MOST_LINES) -> str:
    """Return a table as Markdown, with its note and a word on lines that are left out.

    ``to_pages`` leads from where the text will stand to the folder of the instances' pages.
    """
    if table.frame.empty:
        return f"{table.note}\n\nNothing to show.\n"
    lines = [[_cell(cell, to_pages) for cell in row] for row in table.rows(most)]
    text = column_table(table.columns, lines)
    missing = table.missing(most)
    more = f"\n{missing:,} more lines are left out here.\n" if missing else ""
    return f"{text}{more}\n{table.note}\n"


def _cell(cell: Cell, to_pages: str) -> str:
    if cell.kind != "name" or cell.text == MISSING:
        return cell.text
    span = code(cell.text)
    return f"[{span}]({to_pages}{cell.link}.md)" if cell.link else span
