"""Markdown that no name can break out of."""

from __future__ import annotations

import re

from tabulate import tabulate

from reports.table import MISSING, Cell, Table

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


def table_text(table: Table, to_pages: str, most: int = MOST_LINES) -> str:
    """Return a table as Markdown, with its note and a word on lines that are left out.

    ``to_pages`` leads from where the text will stand to the folder of the instances' pages.
    """
    if table.frame.empty:
        return f"{table.note}\n\nNothing to show.\n"
    lines = [[_cell(cell, to_pages) for cell in row] for row in table.rows(most)]
    text = tabulate(
        lines,
        headers=[column.title for column in table.columns],
        tablefmt="pipe",
        colalign=["right" if column.numeric else "left" for column in table.columns],
        disable_numparse=True,
    )
    missing = table.missing(most)
    more = f"\n\n{missing:,} more lines are left out here." if missing else ""
    return f"{table.note}\n\n{text}{more}\n"


def _cell(cell: Cell, to_pages: str) -> str:
    if cell.kind != "name" or cell.text == MISSING:
        return cell.text
    span = code(cell.text)
    return f"[{span}]({to_pages}{cell.link}.md)" if cell.link else span
