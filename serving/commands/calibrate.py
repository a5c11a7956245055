"""``kvopt calibrate``: a batch time from measured requests, with its error on others of them."""

import sys

import click
import numpy as np

from heuristics.policy import NotApplicableError
from heuristics.round_driver import EndlessLoopError
from instances import InfeasibleInstanceError, InstanceFileError
from instances.batch_time import BatchTimeError
from instances.instance_names import find_instance
from kvopt.commands.plain_table import plain_table
from kvopt.methods.grammar import MethodError, read_method
from serving.answer import percent
from serving.batch_time_choice import describe_limits, recorded_engine
from serving.calibration import calibrated, simulate
from serving.metrics import PERCENTILES, latencies, spreads
from serving.traces.read_trace import read_input
from serving.traces.trace_arguments import TRACE_OPTIONS, trace_options
from support.click_command import Command, CommandOptions, argument, option
from support.usage_errors import UsageError, complain

#: Share by which a fitted mean may be off without a warning.
_TOLERATED = 0.1
_BAD = InstanceFileError, InfeasibleInstanceError, MethodError


@click.command(
    "kvopt calibrate",
    cls=Command,
    fails={2: (*_BAD, NotApplicableError, EndlessLoopError, BatchTimeError)},
    examples=("requests.jsonl", 'bench.json --memory 41408 --policy "vllm-v1(running=128)"'),
    codes="0 fitted; 2 bad usage or input",
)
@argument("file", metavar="FILE")
@option("--policy", "TEXT", "scheduler that was measured (default: vllm-v1, limits of the file)")
@TRACE_OPTIONS
def main(options: CommandOptions) -> int:
    """Fit a batch time to the first and last tokens of measured requests (docs/measured.md).

    FILE is a result with these times (kvopt convert --list).  Every second request by arrival is
    fitted, and the errors of the others are shown.
    """
    path = find_instance(options.file)
    instance, report = read_input(path, trace_options(options), str(options.file))
    for line in report.shown_lines() if report else ():
        print(line, file=sys.stderr)
    if report is None or report.measured is None or instance.time_unit != "second":
        raise UsageError("expected a result with times of first and last tokens, found none")
    method = read_method(options.policy or recorded_engine(report.settings))
    if method.call is None or method.advised:
        raise UsageError(f"--policy: expected a published policy without an LP, found {method}")
    fitted = np.arange(len(instance)) % 2 == 0
    batch_time = calibrated(instance, report.measured, method.call, fitted)
    found = simulate(instance, method.call, batch_time)
    held_out = np.flatnonzero(~fitted)
    real = spreads(report.measured.take(held_out))
    ours = spreads(latencies(found).take(held_out))
    rows, off = [], []
    for name, spread in real.items():
        pairs = [(value or 0.0, ours[name][key] or 0.0) for key, value in spread.items()]
        shown = [f"{value / 1000:.4g}" for value, _ in pairs]
        errors = [b / a - 1 for a, b in pairs if a]
        rows.append([name.upper(), *shown, *map(percent, errors)])
        if name != "ttft" and errors and abs(errors[0]) > _TOLERATED:
            off.append(f"mean {name.upper()} {percent(errors[0])}")
    print(f'--policy      "{method}"\n--batch-time  "{batch_time}"')
    print(f"limits        {describe_limits(batch_time)}\n")
    print(f"{len(held_out)} requests that were not fitted: seconds, and simulated / measured - 1")
    columns = ["mean", *(f"p{each}" for each in PERCENTILES)]
    print(plain_table(["", *columns, *columns], rows))
    if off:
        complain(options.program, f"the fit is off, {', '.join(off)}; see docs/measured.md")
    return 0
