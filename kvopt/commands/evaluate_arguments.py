"""The arguments of ``kvopt evaluate``."""

from __future__ import annotations

import click

from instances.traces.arguments import TRACE_OPTIONS
from kvopt.commands import completion
from kvopt.commands.in_seconds import BATCH_TIME_OPTION, DEPLOYMENT_OPTIONS
from kvopt.commands.workload_arguments import KEPT
from kvopt.ranges import TIME_LIMIT, read_count, read_gigabytes, read_seconds
from support.command import Options, argument, option, refuse_both, together
from support.usage import UsageError

EXECUTORS = ("local", "dask")

#: What decides which runs there are: instances, methods, seeds and limits.
_RUNS = together(
    argument("inputs", nargs=-1, metavar="[SUITE | INSTANCE]...", shell_complete=completion.inputs),
    option(
        "--methods",
        multiple=True,
        metavar="A,B,...",
        shell_complete=completion.methods,
        help="of --list, or file:PATH, a program with your rights",
    ),
    option(
        "--seeds",
        type=read_count,
        metavar="K",
        help="seeds 0 to K-1, for methods that draw (default: 1)",
    ),
    option(
        "--time-limit",
        type=read_seconds,
        metavar="S",
        help=f"seconds a run, without imports (default: {TIME_LIMIT:g})",
    ),
    option(
        "--memory-limit",
        type=read_gigabytes,
        metavar="GB",
        help="resident memory of a run (default: no limit)",
    ),
    option("--threads", type=read_count, metavar="N", help="threads of a method (default: 1)"),
    BATCH_TIME_OPTION,
    DEPLOYMENT_OPTIONS,
)

#: Where and how the runs are carried out, kept and reported.
_SWEEP = together(
    KEPT,
    option("--report", metavar="DIR", help="build the reports of these runs there"),
    option("--export", metavar="FILE", help="write the rows (.csv or .parquet)"),
    option(
        "--executor",
        type=click.Choice(EXECUTORS),
        default="local",
        help="processes here, or Dask workers (default: local)",
    ),
    option("--scheduler", metavar="ADDRESS", help="of Dask, as in tcp://host:8786"),
    option("--rerun", is_flag=True, help="run again what is stored"),
    option("--rerun-failed", is_flag=True, help="run again what gave no schedule"),
)

OPTIONS = together(
    _RUNS,
    _SWEEP,
    option("--list", is_flag=True, help="list suites and methods"),
    option("--quiet", is_flag=True, help="print nothing but what went wrong"),
    TRACE_OPTIONS,
)


def judge_options(options: Options) -> None:
    """Refuse options that do not go together.

    Raises
    ------
    UsageError
        With one line.
    """
    refuse_both(options, "--rerun", "--rerun-failed")
    if bool(options.scheduler) != (options.executor == "dask"):
        raise UsageError("--scheduler and --executor dask go together")
