"""Parts of the commands over many runs: the requests, the store, the outputs."""

from __future__ import annotations

import math
import re
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import click

from instances import InfeasibleInstanceError, Instance
from instances.batch_time import BatchTime
from instances.families import families
from instances.generate import draw_family, name_parameters
from instances.instance_names import describe_hidden, find_instance
from kvopt.methods.fingerprint import unread_neighbours
from kvopt.methods.grammar import MethodError
from kvopt.methods.method import Method
from kvopt.project_paths import DEFAULT_STORE
from kvopt.store import StoreError
from kvopt.store.location import store_files
from kvopt.sweeps.sweep_inputs import Wishes
from serving.batch_time import DEFAULT
from serving.batch_time_choice import (
    describe_batch_time,
    describe_limits,
    describe_simulation,
    read_wish,
    refuse_silent_default,
    with_limits,
)
from serving.capacity_search import WrongMethodError
from serving.commands.deployment_arguments import deploy
from serving.traces import TraceReport
from serving.traces.read_trace import read_input
from serving.traces.trace_arguments import trace_options
from support.click_command import Command, CommandOptions, refuse_suffixes
from support.json_files import write_bytes, write_text
from support.message_text import find_name
from support.output_checks import (
    PICTURES,
    OutputError,
    check_apart,
    check_outputs,
    write_outputs,
    written_paths,
)
from support.usage_errors import UsageError, complain

#: The line after Ctrl-C of a command with stored runs.
RESUMES = "interrupted; what was finished is stored, the same command resumes"
EXIT_OK, EXIT_FAILED, EXIT_BAD_INPUT, EXIT_REFUSED, EXIT_STORE = 0, 1, 2, 5, 6
#: Declares a command over rates of arrivals.
over_rates = partial(
    click.command,
    cls=Command,
    fails={
        EXIT_BAD_INPUT: (OutputError, MethodError, ValueError, InfeasibleInstanceError),
        EXIT_REFUSED: (WrongMethodError,),
        EXIT_STORE: (StoreError,),
    },
    interrupted=RESUMES,
)


def prepared(
    options: CommandOptions, methods: Iterable[Method], who: str, exports: Sequence[str]
) -> tuple[Instance, Wishes, BatchTime]:
    """Return requests, wishes, batch time, or refuse them before any run; ``who`` sets arrivals."""
    suffixes = {"export": exports, "plot": PICTURES}
    memory = deploy(options, [options.input])
    wishes = read_wishes(options)
    refuse_suffixes(options, suffixes)
    instance, report = _workload(options, wishes.batch_time, who)
    check_beside_store(options, *suffixes)
    model = with_limits(wishes.batch_time, report)
    if not options.quiet:
        print_on_stderr(batch_time_lines([(model, instance.memory)], wishes.batch_time is None))
    tell_unread(options, methods, wishes)
    options.simulated = describe_simulation([model.name], memory)
    return instance, replace(wishes, batch_time=model), model


def read_wishes(options: CommandOptions, **more: Any) -> Wishes:
    """Return the wishes of the runs."""
    outputs = filter(None, (vars(options).get(name) for name in ("report", "export", "plot")))
    return Wishes(
        seeds=options.seeds,
        time_limit=options.time_limit,
        memory_limit=options.memory_limit,
        batch_time=read_wish(options.batch_time),
        outputs=written_paths([*store_files(options.store or DEFAULT_STORE), *outputs]),
        **more,
    )


def tell_unread(options: CommandOptions, methods: Iterable[Method], wishes: Wishes) -> None:
    """Name the files with too many neighbours, whose runs are not taken from the store."""
    for line in unread_neighbours(methods, wishes.outputs or ()):
        complain(options.program, line)


def print_on_stderr(lines: Iterable[str]) -> None:
    """Print lines on standard error."""
    for line in lines:
        print(line, file=sys.stderr)


def batch_time_lines(timed: Iterable[tuple[BatchTime, int]], default: bool) -> list[str]:
    """Return lines on batch times with memories (tokens); ``default``: none was named."""
    lines: dict[str, None] = {}
    for model, memory in timed:
        lines[describe_batch_time(model, default=default and model.name == DEFAULT)] = None
        lines[describe_limits(model)] = None
        lines[model.served.mismatch(memory) if model.served else ""] = None
    return [line for line in lines if line]


def check_beside_store(options: CommandOptions, *outputs: str) -> list[Path]:
    """Refuse outputs that cannot or must not be written, and return the files of the store."""
    kept = store_files(options.store or DEFAULT_STORE)
    if kept:
        check_apart({"--store": kept[0]})
    check_outputs({f"--{name}": getattr(options, name) for name in outputs}, kept)
    return kept


def store_of(options: CommandOptions, *, readonly: bool = False) -> str:
    """Return the store; the folder of the default one is made unless it is only read."""
    if options.store is not None:
        return str(options.store)
    try:
        if not readonly:
            DEFAULT_STORE.parent.mkdir(exist_ok=True)
    except OSError as error:
        raise StoreError(f"{DEFAULT_STORE.parent}: {error.strerror}") from None
    return str(DEFAULT_STORE)


def deployment(instance: Instance, model: BatchTime) -> str:
    """Return the title of a picture: the trace, and the model on its GPUs or the batch time."""
    served = model.served or re.sub(r"\(.*\)", "(…)", model.name)
    return f"{instance.name}, simulated: {served}, M = {instance.memory:,} tokens"


def cell(value: float | None, factor: float = 1.0, digits: int = 3) -> str:
    """Return a figure of a table, a dash without one."""
    return "-" if value is None or math.isnan(value) else f"{float(value) * factor:.{digits}f}"


def write_results(
    options: CommandOptions, export: Callable[[], str], draw: Callable[[Any], Any], failed: bool
) -> int:
    """Print the closing lines, write table and picture (``draw`` gets the module of figures)."""

    def write_picture() -> None:
        from reports.figures import rate_figures  # loads seaborn: seconds

        kind = Path(options.plot).suffix.lower().removeprefix(".")
        write_bytes(options.plot, draw(rate_figures).image(kind))

    if not options.quiet:
        print(f"arrivals are drawn (Poisson, seed {options.arrivals})")
        print(options.simulated, end="\n" * bool(options.simulated))
    writers: dict[str, Callable[[], object]] = {}
    if options.export is not None:
        writers[f"--export {options.export}"] = lambda: write_text(options.export, export())
    if options.plot is not None:
        writers[f"--plot {options.plot}"] = write_picture
    written = write_outputs(options.program, writers)
    return (EXIT_FAILED if failed else EXIT_OK) if written else EXIT_BAD_INPUT


def _workload(
    options: CommandOptions, wished: BatchTime | None, who: str
) -> tuple[Instance, TraceReport | None]:
    """Return the requests: of a family, a trace with its report, or an instance."""
    if options.trace_arrival_seed is not None:
        raise UsageError("--arrivals is the seed of the arrivals here: leave out --arrival-seed")
    trace = trace_options(options)
    if trace.rate is not None or trace.round_seconds is not None:
        raise UsageError(f"{who} when requests arrive: leave out --rate and --round-seconds")
    family = find_name(options.input, families())
    if family is not None and not Path(options.input).exists():
        if trace.given:
            raise UsageError(f"{', '.join(trace.given)}: goes with a trace, {family} is a family")
        return name_parameters(draw_family(family, options.seed, options.set), options.set), None
    if options.set:
        raise UsageError(f"--set goes with a family, {options.input} is none")
    if hidden := describe_hidden(options.input):
        complain(options.program, hidden)
    instance, report = read_input(find_instance(options.input), trace)
    if report is not None:
        print_on_stderr(report.shown_lines(quiet=options.quiet))
    if foreign := refuse_silent_default(report, wished):
        complain(options.program, foreign)
    return instance, report
