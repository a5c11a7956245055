"""The command ``kvopt solve``: one instance, one method, a checked schedule and a summary."""

import sys
import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import click

from heuristics.policy import NotApplicableError
from heuristics.predictions import predict
from instances import InfeasibleInstanceError, Instance, InstanceFileError
from instances.batch_time import BatchTime
from kvopt.commands.solve_arguments import OPTIONS, judge_options, named_method
from kvopt.commands.write_model import NotWrittenError, write_model
from kvopt.methods.grammar import MethodError
from kvopt.methods.method import Method
from kvopt.methods.witness import is_own
from kvopt.registry_lookup import judge_by_registry
from kvopt.result import Result
from kvopt.run_progress import ProgressLines
from kvopt.runs.execute import execute
from kvopt.runs.fork_server import start_server
from kvopt.runs.limits import deadline_of_command
from kvopt.runs.provenance import usable_cores
from kvopt.runs.read_in_process import UnreadError, read_within
from kvopt.runs.task import Task
from kvopt.summary import exceeded_bounds
from serving.batch_time_choice import (
    describe_batch_time,
    describe_limits,
    describe_simulation,
    refuse_rounds_only,
    refuse_silent_default,
)
from serving.commands.deployment_arguments import chosen_batch_time, deploy
from serving.metrics import measured_lines
from serving.request_rows import write_requests
from serving.traces.trace_arguments import trace_options
from serving.traces.trace_report import MeasuredLatencies
from support.click_command import EXIT_INTERRUPTED, Command, CommandOptions
from support.message_text import plural, printable, summary_text
from support.output_checks import OutputError, write_outputs
from support.usage_errors import UsageError, complain

EXIT_OK, EXIT_BAD_INPUT, EXIT_INFEASIBLE, EXIT_NO_SCHEDULE, EXIT_REFUSED = 0, 2, 3, 4, 5

#: Share and seconds beyond the time limit after which the reading of a large file ends.
OVER_SHARE, OVER_SECONDS = 0.1, 1.3


@click.command(
    "solve.py",
    cls=Command,
    fails={
        EXIT_BAD_INPUT: (OutputError, MethodError, InstanceFileError, NotWrittenError),
        EXIT_INFEASIBLE: (InfeasibleInstanceError,),
    },
    interrupted="interrupted before there was a schedule",
    examples=(
        "uniform_100",
        "uniform_100 --policy mc-sf --plot mc-sf.svg",
        "am1/am1_00 --solver highs --formulation ilp --time-limit 600 --out found.json",
        "trace.csv --gpu h100-80 --model llama3.1-8b",
    ),
    codes="0 a checked schedule; 2 bad usage or input, or your method fails; 3 infeasible; 4 no "
    "schedule within the limits; 5 a schedule or a bound is refused, which is a bug; 130 "
    "interrupted (docs/formats.md)",
)
@OPTIONS
def main(options: CommandOptions) -> int:
    """Solve one instance: a schedule of small total latency (TEL), and a bound.

    INSTANCE is a name of the library, an instance file or a trace.
    """
    started = options.caller or time.monotonic()
    if options.list:
        from kvopt.commands.listing import listing  # no run needs it

        print(listing())
        return EXIT_OK
    judge_options(options)
    options.computed_memory = deploy(options, [options.instance])
    if options.caller:  # this process has no threads
        start_server()
    return _run(options, started)


def _run(options: CommandOptions, started: float) -> int:
    """Read the instance, run the method and write the result; return the exit code."""
    method = None if options.policy == "all" else named_method(options)
    began = time.monotonic()
    less = f"{printable(str(options.instance))} (of a trace, --limit and --window read less)"
    last = started + (1 + OVER_SHARE) * options.time_limit + OVER_SECONDS
    try:
        instance, report = read_within(
            options.instance, trace_options(options), last, options.memory_limit
        )
    except UnreadError as error:
        why = {
            "time_limit": f"no schedule within the time limit of {options.time_limit:g} s, which "
            f"was too short to read {less}",
            "memory_limit": f"the memory limit was too low to read {less}",
        }
        complain(options.program, why.get(str(error), f"the process that reads {less}: {error}"))
        return EXIT_NO_SCHEDULE
    if (spent := time.monotonic() - began) > max(1.0, options.time_limit / 4):
        complain(
            options.program,
            f"{spent:.1f} s of the {options.time_limit:g} s went by reading {less}",
        )
    if report is not None:
        for line in report.shown_lines(quiet=options.quiet):
            print(line, file=sys.stderr)
    batch_time = chosen_batch_time(instance, options, report)
    name = "" if batch_time is None else batch_time.name
    timed = report if name else None
    if foreign := refuse_silent_default(timed, options.batch_time and batch_time):
        complain(options.program, foreign)
    if method is not None:
        refuse_rounds_only(instance, method)
        _refuse_missed(instance, method, options.seed)
    if not options.quiet:
        print("\n".join(_first_lines(instance, batch_time, options)), flush=True)
    deadline = deadline_of_command(started, options.time_limit, len(instance))
    measured = None if timed is None else timed.measured
    if method is None:
        return _print_table(instance, name, measured, deadline, options)
    task = Task(
        instance=instance,
        name=instance.name,
        method=method,
        seed=options.seed,
        time_limit=options.time_limit,
        memory_limit=options.memory_limit,
        threads=options.threads or usable_cores(),
        deadline=deadline,
        batch_time=name,
    )
    if options.write_model is None:
        return _finish(replace(_solve(task, started, options), measured=measured), options)
    line, notes = write_model(task, options.write_model)
    print(line)
    for note in notes:
        complain(options.program, note)
    return EXIT_OK


def _refuse_missed(instance: Instance, method: Method, seed: int) -> None:
    """Refuse a prediction whose intervals do not hold the outputs."""
    called = method.call or method.own
    if called is not None and called.prediction is not None:
        try:
            predict(instance, called.prediction, called.prediction_values, seed)
        except NotApplicableError as error:
            raise UsageError(f"{instance.name}: {error}") from None


def _first_lines(
    instance: Instance, batch_time: BatchTime | None, options: CommandOptions
) -> list[str]:
    size = f"{plural(len(instance), 'request')}, {plural(instance.memory, 'token')}"
    lines = [f"{instance.name}: {size}"]
    if batch_time is not None:
        of = describe_batch_time(batch_time, default=options.batch_time is None)
        lines = [of, *lines] if of else lines
        lines.append(f"batch time {batch_time.name}: {batch_time.origin or 'as stated'}")
        lines.append(describe_limits(batch_time))
        lines += filter(None, [describe_simulation([batch_time.name], options.computed_memory)])
    return lines


def _solve(task: Task, started: float, options: CommandOptions) -> Result:
    listen = ProgressLines(sys.stdout, started, options.quiet)
    more: dict[str, Any] = {}
    if task.batch_time and task.method.kind in ("policy", "file"):
        from kvopt.commands.companion_runs import run_with_bound  # no other method needs it

        finished, more["companion_bounds"] = run_with_bound(task, listen, quiet=options.quiet)
    elif task.batch_time and task.method.kind == "auto":
        from kvopt.commands.companion_runs import run_with_answer  # no other method needs it

        finished, more["others"], more["unrun"] = run_with_answer(task, listen)
    else:
        finished = execute(task, listen=listen)
    elapsed, judged = time.monotonic() - started, judge_by_registry(finished)
    return Result(**vars(judged), elapsed=elapsed, slo=options.slo, **more)


def _print_table(
    instance: Instance,
    batch_time: str,
    measured: MeasuredLatencies | None,
    deadline: float,
    options: CommandOptions,
) -> int:
    # No other method needs them.
    from kvopt.commands.companion_runs import PolicyLimits
    from kvopt.commands.policies_table import policies_table

    table = policies_table(
        instance,
        batch_time,
        slo=options.slo,
        prediction=options.predict,
        seed=options.seed,
        limits=PolicyLimits(deadline, options.memory_limit, options.threads or usable_cores()),
        quiet=options.quiet,
    )
    print(table.text)
    if measured is not None:
        print(summary_text(measured_lines(measured)))
    if table.misstated:
        complain(options.program, f"{instance.name}: {table.misstated}")
    if table.contradiction:
        complain(options.program, f"A BOUND IS WRONG, this is a bug: {table.contradiction}")
    if table.contradiction or not table.accepted:
        return EXIT_REFUSED
    if table.misstated:
        return EXIT_BAD_INPUT
    return EXIT_OK if table.found else EXIT_NO_SCHEDULE


def _finish(result: Result, options: CommandOptions) -> int:
    """Write the outputs, print the summary, and return the exit code."""
    code = _without_schedule(result) if result.schedule is None else _write_results(result, options)
    if result.about_the_file:
        code = EXIT_BAD_INPUT
    wrong = [*result.contradictions, *exceeded_bounds(result)]
    if result.refused or wrong:
        code = EXIT_REFUSED
    print(result)
    bug = "a bug in the method" if is_own(result.method) else "a bug"
    for line in result.refused:
        complain(options.program, f"THE CHECKER REFUSED A SCHEDULE, this is {bug}: {line}")
    for line in wrong:
        complain(options.program, f"A BOUND IS WRONG, this is {bug}: {line}")
    if result.failure and (result.schedule is not None or code == EXIT_BAD_INPUT):
        complain(options.program, f"the method failed: {result.failure}")
    if result.about_the_file:
        complain(options.program, f"{result.instance.name}: {result.about_the_file}")
    if result.record.output and not options.quiet:
        print(f"{options.program}: the method printed:\n{result.record.output}", file=sys.stderr)
    return code


def _without_schedule(result: Result) -> int:
    """Return the exit code of a run without a schedule; a custom file that fails is bad input."""
    if result.record.ending == "interrupted":
        return EXIT_INTERRUPTED
    own = result.status == "error" and is_own(result.method)
    return EXIT_BAD_INPUT if own else EXIT_NO_SCHEDULE


def _write_results(result: Result, options: CommandOptions) -> int:
    writers: dict[str, Callable[[str], object]] = {
        "out": result.save,
        "plot": result.plot,
        "requests": lambda path: write_requests(result.requests, path),
    }
    named = {
        f"--{option} {path}": partial(write, path)
        for option, write in writers.items()
        if (path := getattr(options, option)) is not None
    }
    try:
        written = write_outputs(options.program, named)
    except KeyboardInterrupt:  # the summary of the schedule follows
        complain(options.program, "interrupted before all was written")
        return EXIT_INTERRUPTED
    return EXIT_OK if written else EXIT_BAD_INPUT
