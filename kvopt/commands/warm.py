"""``kvopt warm``: compile all kernels, so that no run on this machine waits for them."""

import sys

import click

from kvopt.run_progress import CompilingLine
from kvopt.runs.kernel_compilation import UNITS, compile_first, missing_units
from support.click_command import Command, CommandOptions, option
from support.kernel_cache import kernel_folder
from support.usage_errors import complain

EXIT_NOT_KEPT = 4


@click.command(
    "kvopt warm",
    cls=Command,
    examples=("", "--quiet"),
    codes="0 all are kept; 2 bad usage; 4 they cannot be kept",
)
@option("--quiet", is_flag=True, help="print nothing")
def main(options: CommandOptions) -> int:
    """Compile all kernels for this machine, so that no run waits for them.

    In the image of a container, for instance.  They are kept in the user's cache folder, or where
    NUMBA_CACHE_DIR says.
    """
    line = CompilingLine(sys.stdout)
    compile_first(UNITS, lambda done, of: None if options.quiet else line.show(done, of))
    line.end()
    if missing := missing_units(UNITS):
        complain(options.program, f"kernels could not be kept: {', '.join(missing)}")
        return EXIT_NOT_KEPT
    if not options.quiet:
        print(f"all kernels are in {kernel_folder()}")
    return 0
