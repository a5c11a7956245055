"""The arguments of the commands over rates of arrivals, ``kvopt rates`` and ``kvopt capacity``."""

from __future__ import annotations

from instances.generate import SET_OPTION, family_seed
from kvopt.commands import completion
from kvopt.methods.grammar import OF_ANSWER
from kvopt.places import DEFAULT_STORE
from kvopt.ranges import TIME_LIMIT, read_count, read_gigabytes, read_seconds
from serving.commands.deployment import BATCH_TIME_OPTION, DEPLOYMENT_OPTIONS, SLO_OPTION
from serving.slo import read_slo
from serving.traces.arguments import TRACE_OPTIONS
from support.command import argument, option, together

_INPUT = argument("input", metavar="INPUT", type=completion.instances)
_CAPACITY_METHODS = "vllm-v1,las,swf"

#: How many runs go on at a time, and where they are kept.
KEPT = together(
    option("--jobs", "N", "runs side by side (default: 1)", read_count, 1),
    option("--store", "FILE | URL", f"where runs are kept (default: {DEFAULT_STORE})"),
)

#: The workload, in seconds, and where and how it is run.
_RUNS = together(
    BATCH_TIME_OPTION,
    DEPLOYMENT_OPTIONS,
    option("--arrivals", "K", "seed of the arrivals (default: 0)", family_seed, 0),
    option("--seed", "K", "seed of a family's lengths (default: 0)", family_seed, 0),
    SET_OPTION,
    option("--seeds", "K", "seeds of methods that draw (default: 1)", read_count, 1),
    option("--time-limit", "S", f"of a run (default: {TIME_LIMIT:g})", read_seconds, TIME_LIMIT),
    option("--memory-limit", "GB", "of a run (default: none)", read_gigabytes),
    KEPT,
)
_QUIET = option("--quiet", is_flag=True, help="print the table only")

RATES = together(
    _INPUT,
    option("--rates", "A,B,...", "requests a second, ascending", required=True),
    option(
        "--methods",
        "A,B,...",
        f"of solve --list, or file:PATH, a program with your rights (default: {OF_ANSWER})",
        completion.methods,
        OF_ANSWER,
    ),
    SLO_OPTION,
    _RUNS,
    option("--export", "FILE", "write one row a run (.csv)"),
    option("--plot", "FILE", "draw latency and goodput (.svg, .png or .pdf)"),
    _QUIET,
    TRACE_OPTIONS,
)


def _percent(text: str) -> float:
    """Return a share that is given in percent, above 0 and at most 1."""
    try:
        value = float(text.strip().removesuffix("%"))
    except ValueError:
        value = 0.0
    if not 0.0 < value <= 100.0:
        raise ValueError(f"expected percent above 0, at most 100, found {text!r}")
    return value / 100


CAPACITY = together(
    _INPUT,
    option(
        "--slo",
        "TEXT",
        "the objective, as in ttft:500ms,tpot:50ms,e2el:30s",
        read_slo,
        required=True,
    ),
    option(
        "--methods",
        "A,B,...",
        f"of solve --list (default: {_CAPACITY_METHODS})",
        completion.methods,
        _CAPACITY_METHODS,
    ),
    option(
        "--share", "PERCENT", "of the requests that keep it at least (default: 99)", _percent, 0.99
    ),
    option(
        "--precision",
        "PERCENT",
        "the next rate that is not kept is above by so much at most (default: 5)",
        _percent,
        0.05,
    ),
    _RUNS,
    option("--export", "FILE", "write the table (.csv or .json)"),
    option("--plot", "FILE", "draw p99 latency by throughput (.svg, .png or .pdf)"),
    _QUIET,
    TRACE_OPTIONS,
)
