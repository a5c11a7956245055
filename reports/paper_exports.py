"""Tables for a paper: LaTeX as it is shown, CSV as numbers; figures as PDF."""

import textwrap
from collections.abc import Iterator

import pandas as pd

from instances.time_unit import SECONDS
from kvopt.store.row_files import frame_csv
from reports.page_parts import ReportPage
from reports.table import Table

#: Lines above which a table breaks over pages.
_LONG = 45
#: Columns above which a table is turned; one of :data:`_LONG` has one less.
_WIDE = 8
_NEEDS = r"% \usepackage[T1]{fontenc}, \usepackage{booktabs,graphicx,longtable,pdflscape}"
#: Signs with a meaning in LaTeX, and signs that a font of eight bits lacks.  A bracket or a star
#: behind the end of a line would belong to it.
_TRANSLATED = str.maketrans(
    {
        **{sign: f"\\{sign}" for sign in "&%$#_{}"},
        **{sign: f"{{{sign}}}" for sign in "[]*"},
        "\\": r"\textbackslash{}",
        "~": r"\textasciitilde{}",
        "^": r"\textasciicircum{}",
        "<": r"\textless{}",
        ">": r"\textgreater{}",
        "|": r"\textbar{}",
        "±": r"$\pm$",
        "−": "$-$",
        "×": r"$\times$",
        "≤": r"$\le$",
        "≥": r"$\ge$",
        "∞": r"$\infty$",
        "τ": r"$\tau$",
        "–": "--",
        "…": r"\dots{}",
        "“": "``",
        "”": "''",
        "\N{NO-BREAK SPACE}": "~",
        **{mark: f"$^{digit}$" for digit, mark in enumerate("¹²³⁴⁵⁶⁷⁸⁹", 1)},
    }
)


def exports(report: ReportPage) -> Iterator[tuple[str, str | bytes]]:
    """Yield the files of a report for a paper: paths below its folder, and contents."""
    for part in report.shown:
        if isinstance(part, Table):
            yield f"tables/{part.slug}.tex", latex_table(part)
            yield f"tables/{part.slug}.csv", csv_table(part)
        else:
            yield f"figures/{part.slug}.pdf", part.drawing.image("pdf")


def latex_table(table: Table) -> str:
    """Return a table as LaTeX with booktabs, its notes as the caption; no name is a command."""
    table = table.alone
    lines = [[latex(cell.text) for cell in row] for row in table.rows(len(table.frame))]
    long = len(lines) > _LONG
    turned = len(table.columns) + long > _WIDE
    frame = pd.DataFrame(lines, columns=[*map(_stacked if turned else latex, table.headers)])
    text: str = frame.to_latex(
        index=False,
        escape=False,
        longtable=long,
        column_format="".join("r" if column.numeric else "l" for column in table.columns),
        caption=(latex(" ".join(table.notes)), latex(table.title)),
        label=f"tab:{table.slug}",
    )
    # As wide as the text at most; a table over several pages stands in no box.
    box = r"\resizebox{\ifdim\width>\linewidth\linewidth\else\width\fi}{!}{%"
    text = text.replace(r"\begin{tabular}", f"{box}\n\\begin{{tabular}}")
    text = text.replace(r"\end{tabular}", "\\end{tabular}}")
    if long:
        font = "tiny" if turned else "footnotesize"
        text = f"{{\\{font}\\setlength{{\\tabcolsep}}{{3pt}}\n{text}}}\n"
    turn = f"\\begin{{landscape}}\n{text}\\end{{landscape}}\n" if turned else text
    return f"{_NEEDS}\n{turn}"


def _stacked(title: str) -> str:
    """Return the head of a column in short lines."""
    lines = textwrap.wrap(title, 9, break_long_words=False)
    return r"\shortstack{" + r"\\".join(map(latex, lines)) + "}"


def latex(text: str) -> str:
    """Return text for LaTeX, in which nothing is a command."""
    return "".join(sign if sign.isprintable() else "?" for sign in text.translate(_TRANSLATED))


def csv_table(table: Table) -> str:
    """Return a table as CSV: numbers unrounded, shares as fractions, times in the title's unit.

    The ends of an interval, which is text, and the spread of a mean are further columns.
    """
    frame, scales = table.frame, {"nanoseconds": SECONDS.ticks, "megabytes": 1e6}
    columns: dict[str, pd.Series] = {}
    for column in table.columns:
        values, scale = frame[column.key], scales.get(column.kind)
        columns[column.title] = values if scale is None else values.astype(float) / scale
        if column.sort is not None and column.sort.endswith("_low"):
            columns[f"{column.title}, from"] = frame[column.sort]
            columns[f"{column.title}, to"] = frame[f"{column.sort.removesuffix('low')}high"]
        if column.spread is not None:
            columns[f"{column.title}, ±"] = frame[column.spread]
    return frame_csv(pd.DataFrame(columns))
