"""The arguments of ``kvopt rates``."""

from __future__ import annotations

from instances.traces.arguments import TRACE_OPTIONS
from kvopt.commands import completion
from kvopt.commands.in_seconds import SLO_OPTION
from kvopt.commands.workload_arguments import INPUT, RUNS
from kvopt.methods.grammar import OF_ANSWER
from support.command import option, together

OPTIONS = together(
    INPUT,
    option("--rates", required=True, metavar="A,B,...", help="requests a second, ascending"),
    option(
        "--methods",
        default=OF_ANSWER,
        metavar="A,B,...",
        shell_complete=completion.methods,
        help=f"of solve --list, or file:PATH, a program with your rights (default: {OF_ANSWER})",
    ),
    SLO_OPTION,
    RUNS,
    option("--export", metavar="FILE", help="write one row a run (.csv)"),
    option("--plot", metavar="FILE", help="draw latency and goodput (.svg)"),
    option("--quiet", is_flag=True, help="print the table only"),
    TRACE_OPTIONS,
)
