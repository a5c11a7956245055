"""What the commands over rates of arrivals share of their arguments."""

from __future__ import annotations

from instances.generate import SET_OPTION, family_seed
from kvopt.commands import completion
from kvopt.commands.in_seconds import BATCH_TIME_OPTION, DEPLOYMENT_OPTIONS
from kvopt.places import DEFAULT_STORE
from kvopt.ranges import TIME_LIMIT, read_count, read_gigabytes, read_seconds
from support.command import argument, option, together

INPUT = argument("input", metavar="INPUT", shell_complete=completion.instances)

#: How many runs go on at a time, and where they are kept.
KEPT = together(
    option(
        "--jobs", type=read_count, default=1, metavar="N", help="runs side by side (default: 1)"
    ),
    option("--store", metavar="FILE | URL", help=f"where runs are kept (default: {DEFAULT_STORE})"),
)

#: The workload, in seconds, and where and how it is run.
RUNS = together(
    BATCH_TIME_OPTION,
    DEPLOYMENT_OPTIONS,
    option(
        "--arrivals",
        type=family_seed,
        default=0,
        metavar="K",
        help="seed of the arrivals (default: 0)",
    ),
    option(
        "--seed",
        type=family_seed,
        default=0,
        metavar="K",
        help="seed of a family's lengths (default: 0)",
    ),
    SET_OPTION,
    option(
        "--seeds",
        type=read_count,
        default=1,
        metavar="K",
        help="seeds of methods that draw (default: 1)",
    ),
    option(
        "--time-limit",
        type=read_seconds,
        default=TIME_LIMIT,
        metavar="S",
        help=f"of a run (default: {TIME_LIMIT:g})",
    ),
    option("--memory-limit", type=read_gigabytes, metavar="GB", help="of a run (default: none)"),
    KEPT,
)
