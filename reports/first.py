"""First text on a store: the verdict, the boards, and nothing that takes long."""

from __future__ import annotations

from tabulate import tabulate

from reports.compared import answer_table
from reports.results import Results
from reports.table import MISSING, Table
from reports.tables.leaderboard import adversarial_board, bounds_board, leaderboards
from reports.units import Unit
from reports.verdict import WORDS, answers, verdict
from support.text import WIDTH, printable, wrapped

#: Columns that are shown however wide they are, and what a column without news has.
_LEAST, _NOTHING = 2, (MISSING, "0", "")


def other_boards(unit: Unit) -> list[Table]:
    """Return the boards without ranks of policies; none is empty."""
    others = [adversarial_board(unit.adversarial), unit.solvers, bounds_board(unit.runs)]
    return [each for each in others if not each.frame.empty]


def terminal_text(results: Results) -> str:
    """Return the verdict and the boards as plain text."""
    wrong = [f"CONTRADICTION {each}" for each in results.contradictions]
    told = [printable(each, len(each)) for each in wrong]
    tables = [
        f"{table.title}{unit.words}\n{_aligned(table)}\n{wrapped(table.note)}"
        for unit in results.units
        for table in (*leaderboards(unit.boards), *other_boards(unit))
    ]
    said = [printable(each, len(each)) for each in map(str, verdict(results.units))]
    return "\n\n".join([*map(wrapped, told), *tables, *map(wrapped, [*said, WORDS])])


def ranking_text(results: Results) -> str:
    """Return the ranking and the answer of each unit of time as plain text, a few lines."""
    rankings = []
    for unit in results.units:
        if unit.compared is not None:
            table = unit.compared.table()
            told = [f"in seconds under {printable(unit.batch_time)}"] if unit.batch_time else []
            note = wrapped(table.note)
            rankings.append("\n".join([*told, _aligned(table), note]))
            if (answer := unit.compared.answer) is not None:
                said = [printable(str(each), len(str(each))) for each in answers(unit)]
                rankings.append("\n".join([_aligned(answer_table(answer)), *map(wrapped, said)]))
    return "\n\n".join(rankings)


def _aligned(table: Table) -> str:
    """Return a table as text; where it is too wide without its last columns, which are named."""
    cells = [[printable(cell.text) for cell in row] for row in table.rows(len(table.frame))]
    # A column of numbers has more than nothing on some line.
    kept = [
        k
        for k, column in enumerate(table.columns)
        if not column.numeric or any(line[k] not in _NOTHING for line in cells)
    ]
    text, left = _grid(table, cells, kept), ""
    while len(kept) > _LEAST and max(map(len, text.splitlines())) > WIDTH:
        left = f"{table.columns[kept.pop()].title}, {left}"
        text = _grid(table, cells, kept)
    return f"{text}\nLeft out here: {left[:-2]}." if left else text


def _grid(table: Table, cells: list[list[str]], kept: list[int]) -> str:
    columns = [table.columns[k] for k in kept]
    text: str = tabulate(
        [[line[k] for k in kept] for line in cells],
        headers=[column.title for column in columns],
        tablefmt="simple",
        colalign=["right" if column.numeric else "left" for column in columns],
        disable_numparse=True,
    )
    return text
