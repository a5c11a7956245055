"""The state of the library in a sentence, its figures computed."""

from __future__ import annotations

from instances.telling import counted
from reports.table import Table
from reports.tables.library import CLASSES
from reports.verdict import Name, Sentence


def state(table: Table) -> Sentence:
    """Return how many instances are closed, and how wide the gaps of the others are.

    ``table`` is from :func:`reports.tables.library.library_table`.
    """
    gaps = table.frame["gap"]
    still = gaps[gaps > 0]
    counts = table.frame["class"].value_counts()
    proved = ", ".join(f"{counts.get(each, 0):,} {each}" for each in CLASSES[:-1])
    told = (
        f"{counted(len(gaps), 'instance')}, {len(gaps) - len(still):,} of them with UB = LB "
        f"({proved})"
    )
    if still.empty:
        return Sentence((f"{told}.",))
    rest = (
        f"{told}; of the {len(still):,} others the gap is {100 * still.mean():.1f} % on average "
        f"and {100 * still.max():.1f} % at most ("
    )
    return Sentence((rest, Name(table.frame["instance"].iloc[0]), ")."))
