"""The command ``kvopt evaluate``: many instances, many methods, one store, reports."""

import gc
import os
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import replace
from functools import partial
from pathlib import Path

import click

from instances import Instance
from instances.batch_time import parse_batch_time
from instances.instance_names import describe_hidden
from kvopt.best_known import RegistryError, known_values
from kvopt.commands.evaluate_arguments import OPTIONS, judge_options
from kvopt.executors import ExecutorError
from kvopt.methods.fingerprint import UNREAD
from kvopt.methods.grammar import MethodError, read_methods, unique_methods
from kvopt.methods.method_names import shown_method
from kvopt.methods.predicted_methods import read_predicted
from kvopt.run_progress import SweepDisplay, count_text
from kvopt.runs.row_columns import FAILED
from kvopt.runs.task import FinishedRun, Task
from kvopt.store import Store, StoreError
from kvopt.store.row_files import ExportError, check_export, export_rows
from kvopt.suites import SuiteError, SuiteSection
from kvopt.sweeps.contradictions import alarms, misstated_optima, run_summaries
from kvopt.sweeps.failures import failures, split_unread
from kvopt.sweeps.plan import plan
from kvopt.sweeps.sweep_inputs import InputError, read_inputs
from reports.report_folder import check_place
from serving.batch_time import DEFAULT
from serving.batch_time_choice import describe_simulation, read_wish, refuse_silent_default
from serving.best_bound import bound_runs
from serving.commands.deployment_arguments import deploy
from serving.commands.shared_parts import (
    EXIT_BAD_INPUT,
    EXIT_FAILED,
    EXIT_OK,
    EXIT_REFUSED,
    EXIT_STORE,
    RESUMES,
    batch_time_lines,
    check_beside_store,
    print_on_stderr,
    read_wishes,
    store_of,
    tell_unread,
)
from serving.traces import TraceReport
from serving.traces.trace_arguments import trace_options
from support.click_command import Command, CommandOptions
from support.current_command import current_command
from support.message_text import plural, summary_text
from support.output_checks import OutputError, write_outputs
from support.usage_errors import complain

EXIT_EXECUTOR = 7
_BAD = (OutputError, InputError, MethodError, SuiteError, ExportError, RegistryError)


@click.command(
    "evaluate.py",
    cls=Command,
    fails={EXIT_BAD_INPUT: _BAD, EXIT_STORE: (StoreError,), EXIT_EXECUTOR: (ExecutorError,)},
    interrupted=RESUMES,
    examples=(
        'trace.csv --memory 61035 --methods "vllm-v1,a-min with bins(100)"',
        '"chat(n=200,memory=4000)" --predictions "noise(0..2)" --report results/worth',
        "--store results/runs.sqlite",
    ),
    codes="0 done; 1 a method failed on all its runs; 2 bad usage or input; 5 a schedule or bound "
    "is refused; 6 the store failed; 7 the executor failed; 130 interrupted (docs/formats.md)",
)
@OPTIONS
def main(options: CommandOptions) -> int:
    """Run instances × methods × seeds, one process a run, and store every run.

    SUITE is a suite of --list or a .toml file, INSTANCE a name of the library, a file, a folder, a
    glob or a trace, FAMILY as chat(n=9,draws=5); none: all that is stored.  What is stored is not
    run again.
    """
    if options.caller:  # in this process rows stay: collecting garbage takes a tenth
        gc.set_threshold(50_000, 20, 100)
    judge_options(options)
    if options.list:
        from kvopt.commands.listing import listing  # no run needs it

        print(listing())
        return EXIT_OK
    if options.export:
        check_export(options.export)
    for hidden in filter(None, map(describe_hidden, options.inputs)):
        complain(options.program, hidden)
    memory = deploy(options, options.inputs)
    tasks = _planned(options)
    options.simulated = describe_simulation((each.batch_time for each in tasks), memory)
    if options.inputs and not tasks:
        raise InputError("expected a method (see --list), found none")
    lost, tasks = split_unread(tasks)
    for line in lost:
        complain(options.program, line)
    if lost and not tasks:
        return EXIT_BAD_INPUT
    _check_places(options)
    readonly = not options.inputs
    where = store_of(options, readonly=readonly)
    if readonly and options.store is None and not Path(where).exists():
        raise InputError("expected a SUITE or an INSTANCE, found none (see --help)")
    with closing(_open(where, readonly=readonly)) as store:
        todo = _left(tasks, store, options)
        started = time.monotonic()
        if todo and store.readonly:
            raise StoreError(f"{store.name}: cannot be written, {plural(len(todo), 'run')} left")
        if todo:
            shown = SweepDisplay(sys.stdout, len(todo), options.quiet)
            keep = partial(_keep, store, partial(complain, options.program))
            shown.follow(_results(todo, options, shown), keep)
        return _finish(tasks, len(todo), time.monotonic() - started, store, options)


def _planned(options: CommandOptions) -> list[Task]:
    """Return the runs of the options; print a line on each trace and batch time."""

    def listen(section: SuiteSection, instance: Instance, report: TraceReport) -> None:
        print_on_stderr(report.shown_lines(quiet=options.quiet))
        timed = report if instance.time_unit == "second" else None
        # A suite runs with its default batch time; a trace alone needs a choice.
        wished = section.batch_time or (read_wish(DEFAULT) if section.name else None)
        if foreign := refuse_silent_default(timed, wished):
            print_on_stderr([foreign])

    methods = read_methods(options.methods) if options.methods else None
    if options.predictions:
        methods = read_predicted(options.predictions, options.methods)
    wishes = read_wishes(options, methods=methods, threads=options.threads)
    sections = read_inputs(options.inputs, wishes, trace_options(options))
    tasks = plan(sections, listen)
    tell_unread(options, unique_methods(task.method for task in tasks), wishes)
    if not options.quiet:
        timed = dict.fromkeys(
            (task.batch_time, task.instance.memory)
            for task in tasks
            if task.batch_time and task.instance is not None
        )
        models = ((parse_batch_time(text), memory) for text, memory in timed)
        unset = any(each.batch_time is None for each in sections)
        print_on_stderr(batch_time_lines(models, default=unset))
    return tasks


def _check_places(options: CommandOptions) -> None:
    """Refuse outputs that cannot be written or must not be, before the runs."""
    kept = check_beside_store(options, "export")
    if options.report:
        rows = [Path(options.export)] if options.export else []
        check_place("--report", options.report, inputs=[*kept, *rows])
        known_values(among=())


def _open(where: str, *, readonly: bool) -> Store:
    """Open the store to write into it, or to read it, as on a read-only disk."""
    file = Path(where)
    protected = file.is_file() and not all(os.access(each, os.W_OK) for each in (file, file.parent))
    return Store(where, readonly=readonly or protected)


def _left(tasks: list[Task], store: Store, options: CommandOptions) -> list[Task]:
    """Return the runs that are left to be carried out."""
    stored = {} if options.rerun else store.statuses()
    if options.rerun_failed:
        stored = {key: status for key, status in stored.items() if status not in FAILED}
    todo = [task for task in tasks if (task.key, task.code) not in stored]
    if not options.quiet and tasks:
        skipped = len(tasks) - len(todo)
        print(f"{plural(len(tasks), 'run')}, {skipped} of them stored already", flush=True)
        print_on_stderr(_edited(todo, store))
    return todo


def _edited(todo: list[Task], store: Store) -> Iterator[str]:
    """Yield one line for each file of the user's that has changed since it was run."""
    files = {task.method.text: task.code for task in todo if task.method.path is not None}
    for text, code in files.items():
        stored = len([found for (found,) in store.select("code", method=text) if found != code])
        if stored and not code.startswith(UNREAD):
            runs = plural(stored, "stored run")
            yield f"{text}: its sources have changed since {runs} (docs/sweeps.md)"


def _changed(tasks: list[Task], store: Store) -> Iterator[str]:
    """Yield one line for each method whose sources have changed while it ran."""
    stored = store.statuses()
    runs = Counter(each.method.text for each in tasks if (each.key, each.code) not in stored)
    for text, count in runs.items():
        changed = f"{text}: its sources have changed during the sweep (docs/sweeps.md)"
        yield f"{changed}: {plural(count, 'run')} will run again"


def _results(
    tasks: list[Task], options: CommandOptions, shown: SweepDisplay
) -> Iterator[FinishedRun]:
    if options.executor == "dask":
        try:
            from kvopt.executors.dask import run_on_dask  # loads distributed: a second
        except ModuleNotFoundError as error:
            raise ExecutorError(
                f"--executor dask: expected the packages of the extra kvopt[cluster] ({error})"
            ) from None
        return run_on_dask(tasks, options.scheduler)
    from kvopt.executors.local import run_local

    return run_local(tasks, options.jobs, shown.take)


def _keep(store: Store, warn: Callable[[str], object], finished: FinishedRun) -> None:
    # On another machine the record has the command of a worker.
    record = replace(finished.record, command=current_command())
    try:
        store.put(replace(finished, record=record), tell=warn)
    except StoreError as error:
        shown = shown_method(record.method, record.own_name)
        raise StoreError(
            f"{error}; {shown} on {record.instance}, seed {record.seed}, had finished "
            f"({record.status}, TEL {record.tel}) and is NOT stored, nor are the runs under way; "
            "what was stored before is intact, the same command resumes"
        ) from None


def _finish(
    tasks: list[Task], now: int, seconds: float, store: Store, options: CommandOptions
) -> int:
    """Write the outputs, print the summary and every fault; return the exit code."""
    keys = [task.key for task in tasks] if options.inputs else None
    runs = run_summaries(store, keys)
    if keys is not None and len(runs) < len(keys):
        raise ExecutorError(f"{len(keys) - len(runs)} runs have no row")
    written, complete = _write(tasks, keys, store, options)
    print_on_stderr(_changed(tasks, store))
    if not options.quiet:
        rows = [
            ("runs", f"{len(runs)}" + f", of which {now} now" * bool(tasks)),
            ("statuses", count_text(Counter(run.status for run in runs)) or "none"),
            ("seconds", f"{seconds:.1f}"),
            ("store", store.name),
            *(("written", path) for path in written),
        ]
        print(summary_text(rows), *filter(None, [options.simulated]), sep="\n")
    # Bounds of other runs stand in the ranking and in the report, unless a run is itself refused.
    others = run_summaries(store, bound_runs(store, keys))
    wrong = alarms([*runs, *(each for each in others if not each.alarming)])
    for line in wrong:
        print(f"{options.program}: A METHOD IS WRONG: {line}", file=sys.stderr)
    misstated = misstated_optima(runs)
    for line in misstated:
        complain(options.program, line)
    failed = failures(runs, tasks)
    printed = dict(store.select("key", "output")) if failed else {}
    for failure in failed:
        complain(options.program, failure.line(printed.get(failure.failed[0].key, "")))
    if wrong or misstated or not complete:
        return EXIT_REFUSED if wrong else EXIT_BAD_INPUT
    return EXIT_FAILED if any(failure.on_all for failure in failed) else EXIT_OK


def _write(
    tasks: list[Task], keys: list[str] | None, store: Store, options: CommandOptions
) -> tuple[list[str], bool]:
    """Print the ranking, write rows and report; return their paths, and whether all is written."""
    written = [options.export] if options.export else []
    if options.quiet and not (written or options.report):
        return [], True
    frame = store.rows(keys, traces=bool(written or options.report))
    if options.export:
        export_rows(frame, options.export)
    if options.quiet and not options.report:
        return written, True
    from kvopt.store.proved_bounds import judge_rows  # evaluates certificates
    from reports.stored_results import Results
    from reports.terminal_report import format_leaderboard, format_ranking

    others = bound_runs(store, keys)
    bounds = judge_rows(store.rows(others, traces=False), store) if others else None
    known = known_values(among=set(frame["instance_sha256"]))
    instances = [task.instance for task in tasks if task.instance is not None]
    results = Results(judge_rows(frame, store, instances), known, bounds)
    shown = format_leaderboard if keys is None and not options.report else format_ranking
    if not options.quiet and (ranking := shown(results)):
        print(f"\n{ranking}\n")

    def report() -> None:
        from reports.build import build_report  # loads seaborn: seconds

        build_report(results, Path(options.report), store=store)

    writers = {f"--report {options.report}": report} if options.report else {}
    complete = write_outputs(options.program, writers)
    if writers and complete:
        written.append(str(Path(options.report) / "index.html"))
    return written, complete
