"""The command ``evaluate.py leaderboard``: the ranking of a store, in the terminal."""

import click

from kvopt.best_known import RegistryError, known_values
from kvopt.project_paths import DEFAULT_STORE
from kvopt.store import StoreError
from kvopt.store.row_files import ExportError, read_rows
from support.click_command import Command, CommandOptions, option

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
def leaderboard(options: CommandOptions) -> int:
    """Print the leaderboard of a store, as its report begins."""
    from reports.stored_results import Results
    from reports.terminal_report import format_leaderboard  # loads pandas: half a second

    print(format_leaderboard(Results(read_rows(options.store), known_values())))
    return 0
