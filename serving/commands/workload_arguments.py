"""The arguments of the commands over rates of arrivals, ``kvopt rates`` and ``kvopt capacity``."""

from collections.abc import Callable
from typing import Any

from instances.generate import SET_OPTION, family_seed
from kvopt.checked_numbers import TIME_LIMIT, read_count, read_gigabytes, read_seconds
from kvopt.commands import completion
from kvopt.methods.grammar import OF_ANSWER
from kvopt.project_paths import DEFAULT_STORE
from serving.commands.deployment_arguments import BATCH_TIME_OPTION, DEPLOYMENT_OPTIONS, SLO_OPTION
from serving.slo import read_slo
from serving.traces.trace_arguments import TRACE_OPTIONS
from support.click_command import argument, join_options, option

_CAPACITY_METHODS = "vllm-v1,las,swf"
_TIME_LIMIT = f"of a run (default: {TIME_LIMIT:g})"
KEPT = join_options(
    option("--jobs", "N", "runs side by side (default: 1)", read_count, 1),
    option("--store", "FILE", f"where runs are kept (default: {DEFAULT_STORE})"),
)


def _over_rates(*own: Callable[[Any], Any], export: str, plot: str) -> Callable[[Any], Any]:
    """Return the arguments of a command with ``own`` options."""
    return join_options(
        argument("input", metavar="INPUT", type=completion.instances),
        *own,
        BATCH_TIME_OPTION,
        DEPLOYMENT_OPTIONS,
        option("--arrivals", "K", "seed of the arrivals (default: 0)", family_seed, 0),
        option("--seed", "K", "seed of a family's lengths (default: 0)", family_seed, 0),
        SET_OPTION,
        option("--seeds", "K", "seeds of methods that draw (default: 1)", read_count, 1),
        option("--time-limit", "S", _TIME_LIMIT, read_seconds, TIME_LIMIT),
        option("--memory-limit", "GB", "of a run (default: none)", read_gigabytes),
        KEPT,
        option("--export", "FILE", export),
        option("--plot", "FILE", f"draw {plot} (.svg, .png or .pdf)"),
        option("--quiet", is_flag=True, help="print the table only"),
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


_OWN_METHODS = f"of solve --list, or file:PATH, a program with your rights (default: {OF_ANSWER})"
RATES = _over_rates(
    option("--rates", "A,B,...", "requests a second, ascending", required=True),
    option("--methods", "A,B,...", _OWN_METHODS, completion.methods, OF_ANSWER),
    SLO_OPTION,
    export="write one row a run (.csv)",
    plot="latency and goodput",
)
_SOME_METHODS = f"of solve --list (default: {_CAPACITY_METHODS})"
_OBJECTIVE = "the objective, as in ttft:500ms,tpot:50ms,e2el:30s"
_PRECISION = "the next rate that is not kept is above by so much at most (default: 5)"
_SHARE = "of the requests that keep it at least (default: 99)"
CAPACITY = _over_rates(
    option("--slo", "TEXT", _OBJECTIVE, read_slo, required=True),
    option("--methods", "A,B,...", _SOME_METHODS, completion.methods, _CAPACITY_METHODS),
    option("--share", "PERCENT", _SHARE, _percent, 0.99),
    option("--precision", "PERCENT", _PRECISION, _percent, 0.05),
    export="write the table (.csv or .json)",
    plot="p99 latency by throughput",
)
