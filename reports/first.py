"""What a reader wants first of a store: the verdict, the boards, and nothing that takes long."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping
from typing import Any

import pandas as pd
from tabulate import tabulate

from instances.telling import printable
from reports.measured import measured
from reports.per_instance import per_instance
from reports.references import contradictions, references
from reports.rows import prepare
from reports.table import Table
from reports.tables.leaderboard import bounds_board, leaderboards, outside_board
from reports.tables.solvers import solver_table
from reports.timed import Timed, timed
from reports.verdict import WORDS, verdict

#: Columns of text around the tables.
_WIDTH = 100


def boards_of(runs: pd.DataFrame, averaged: pd.DataFrame, given: Timed) -> list[Table]:
    """Return the leaderboard, further ones, and those of other kinds of methods; none is empty.

    Parameters
    ----------
    runs
        From :func:`reports.measured.measured`.
    averaged, given
        The same by instance and by time, without methods that make bounds only.
    """
    ranked = leaderboards(averaged)
    others = [outside_board(averaged), solver_table(given.runs), bounds_board(runs)]
    return [*ranked[:1], *(each for each in others if not each.frame.empty), *ranked[1:]]


def terminal_text(frame: pd.DataFrame, best_known: Mapping[str, Any] | None = None) -> str:
    """Return the verdict and the boards of a store's rows as plain text.

    The parameters are those of :func:`reports.build.build_report`.
    """
    rows = prepare(frame)
    runs = measured(rows, references(rows, best_known))
    scheduled = runs[~runs["bound_only"]]
    averaged = per_instance(scheduled)
    wrong = [f"CONTRADICTION {each}" for each in contradictions(rows, best_known)]
    told = [printable(each, len(each)) for each in [*wrong, *map(str, verdict(averaged))]]
    paragraphs = [textwrap.fill(each, _WIDTH) for each in [*told, WORDS]]
    for table in boards_of(runs, averaged, timed(scheduled)):
        paragraphs.append(f"{table.title}\n{_aligned(table)}\n{textwrap.fill(table.note, _WIDTH)}")
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
