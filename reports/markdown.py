"""Markdown of pages and tables, that no name can break out of."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from tabulate import tabulate

from reports.page import Figure, Page, Part, Words
from reports.table import MISSING, Cell, Table
from reports.tables.listed import RUNS
from reports.verdict import Sentence
from support.text import counted

if TYPE_CHECKING:
    from reports.pages.instance import InstancePage

#: Lines of a table in Markdown, and of one that stands in the overview, not in its own file only.
MOST_LINES, _SHORT = 400, 30
_SAME = "The same as one page with sortable tables: [`index.html`](index.html).\n"
_METHOD = (
    "How every number is computed, and what may not be concluded from it, is written in "
    "`reports/METHOD.md`. All of this is a function of the stored rows.\n"
)


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


def cell_code(cell: Cell, *, in_table: bool = True) -> str:
    """Return the text of a cell, a name as code."""
    named = cell.kind == "name" and cell.text != MISSING
    return code(cell.text, in_table=in_table) if named else cell.text


def pipe_table(
    headers: Sequence[str], rows: Sequence[Sequence[object]], align: Sequence[str] = ()
) -> str:
    """Return a table whose cells stand as they are given, columns left-aligned by default."""
    sides = align or None
    text = tabulate(rows, headers, tablefmt="pipe", colalign=sides, disable_numparse=True)
    return f"{text}\n"


def table_text(table: Table, to_pages: str = "", most: int = MOST_LINES) -> str:
    """Return a table with its note and a word on lines that are left out.

    ``to_pages`` leads from where the text will stand to the folder of the instances' pages.
    """
    if table.frame.empty:
        return f"{table.note}\n\nNothing to show.\n"
    missing = table.missing(most)
    more = f"\n{missing:,} more lines are left out here.\n" if missing else ""
    return f"{grid_text(table, to_pages, most)}{more}\n{table.note}\n"


def grid_text(table: Table, to_pages: str = "", most: int = MOST_LINES) -> str:
    """Return a table without its note, numbers to the right."""
    sides = ["right" if column.numeric else "left" for column in table.columns]
    lines = [[_linked(cell, to_pages) for cell in row] for row in table.rows(most)]
    return pipe_table([column.title for column in table.columns], lines, sides)


def _linked(cell: Cell, to_pages: str) -> str:
    address = cell.address or (cell.link and f"{to_pages}{cell.link}.md")
    return f"[{cell_code(cell)}]({address})" if address else cell_code(cell)


def sentence_text(sentence: Sentence) -> str:
    """Return one sentence, its names as code."""
    return "".join(
        code(text, in_table=False) if is_name else text for text, is_name in sentence.marked
    )


def page_text(title: str, parts: Iterable[Part]) -> str:
    """Return a page: what is text stands as it is, all else below its title, empty parts nowhere.

    Figures lie in the folder ``figures`` beside it.
    """
    return "\n".join(text for text in (f"# {title}\n", *map(_part_text, parts)) if text)


def _part_text(part: Part) -> str:
    if isinstance(part, str):
        return part
    if isinstance(part, Words):
        lines = [f"{sentence_text(each)}\n" for each in part.sentences]
        return "\n".join(["## In words\n", *lines, f"{part.note}\n"])
    if isinstance(part, Figure):
        return f"## {part.title}\n\n![{part.title}](figures/{part.slug}.svg)\n\n{part.note}\n"
    return f"## {part.title}\n\n{table_text(part)}"


def overview(page: Page) -> str:
    """Return the README of a report, in which long tables are links to their files."""
    told = [page.summary, sentence_text(page.origin) if page.origin else ""]
    parts = [f"{' '.join(filter(None, told))}\n", wrong_text(map(str, page.contradictions))]
    for part in page.parts:
        parts.append(_short_text(part) if isinstance(part, Table) else _part_text(part))
        parts += [_SAME] if isinstance(part, Words) else []
    return page_text(page.title, [*parts, _METHOD])


def _short_text(table: Table) -> str:
    if not has_page(table):
        lines = counted(len(table.frame), "line")
        return f"## {table.title}\n\n[{lines}](tables/{table.slug}.csv)\n"
    if len(table.frame) <= _SHORT:
        return f"## {table.title}\n\n{table_text(table, 'instances/')}"
    return f"## {table.title}\n\n[{len(table.frame):,} lines](tables/{table.slug}.md)\n"


def has_page(table: Table) -> bool:
    """Return whether a table has a file of Markdown: single runs are CSV and HTML only."""
    return not table.slug.startswith(RUNS)


def table_page(table: Table) -> str:
    """Return the file of one table."""
    return page_text(table.title, [table_text(table, "../instances/")])


def instance_page(page: InstancePage) -> str:
    """Return the file of one instance."""
    facts = [f"- {label}: {cell_code(cell, in_table=False)}\n" for label, cell in page.facts]
    parts = [wrong_text(page.contradictions), "".join(facts)]
    for picture in page.pictures:
        name = f" {code(picture.name, in_table=False)}" if picture.name else ""
        parts.append(f"## {picture.title}{name}\n")
        if picture.svg:
            parts.append(f"![{picture.title}: KV memory over time]({page.file(picture)})\n")
        parts.append(f"{picture.note}\n")
    return page_text(code(page.name, in_table=False), [*parts, *page.tables])


def wrong_text(lines: Iterable[str]) -> str:
    """Return what cannot be true, as a section; empty for nothing."""
    told = [f"- {code(line, in_table=False)}\n" for line in lines]
    if not told:
        return ""
    return (
        f"## CONTRADICTIONS: {len(told)}\n\nA bound exceeds a checked schedule of the same "
        "instance. One of the two methods is wrong. Nothing below that rests on bounds of these "
        "instances is shown.\n\n" + "".join(told)
    )
