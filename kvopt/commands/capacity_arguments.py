"""The arguments of ``kvopt capacity``."""

from __future__ import annotations

from instances.command import argument, option, together
from instances.generate import SET_OPTION, family_seed
from instances.traces.arguments import TRACE_OPTIONS
from kvopt.commands import completion
from kvopt.commands.in_seconds import BATCH_TIME_OPTION, DEPLOYMENT_OPTIONS
from kvopt.ranges import TIME_LIMIT, read_count, read_gigabytes, read_seconds
from schedules.real_time.slo import read_slo

_DEFAULT_METHODS = "vllm-v1,las,swf"


def _share(text: str) -> float:
    return _between(text, 0.0, 100.0) / 100


def _precision(text: str) -> float:
    return _between(text, 0.0, 100.0) / 100


def _between(text: str, above: float, most: float) -> float:
    try:
        value = float(text.strip().removesuffix("%"))
    except ValueError:
        value = above
    if not above < value <= most:
        raise ValueError(f"expected percent above {above:g}, at most {most:g}, found {text!r}")
    return value


OPTIONS = together(
    argument("input", metavar="INPUT", shell_complete=completion.instances),
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
        type=_share,
        default=0.99,
        metavar="PERCENT",
        help="of the requests that keep it at least (default: 99)",
    ),
    option(
        "--precision",
        type=_precision,
        default=0.05,
        metavar="PERCENT",
        help="the next rate that is not kept is above by so much at most (default: 5)",
    ),
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
    option(
        "--jobs", type=read_count, default=1, metavar="N", help="runs side by side (default: 1)"
    ),
    option(
        "--store",
        metavar="FILE | URL",
        help="where runs are kept (default: results/runs.sqlite)",
    ),
    option("--export", metavar="FILE", help="write the table (.csv or .json)"),
    option("--plot", metavar="FILE", help="draw p99 latency against throughput (.svg)"),
    option("--quiet", is_flag=True, help="print the table only"),
    TRACE_OPTIONS,
)
