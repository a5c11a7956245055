"""Command: the page of the library, ``python -m reports.library [--check]``."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

import pandas as pd
from tabulate import tabulate

from instances.committed import regenerate
from instances.usage import complain
from kvopt.best_known import RegistryError, read_registry
from kvopt.best_known.entry import Registry
from reports.markdown import code
from reports.table import Cell, Table
from reports.tables.library import library_table

FOLDER = Path(__file__).parent
_PROGRAM = "python -m reports.library"
#: From the page to the library's files.
_LIBRARY = "../../instances"
_PROOFS = f"{_LIBRARY}/best_known"
#: The column that links a file, by the file's column.
_LINKS = {
    "instance": (_LIBRARY, "file"),
    "upper": (_PROOFS, "schedule"),
    "lower": (_PROOFS, "certificate"),
}
_END = (
    "An instance links its file, UB the schedule and LB the certificate, where it has one. "
    "[How values come in and are proved](../../docs/best_known.md). This page is a function of "
    f"[the registry]({_LIBRARY}/best_known.json): `{_PROGRAM}` writes it."
)


def page_text(registry: Registry) -> str:
    """Return the page as Markdown."""
    table = library_table(registry)
    lines = [
        [_linked(cell, column.key, line) for cell, column in zip(row, table.columns, strict=True)]
        for row, (_, line) in zip(table.rows(len(table.frame)), table.frame.iterrows(), strict=True)
    ]
    text = tabulate(
        lines,
        headers=[column.title for column in table.columns],
        tablefmt="pipe",
        colalign=["right" if column.numeric else "left" for column in table.columns],
        disable_numparse=True,
    )
    return f"# The library\n\n{_summary(table)}\n\n{table.note}\n\n{text}\n\n{_END}\n"


def _summary(table: Table) -> str:
    """Return the state of the library in a sentence, its figures computed."""
    gaps = table.frame["gap"]
    still = gaps[gaps > 0]
    told = f"{len(gaps):,} instances, {len(gaps) - len(still):,} of them with UB = LB"
    if still.empty:
        return f"{told}."
    widest = code(str(table.frame["instance"].iloc[0]), in_table=False)
    return (
        f"{told}; of the {len(still):,} others the gap is {100 * still.mean():.1f} % on average "
        f"and {100 * still.max():.1f} % at most ({widest})."
    )


def _linked(cell: Cell, key: str, line: pd.Series) -> str:
    text = code(cell.text) if cell.kind == "name" else cell.text
    folder, column = _LINKS.get(key, ("", ""))
    path = line[column] if column else None
    return text if not isinstance(path, str) else f"[{text}]({folder}/{path})"


def main(arguments: Sequence[str] | None = None) -> int:
    """Write the page, or compare it with ``--check``; return the exit code."""
    try:
        registry = read_registry()
    except RegistryError as error:
        complain(_PROGRAM, error)
        return 2
    if registry is None:
        complain(_PROGRAM, "there is no registry of best known values")
        return 2
    wanted = {FOLDER / "README.md": page_text(registry)}
    return regenerate(_PROGRAM, wanted, wanted, arguments)


if __name__ == "__main__":
    sys.exit(main())
