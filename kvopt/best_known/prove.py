"""Command: run stale proofs again, or a method as one more proof.

Each proof is written as it ends, so that the same command goes on where it was stopped, however.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

import click

from instances.named import FOLDER
from kvopt.best_known.again import prove_again
from kvopt.best_known.files import RegistryError
from kvopt.methods.grammar import MethodError, read_method
from kvopt.ranges import read_seconds
from support.checkout import require_checkout
from support.command import Command, Options, argument, option
from support.jsonfile import FileError
from support.usage import UsageError

EXIT_OK = 0
EXIT_OPEN = 1
EXIT_BAD_USAGE = 2


@click.command(
    "python -m kvopt.best_known.prove",
    cls=Command,
    fails={EXIT_BAD_USAGE: (RegistryError, FileError, MethodError, OSError)},
    interrupted="interrupted; the same command goes on",
    examples=("--stale --each 60", "am1_00 --by cpsat:cpsat-strong"),
    codes="0 all were proved; 1 the time was up before, or a proof did not hold; 2 bad usage, or a "
    "registry or file that cannot be read or written",
)
@argument("names", nargs=-1, metavar="[INSTANCE]...")
@option("--stale", is_flag=True, help="run the proofs again that other sources or solvers made")
@option("--drop", is_flag=True, help="with --stale: what does not hold leaves the registry")
@option("--by", "METHOD", "enter a proof of INSTANCE by this method", default="")
@option("--each", "S", "seconds of each run (default: 600)", read_seconds, 600.0)
@option("--folder", "DIR", "(default: instances/)", Path, FOLDER)
@option("--time-limit", "S", "seconds of all together (default: none)", read_seconds, float("inf"))
def main(options: Options) -> int:
    """Run stale proofs again, or a method as one more proof of INSTANCE.

    A proof is written as it ends: the same command goes on where it was stopped.
    """
    if options.folder == FOLDER:
        require_checkout("--folder names another folder")
    if options.by and not options.names:
        raise UsageError("--by: expected the instances that are to be proved")
    if not options.by and not options.stale:
        raise UsageError("expected --stale or --by METHOD")
    code = EXIT_OK
    deadline = time.monotonic() + options.time_limit
    method = read_method(options.by).text if options.by else ""
    for line, held in prove_again(
        options.folder, options.names, options.each, deadline, method, options.drop
    ):
        print(line, flush=True)
        code = code if held else EXIT_OPEN
    return code


if __name__ == "__main__":
    sys.exit(main())
