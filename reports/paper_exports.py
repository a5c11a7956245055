"""Tables for a paper: LaTeX as it is shown, CSV as numbers; figures as PDF."""

from collections.abc import Iterator

import pandas as pd

from instances.time_unit import SECONDS
from kvopt.store.row_files import frame_csv
from reports.page_parts import ReportPage
from reports.table import Table

#: Lines above which a table breaks over pages.
_LONG = 45
_NEEDS = "% \\usepackage[T1]{fontenc}, \\usepackage{booktabs}, \\usepackage{graphicx}"
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
    frame = pd.DataFrame(lines, columns=[latex(title) for title in table.headers])
    long = len(frame) > _LONG
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
    boxed = text.replace(r"\begin{tabular}", f"{box}\n\\begin{{tabular}}")
    boxed = boxed.replace(r"\end{tabular}", "\\end{tabular}}")
    return f"{_NEEDS}{', longtable' if long else ''}\n{boxed}"


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
