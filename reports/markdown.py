"""Markdown of pages and tables, that no name can break out of."""

import re
from collections.abc import Iterable, Sequence
from pathlib import Path

from tabulate import tabulate

from reports.page_parts import PageWords, Part, ReportFigure, ReportPage
from reports.table import MISSING, Cell, Table
from reports.tables.instance_lines import RUNS
from reports.verdict_sentences import Sentence
from support.message_text import plural

TEMPLATES = Path(__file__).parent / "templates"
#: Lines of a table in Markdown, and of a table that stands in the overview, too.
MOST_LINES, _SHORT = 400, 30
_METHOD = (
    "[`index.html`](index.html) is the same as one page with sortable tables, and has a page for "
    "each instance. `reports/METHOD.md` defines every number.\n"
)


def template(name: str) -> str:
    """Return the text of a file of Markdown among the templates."""
    return (TEMPLATES / f"{name}.md").read_text(encoding="utf-8")


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


def table_text(table: Table, most: int = MOST_LINES) -> str:
    """Return a table with the number of its further lines, its note and its footnotes."""
    if table.frame.empty:
        return f"{table.note}\n\nNothing to show.\n"
    missing = table.missing(most)
    more = [f"{missing:,} more lines are left out here."] if missing else []
    return "\n".join([grid_text(table, most), *(f"{each}\n" for each in (*more, *table.notes))])


def grid_text(table: Table, most: int = MOST_LINES) -> str:
    """Return a table without its notes, numbers to the right."""
    sides = ["right" if column.numeric else "left" for column in table.columns]
    lines = [[_cell_text(cell) for cell in row] for row in table.rows(most)]
    return pipe_table(table.headers, lines, sides)


def _cell_text(cell: Cell) -> str:
    text = code(cell.text) if cell.kind == "name" and cell.text != MISSING else cell.text
    return f"[{text}]({cell.address})" if cell.address else text


def sentence_text(sentence: Sentence) -> str:
    """Return one sentence, its names as code."""
    return "".join(code(text, in_table=False) if named else text for text, named in sentence.marked)


def page_text(title: str, parts: Iterable[Part]) -> str:
    """Return a page: text as it is, all other parts below their titles.

    Figures lie in the folder ``figures`` next to it.
    """
    return "\n".join(text for text in (f"# {title}\n", *map(_part_text, parts)) if text)


def _part_text(part: Part) -> str:
    if isinstance(part, str):
        return part
    if isinstance(part, PageWords):
        lines = [f"{sentence_text(each)}\n" for each in part.sentences]
        notes = "".join(f"- {each}\n" for each in part.notes)
        return "\n".join(["## In words\n", *lines, notes])
    if isinstance(part, ReportFigure):
        return f"## {part.title}\n\n![{part.title}](figures/{part.slug}.svg)\n\n{part.note}\n"
    return f"## {part.title}\n\n{table_text(part)}"


def overview(page: ReportPage) -> str:
    """Return the README of a report, in which long tables are links to their files."""
    parts = [wrong_text(map(str, page.contradictions))]
    parts += [_short_text(it) if isinstance(it, Table) else _part_text(it) for it in page.parts]
    origin = [sentence_text(page.origin)] if page.origin else []
    rows = " ".join([page.summary, *origin])
    return page_text(page.title, [*parts, f"## Rows\n\n{rows}\n", _METHOD])


def _short_text(table: Table) -> str:
    if has_page(table) and len(table.frame) <= _SHORT:
        return _part_text(table)
    suffix = "md" if has_page(table) else "csv"
    lines = plural(len(table.frame), "line")
    return f"## {table.title}\n\n[{lines}](tables/{table.slug}.{suffix})\n"


def has_page(table: Table) -> bool:
    """Return whether a table has a file of Markdown: single runs are CSV and HTML only."""
    return not table.slug.startswith(RUNS)


def table_page(table: Table) -> str:
    """Return the file of one table."""
    return page_text(table.title, [table_text(table.alone)])


def wrong_text(lines: Iterable[str]) -> str:
    """Return the contradictions as a section; empty for none."""
    items = [f"- {code(line, in_table=False)}\n" for line in lines]
    if not items:
        return ""
    return (
        f"## CONTRADICTIONS: {len(items)}\n\nA bound exceeds a checked schedule of the same "
        "instance. One of the two methods is wrong. Nothing below that rests on bounds of these "
        "instances is shown.\n\n" + "".join(items)
    )
