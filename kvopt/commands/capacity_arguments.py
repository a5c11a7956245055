"""The arguments of ``kvopt capacity``."""

from __future__ import annotations

from instances.traces.arguments import TRACE_OPTIONS
from kvopt.commands import completion
from kvopt.commands.workload_arguments import INPUT, RUNS
from schedules.real_time.slo import read_slo
from support.command import option, together

_DEFAULT_METHODS = "vllm-v1,las,swf"


def _percent(text: str) -> float:
    """Return a share that is given in percent, above 0 and at most 1."""
    try:
        value = float(text.strip().removesuffix("%"))
    except ValueError:
        value = 0.0
    if not 0.0 < value <= 100.0:
        raise ValueError(f"expected percent above 0, at most 100, found {text!r}")
    return value / 100


OPTIONS = together(
    INPUT,
    option(
        "--slo",
        metavar="TEXT",
        type=read_slo,
        required=True,
        help="the objective, as in ttft:0.5,tpot:50ms,e2el:30",
    ),
    option(
        "--methods",
        default=_DEFAULT_METHODS,
        metavar="A,B,...",
        shell_complete=completion.methods,
        help=f"of solve --list (default: {_DEFAULT_METHODS})",
    ),
    option(
        "--share",
        type=_percent,
        default=0.99,
        metavar="PERCENT",
        help="of the requests that keep it at least (default: 99)",
    ),
    option(
        "--precision",
        type=_percent,
        default=0.05,
        metavar="PERCENT",
        help="the next rate that is not kept is above by so much at most (default: 5)",
    ),
    RUNS,
    option("--export", metavar="FILE", help="write the table (.csv or .json)"),
    option("--plot", metavar="FILE", help="draw p99 latency against throughput (.svg)"),
    option("--quiet", is_flag=True, help="print the table only"),
    TRACE_OPTIONS,
)
