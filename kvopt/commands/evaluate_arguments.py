"""Arguments of ``kvopt evaluate``."""

import click

from kvopt.checked_numbers import TIME_LIMIT, read_count, read_gigabytes, read_seconds
from kvopt.commands import completion
from serving.commands.deployment_arguments import BATCH_TIME_OPTION, DEPLOYMENT_OPTIONS
from serving.commands.workload_arguments import KEPT
from serving.traces.trace_arguments import TRACE_OPTIONS
from support.click_command import CommandOptions, argument, join_options, option, refuse_both
from support.usage_errors import UsageError

EXECUTORS = ("local", "dask")

_METHODS = "of --list, or file:PATH, a program with your rights"
_PREDICTIONS = 'for policies that take them, as "noise(0..2)"'
_TIME = f"seconds a run, without imports (default: {TIME_LIMIT:g})"
_EXECUTOR = "processes here, or Dask workers (default: local)"
#: Options of the runs: instances, methods, seeds and limits.
_RUNS = join_options(
    argument("inputs", nargs=-1, metavar="[SUITE | INSTANCE | FAMILY]...", type=completion.inputs),
    option("--methods", "A,B,...", _METHODS, completion.methods, multiple=True),
    option("--predictions", "P,Q,...", _PREDICTIONS, completion.predictions, multiple=True),
    option("--seeds", "K", "seeds 0 to K-1, for methods that draw (default: 1)", read_count),
    option("--time-limit", "S", _TIME, read_seconds),
    option("--memory-limit", "GB", "resident memory of a run (default: no limit)", read_gigabytes),
    option("--threads", "N", "threads of a method (default: 1)", read_count),
    BATCH_TIME_OPTION,
    DEPLOYMENT_OPTIONS,
)

#: Options of the execution, the store and the reports.
_SWEEP = join_options(
    KEPT,
    option("--report", "DIR", "build the reports of these runs there"),
    option("--export", "FILE", "write the rows (.csv or .parquet)"),
    option("--executor", None, _EXECUTOR, click.Choice(EXECUTORS), "local"),
    option("--scheduler", "ADDRESS", "of Dask, as in tcp://host:8786"),
    option("--rerun", is_flag=True, help="run again what is stored"),
    option("--rerun-failed", is_flag=True, help="run again what gave no schedule"),
)

OPTIONS = join_options(
    _RUNS,
    _SWEEP,
    option("--list", is_flag=True, help="list suites and methods"),
    option("--quiet", is_flag=True, help="print nothing but what went wrong"),
    TRACE_OPTIONS,
)


def judge_options(options: CommandOptions) -> None:
    """Raise a UsageError for options that do not go together."""
    refuse_both(options, "--rerun", "--rerun-failed")
    if bool(options.scheduler) != (options.executor == "dask"):
        raise UsageError("--scheduler and --executor dask go together")
