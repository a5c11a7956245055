"""Command: write a trace as an instance file, ``kvopt convert TRACE --memory M --out FILE``."""

from __future__ import annotations

import sys
from functools import partial

import click

from instances.files import InstanceFileError, format_instance
from instances.generate import listing, write_out
from instances.traces.arguments import TRACE_OPTIONS, trace_options
from instances.traces.formats import formats
from instances.traces.reading import read_trace
from support.command import Command, Options, argument, option
from support.outputs import OutputError, check_apart, check_outputs
from support.progress import telling
from support.usage import UsageError


@click.command(
    "python -m instances.traces.convert",
    cls=Command,
    fails={2: (OutputError, InstanceFileError)},
    examples=(
        "--list",
        "trace.csv --memory 61035 --out trace.json",
        "trace.csv --memory 61035 --limit 1000 --round-seconds 0.05 --out rounds.json",
    ),
    codes="0 written; 2 bad usage or input",
)
@argument("trace", required=False, metavar="TRACE")
@option("--out", metavar="FILE", help="file to write (default: standard output)")
@option("--quiet", is_flag=True, help="print nothing of what was skipped")
@option("--list", is_flag=True, help="name the formats")
@TRACE_OPTIONS
def main(options: Options) -> int:
    """Write a trace as an instance file; what was skipped goes to standard error."""
    if options.list:
        every = formats().values()
        rows = ((each.name, each.summary, ", ".join(each.reader.expects)) for each in every)
        sys.stdout.write(listing(rows))
        return 0
    if options.trace is None:
        raise UsageError("expected a TRACE, found none (--list names the formats)")
    check_outputs({"--out": options.out}, [options.trace])
    instance, report = read_trace(options.trace, trace_options(options))
    for line in report.told(quiet=options.quiet):
        print(line, file=sys.stderr)
    check_apart({"--out": options.out})
    write_out(options.out, format_instance(instance, partial(telling, what="requests written")))
    return 0


if __name__ == "__main__":
    sys.exit(main())
