"""Command ``kvopt convert``: write a trace, or an instance by name, as an instance file."""

import sys
from functools import partial

import click

from instances import InfeasibleInstanceError
from instances.generate import format_listing, write_out
from instances.instance_files import InstanceFileError, format_instance
from instances.instance_names import find_instance
from serving.traces.formats import formats
from serving.traces.read_trace import read_input
from serving.traces.trace_arguments import TRACE_OPTIONS, trace_options
from support.click_command import Command, CommandOptions, argument, option
from support.output_checks import OutputError, check_outputs
from support.progress import count_progress
from support.usage_errors import UsageError


@click.command(
    "kvopt convert",
    cls=Command,
    fails={2: (OutputError, InstanceFileError, InfeasibleInstanceError)},
    examples=(
        "--list",
        "trace.csv --memory 61035 --out trace.json",
        "trace.csv --memory 61035 --limit 1000 --round-seconds 0.05 --out rounds.json",
        "am1_n10_seed0 --out am1.json",
    ),
    codes="0 written; 2 bad usage or input",
)
@argument("trace", required=False, metavar="TRACE | INSTANCE")
@option("--out", "FILE", "file to write (default: standard output)")
@option("--quiet", is_flag=True, help="print nothing of what was skipped")
@option("--list", is_flag=True, help="name the formats")
@TRACE_OPTIONS
def main(options: CommandOptions) -> int:
    """Write a trace as an instance file; what was skipped goes to standard error.

    INSTANCE is a name of the library or the ladder, or an instance file.
    """
    if options.list:
        rows = [(x.name, x.summary, ", ".join(x.reader.expects)) for x in formats().values()]
        sys.stdout.write(format_listing(rows))
        return 0
    if options.trace is None:
        raise UsageError("expected a TRACE, found none (--list names the formats)")
    path = find_instance(options.trace)
    check_outputs({"--out": options.out}, [path])
    instance, report = read_input(path, trace_options(options), str(options.trace))
    for line in report.shown_lines(quiet=options.quiet) if report else ():
        print(line, file=sys.stderr)
    count = partial(count_progress, what="requests written")
    write_out(options.out, format_instance(instance, count))
    return 0
