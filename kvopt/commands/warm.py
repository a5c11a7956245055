"""``kvopt warm``: compile all kernels, so that no run on this machine waits for them."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from instances.compiling import kernel_folder
from instances.streams import steadily
from instances.usage import Parser, UsageError, complain
from kvopt.running.compiled import UNITS, compile_first, missing_units
from kvopt.terminal import CompilingLine

EXIT_OK = 0
EXIT_BAD_USAGE = 2
EXIT_NOT_KEPT = 4


def main(arguments: Sequence[str] | None = None, program: str = "kvopt warm") -> int:
    """Run the command and return its exit code: 0 kept, 2 bad usage, 4 nothing can be kept."""
    return steadily(program, lambda: _main(arguments, program))


def _main(arguments: Sequence[str] | None, program: str) -> int:
    try:
        options = _parse(arguments, program)
    except UsageError as error:
        complain(program, error)
        return EXIT_BAD_USAGE
    line = CompilingLine(sys.stdout)
    compile_first(UNITS, lambda done, of: None if options.quiet else line.tell(done, of))
    line.end()
    if missing := missing_units(UNITS):
        complain(program, f"kernels could not be kept: {', '.join(missing)}")
        return EXIT_NOT_KEPT
    if not options.quiet:
        print(f"all kernels are in {kernel_folder()}")
    return EXIT_OK


def _parse(arguments: Sequence[str] | None, program: str) -> argparse.Namespace:
    parser = Parser(
        prog=program,
        description="Compile all kernels for this machine, so that no run waits for them; in the "
        "image of a container, for instance.  They are kept in the user's cache folder, or where "
        "NUMBA_CACHE_DIR says.",
        epilog="exit code: 0 all are kept, 2 bad usage, 4 they cannot be kept",
    )
    parser.add_argument("--quiet", action="store_true", help="print nothing")
    return parser.parse_args(arguments)
