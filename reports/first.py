"""What a reader wants first of a store: the verdict, the boards, and nothing that takes long."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping
from typing import Any

import pandas as pd
from tabulate import tabulate

from instances.telling import printable
from reports.measured import measured
from reports.references import contradictions, references
from reports.rows import prepare
from reports.table import Table
from reports.tables.leaderboard import bounds_board, leaderboards, outside_board
from reports.tables.solvers import solver_table
from reports.units import Unit, units
from reports.verdict import WORDS, verdict

#: Columns of text around the tables.
_WIDTH = 100


def boards_of(unit: Unit) -> list[Table]:
    """Return the leaderboard, further ones, and those of other kinds of methods; none is empty."""
    ranked = leaderboards(unit.averaged)
    others = [
        outside_board(unit.averaged),
        solver_table(unit.given.runs),
        bounds_board(unit.runs),
    ]
    return [*ranked[:1], *(each for each in others if not each.frame.empty), *ranked[1:]]


def terminal_text(frame: pd.DataFrame, best_known: Mapping[str, Any] | None = None) -> str:
    """Return the verdict and the boards of a store's rows as plain text.

    The parameters are those of :func:`reports.build.build_report`.
    """
    rows = prepare(frame)
    found = units(rows, measured(rows, references(rows, best_known)))
    wrong = [f"CONTRADICTION {each}" for each in contradictions(rows, best_known)]
    told = [printable(each, len(each)) for each in [*wrong, *map(str, verdict(found))]]
    paragraphs = [textwrap.fill(each, _WIDTH) for each in [*told, WORDS]]
    for unit in found:
        for table in boards_of(unit):
            title = f"{table.title}{unit.words}"
            paragraphs.append(f"{title}\n{_aligned(table)}\n{textwrap.fill(table.note, _WIDTH)}")
    return "\n\n".join(paragraphs)


def _aligned(table: Table) -> str:
    text: str = tabulate(
        [[printable(cell.text) for cell in row] for row in table.rows(len(table.frame))],
        headers=[column.title for column in table.columns],
        tablefmt="simple",
        colalign=["right" if column.numeric else "left" for column in table.columns],
        disable_numparse=True,
    )
    return text
