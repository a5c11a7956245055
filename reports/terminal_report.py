"""First text on a store: the verdict, the boards, and nothing that takes long."""

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from tabulate import tabulate

from reports.compared_methods import answer_table
from reports.stored_results import Results
from reports.table import MISSING, Table
from reports.tables.leaderboard import adversarial_board, bounds_board, leaderboards
from reports.time_units import Unit
from reports.verdict_sentences import WORDS, answers, verdict
from support.message_text import WIDTH, printable, wrap_lines

#: Columns that are shown however wide they are, and the cells of a column without news.
_LEAST, _NOTHING = 2, (MISSING, "0", "")
#: Length to which names are wrapped before columns go that stand before the gap.
_SHORTEST_NAME = 28


def other_boards(unit: Unit) -> list[Table]:
    """Return the boards without ranks of policies; none is empty."""
    others = [adversarial_board(unit.adversarial), unit.solvers, bounds_board(unit.runs)]
    return [each for each in others if not each.frame.empty]


def format_leaderboard(results: Results) -> str:
    """Return the verdict and the boards as plain text."""
    tables = [
        f"{table.title}{unit.words}\n{_table_text(table)}"
        for unit in results.units
        for table in (*leaderboards(unit.boards), *other_boards(unit))
    ]
    wrong = [f"CONTRADICTION {each}" for each in results.contradictions]
    words = "\n".join(map(wrap_lines, WORDS))
    return "\n\n".join([*_wrapped(wrong), *tables, *_wrapped(verdict(results.units)), words])


def format_ranking(results: Results) -> str:
    """Return the ranking and the answer of each unit of time as plain text, a few lines."""
    rankings = []
    for unit in results.units:
        if unit.compared is not None:
            head = f"in seconds under {printable(unit.batch_time)}\n" if unit.batch_time else ""
            rankings.append(head + _table_text(unit.compared.table()))
            if (answer := unit.compared.answer) is not None:
                table = _table_text(answer_table(answer))
                rankings.append("\n".join([table, *_wrapped(answers(unit))]))
    return "\n\n".join(rankings)


def _wrapped(lines: Iterable[object]) -> list[str]:
    return [wrap_lines(printable(line, len(line))) for line in map(str, lines)]


def _table_text(table: Table) -> str:
    """Return a table as text with its notes; a table too wide lacks columns, its gap the last."""
    cells = [[printable(cell.text) for cell in row] for row in table.rows(len(table.frame))]
    # A column of numbers has more than nothing on some line.
    kept = [
        k
        for k, column in enumerate(table.columns)
        if not column.numeric or any(line[k] not in _NOTHING for line in cells)
    ]
    left: list[str] = []
    keys = [column.key for column in table.columns]
    name, width = keys.index("label"), None
    while True:
        shown = replace(table, columns=tuple(table.columns[k] for k in kept))
        lines = [[line[k] for k in kept] for line in cells]
        sides = ["right" if column.numeric else "left" for column in shown.columns]
        widths = [width if k == name else None for k in kept]
        how: dict[str, Any] = {"colalign": sides, "disable_numparse": True, "maxcolwidths": widths}
        text: str = tabulate(lines, shown.headers, **how)
        excess = max(map(len, text.splitlines())) - WIDTH
        if len(kept) <= _LEAST or excess <= 0:
            break
        longest = width or max(len(line[name]) for line in cells)
        if keys[kept[-1]] in ("gap", "saving") and longest > _SHORTEST_NAME:
            width = max(longest - excess, _SHORTEST_NAME)
        else:
            kept.remove(last := max(k for k in kept if keys[k] not in ("gap", "label")))
            left.insert(0, table.columns[last].title)
    more = [f"Left out, for the width: {', '.join(left)} (--export has all)."] if left else []
    return "\n".join([text, *more, *map(wrap_lines, shown.notes)])
