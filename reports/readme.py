"""The Markdown of a report: an overview, a file a table, a file an instance."""

from __future__ import annotations

from collections.abc import Sequence

from reports.markdown import code, table_text
from reports.pages.instance import InstancePage
from reports.parts import Figure, Report
from reports.table import Table
from reports.tables.listed import RUNS
from reports.verdict import Sentence
from support.text import counted

#: Tables up to this many lines stand in the overview, all others in their own file only.
_SHORT = 30
_METHOD = (
    "How every number is computed, and what may not be concluded from it, is written in "
    "`reports/METHOD.md`. All of this is a function of the stored rows."
)


def overview(report: Report) -> str:
    """Return the README of the report."""
    told = [report.summary, sentence_text(report.origin) if report.origin is not None else ""]
    return "\n".join(
        part
        for part in (
            f"# {report.title}\n",
            f"{' '.join(filter(None, told))}\n",
            _wrong([str(each) for each in report.contradictions]),
            *map(_part_text, report.parts[: report.lead]),
            verdict_text(report),
            "The same as one page with sortable tables: [`index.html`](index.html).\n",
            *map(_part_text, report.parts[report.lead :]),
            f"{_METHOD}\n",
        )
        if part
    )


def _part_text(part: Table | Figure) -> str:
    if not isinstance(part, Table):
        return figure_text(part)
    if not has_page(part):
        lines = counted(len(part.frame), "line")
        return f"## {part.title}\n\n[{lines}](tables/{part.slug}.csv)\n"
    if len(part.frame) <= _SHORT:
        return f"## {part.title}\n\n{table_text(part, 'instances/')}"
    return f"## {part.title}\n\n[{len(part.frame):,} lines](tables/{part.slug}.md)\n"


def figure_text(figure: Figure) -> str:
    """Return a figure with its title and note, for a page above the folder of the figures."""
    return f"## {figure.title}\n\n![{figure.title}](figures/{figure.slug}.svg)\n\n{figure.note}\n"


def verdict_text(report: Report) -> str:
    """Return the verdict, a paragraph each sentence, and what its words mean."""
    return "\n".join(
        [
            "## In words\n",
            *(f"{sentence_text(each)}\n" for each in report.verdict),
            f"{report.words}\n",
        ]
    )


def sentence_text(sentence: Sentence) -> str:
    """Return one sentence, its names as code."""
    return "".join(
        code(text, in_table=False) if is_name else text for text, is_name in sentence.marked
    )


def has_page(table: Table) -> bool:
    """Whether a table has a file of Markdown: single runs are CSV and HTML only."""
    return not table.slug.startswith(RUNS)


def table_page(table: Table) -> str:
    """Return the file of one table."""
    return f"# {table.title}\n\n{table_text(table, '../instances/')}"


def instance_page(page: InstancePage) -> str:
    """Return the file of one instance."""
    parts = [f"# {code(page.name, in_table=False)}\n", _wrong(page.contradictions)]
    facts = [
        f"- {label}: {code(cell.text, in_table=False) if cell.kind == 'name' else cell.text}"
        for label, cell in page.facts
    ]
    parts.append("\n".join(facts) + "\n")
    for picture in page.pictures:
        name = f" {code(picture.name, in_table=False)}" if picture.name else ""
        parts.append(f"## {picture.title}{name}\n")
        if picture.svg:
            parts.append(f"![{picture.title}: KV memory over time]({page.file(picture)})\n")
        parts.append(f"{picture.note}\n")
    parts += [f"## {table.title}\n\n{table_text(table, '')}" for table in page.tables]
    return "\n".join(part for part in parts if part)


def _wrong(lines: Sequence[str]) -> str:
    if not lines:
        return ""
    told = [f"- {code(line, in_table=False)}" for line in lines]
    return (
        f"## CONTRADICTIONS: {len(lines)}\n\nA bound exceeds a checked schedule of the same "
        "instance. One of the two methods is wrong. Nothing below that rests on bounds of these "
        "instances is shown.\n\n" + "\n".join(told) + "\n"
    )
