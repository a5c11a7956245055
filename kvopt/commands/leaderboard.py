"""The command ``evaluate.py leaderboard``: the ranking of a store, in the terminal."""

from __future__ import annotations

import click

from kvopt.best_known import RegistryError, known_values
from kvopt.places import DEFAULT_STORE
from kvopt.store import StoreError
from kvopt.store.export import ExportError, read_rows
from support.command import Command, Options, option

#: Word after ``evaluate.py``; a folder of this name is ``./leaderboard``.
NAME = "leaderboard"


@click.command(
    NAME,
    cls=Command,
    fails={2: (ExportError, RegistryError), 6: (StoreError,)},
    examples=("", "--store rows.csv"),
    codes="0 printed; 2 bad usage or input; 6 the store cannot be read",
)
@option(
    "--store",
    "FILE",
    f"a store, or exported rows (.csv, .parquet) (default: {DEFAULT_STORE})",
    default=str(DEFAULT_STORE),
)
def leaderboard(options: Options) -> int:
    """Print the leaderboard of a store, as its report begins."""
    from reports.first import terminal_text  # loads pandas: half a second
    from reports.results import Results

    print(terminal_text(Results(read_rows(options.store), known_values())))
    return 0
