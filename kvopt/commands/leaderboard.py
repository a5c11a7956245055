"""The command ``evaluate.py leaderboard``: who is best by a store, in the terminal."""

from __future__ import annotations

from collections.abc import Sequence

from instances.usage import Parser
from kvopt.best_known import known_values
from kvopt.places import DEFAULT_STORE
from kvopt.store.export import read_rows

#: The word after ``evaluate.py``; a folder of this name is ``./leaderboard``.
NAME = "leaderboard"


def leaderboard(arguments: Sequence[str], program: str) -> str:
    """Return the verdict and the boards of a store as text.

    Parameters
    ----------
    arguments
        What follows the word.

    Raises
    ------
    UsageError, ExportError, StoreError, RegistryError
        If they cannot be read, or the store, its exported rows or the registry cannot.
    """
    parser = Parser(
        prog=f"{program} {NAME}",
        description="Print the leaderboard of a store, as its report begins.",
    )
    parser.add_argument(
        "--store",
        metavar="FILE | URL",
        default=str(DEFAULT_STORE),
        help="a store, or exported rows (.csv, .parquet) (default: %(default)s)",
    )
    options = parser.parse_args(arguments)
    from reports.first import terminal_text  # loads pandas: half a second

    return terminal_text(read_rows(options.store), known_values())
