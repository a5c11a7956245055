"""The command ``kvopt evaluate``: many instances, many methods, one store, reports."""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections import Counter
from collections.abc import Generator, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from instances import Instance
from instances.batch_time import DEFAULT, parse_batch_time
from instances.named import hides
from instances.outputs import OutputError, check_apart, check_outputs
from instances.streams import steadily
from instances.telling import counted
from instances.traces import TraceReport
from instances.traces.arguments import add_trace_options, trace_options
from instances.usage import Parser, UsageError, complain
from kvopt.best_known import RegistryError, known_values
from kvopt.commands.in_seconds import add_batch_time
from kvopt.commands.interrupts import interrupt_once
from kvopt.commands.leaderboard import NAME as LEADERBOARD
from kvopt.commands.leaderboard import leaderboard
from kvopt.commands.listing import listing
from kvopt.executors.executor import Executor, ExecutorError
from kvopt.masking import mask_text, own_command
from kvopt.methods.grammar import MethodError, read_methods
from kvopt.methods.told import shown_method
from kvopt.places import DEFAULT_STORE
from kvopt.ranges import read_count, read_gigabytes, read_seconds
from kvopt.running.batch_time import read_wish, refuse_silent_default, whose
from kvopt.running.record import FAILED
from kvopt.running.task import Finished, Task
from kvopt.store import Store, StoreError
from kvopt.store.export import ExportError, check_export, export_rows
from kvopt.store.files import store_files
from kvopt.suites import Section, SuiteError, suites
from kvopt.sweeps.contradictions import Showing, alarms, showings
from kvopt.sweeps.failures import all_unread, failures, outputs, unread
from kvopt.sweeps.inputs import DEFAULT_METHOD, InputError, Wishes, read_inputs
from kvopt.sweeps.plan import plan
from kvopt.sweeps.progress import counts, display
from kvopt.terminal import summary
from reports.folder import check_place

EXIT_OK = 0
EXIT_FAILED = 1
EXIT_BAD_INPUT = 2
EXIT_REFUSED = 5
EXIT_STORE = 6
EXIT_EXECUTOR = 7
EXIT_INTERRUPTED = 130

_EPILOG = f"""\
%(prog)s {LEADERBOARD} [--store FILE | URL] prints who is best by what is stored.

Runs whose key (instance hash, method, seed, limits, threads, versions, digest of the sources that
the method can reach, batch time) is in the store are not run again, so that a sweep that was
stopped, however, is resumed by the same command.  Two commands may work on one store at the same
time.

exit codes:
  0    every run has a row, every method gave a schedule on one of its runs at least, and nothing is
       refused or contradicted; a method that failed on some runs is named on standard error
  1    a method failed on all its runs, stored ones included: named on standard error with the first
       reason.  A run has failed where its status is one of
       {", ".join(FAILED)},
       without a schedule.  Instances that are infeasible or cannot be read are no failure of a
       method; the latter are named on standard error
  2    bad usage or bad input: one line on standard error; also if no instance could be read
  5    the checker refused a schedule, or a bound is contradicted: named on standard error
  6    the store cannot be opened, read or written: one line on standard error
  7    the executor failed, so that runs have no row: one line on standard error
  130  interrupted: what was finished is stored
Where several apply, 5 goes before 2, and 2 before 1.
"""


@dataclass(frozen=True)
class _Sweep:
    """The planned runs, and which of them are left to be carried out."""

    tasks: list[Task]
    todo: list[Task]


def main(arguments: Sequence[str], program: str = "evaluate.py") -> int:
    """Run the command, by the name it was called, and return its exit code."""
    interrupt_once()
    return steadily(program, lambda: _main(arguments, program))


def _main(arguments: Sequence[str], program: str) -> int:
    try:
        return _run(arguments, program)
    except (
        UsageError,
        OutputError,
        InputError,
        MethodError,
        SuiteError,
        ExportError,
        RegistryError,
    ) as error:
        return _fail(program, str(error), EXIT_BAD_INPUT)
    except StoreError as error:
        return _fail(program, str(error), EXIT_STORE)
    except ExecutorError as error:
        return _fail(program, str(error), EXIT_EXECUTOR)
    except KeyboardInterrupt:
        reason = "interrupted; what was finished is stored, the same command resumes"
        return _fail(program, reason, EXIT_INTERRUPTED)


def _fail(program: str, reason: str, code: int) -> int:
    complain(program, mask_text(reason))
    return code


def _run(arguments: Sequence[str], program: str) -> int:
    if arguments and arguments[0] == LEADERBOARD:
        print(leaderboard(arguments[1:], program))
        return EXIT_OK
    options = _parse(arguments, program)
    if options.list:
        print(listing())
        return EXIT_OK
    if not options.inputs and not (options.report or options.export):
        raise InputError("expected a SUITE or an INSTANCE, found none (see --help)")
    if options.export:
        check_export(options.export)
    for hidden in filter(None, map(hides, options.inputs)):
        complain(program, mask_text(hidden))
    wishes = _wishes(options)

    def listen(section: Section, instance: Instance, report: TraceReport) -> None:
        _tell(report.told(quiet=options.quiet))
        timed = report if instance.time_unit == "second" else None
        # A suite runs as it is written, which is told; who names a trace is asked for a batch time.
        wished = section.batch_time or (read_wish(DEFAULT) if section.name else None)
        if foreign := refuse_silent_default(timed, wished):
            _tell([foreign])

    sections = read_inputs(options.inputs, wishes, trace_options(options))
    tasks = plan(sections, listen)
    if not options.quiet:
        _tell(_whose(tasks, default=any(each.batch_time is None for each in sections)))
    if options.inputs and not tasks:
        raise InputError("expected a method (see --list), found none")
    _check_places(options)
    store = _open(options.store, readonly=not options.inputs)
    try:
        sweep = _choose(tasks, store, options)
        started = time.monotonic()
        if sweep.todo and store.readonly:
            raise StoreError(
                f"{store.name}: cannot be written, {counted(len(sweep.todo), 'run')} left"
            )
        if sweep.todo:
            _carry_out(sweep, store, options)
        keys = [task.key for task in tasks] if options.inputs else None
        return _finish(keys, sweep, store, options, time.monotonic() - started)
    finally:
        store.close()


def _parse(arguments: Sequence[str], program: str) -> argparse.Namespace:
    parser = Parser(
        prog=program,
        description="Run instances × methods × seeds, one process a run, and store every run.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    _add_runs(parser)
    _add_sweep(parser)
    parser.add_argument("--list", action="store_true", help="list suites and methods")
    parser.add_argument("--quiet", action="store_true", help="print nothing but what went wrong")
    parser.set_defaults(program=program)
    options = parser.parse_args(arguments)
    if options.scheduler and options.executor != "dask":
        raise InputError("--scheduler goes with --executor dask")
    return options


def _add_runs(parser: argparse.ArgumentParser) -> None:
    """Add what decides which runs there are: instances, methods, seeds and limits."""
    parser.add_argument(
        "inputs",
        nargs="*",
        metavar="SUITE | INSTANCE",
        help=f"a suite ({', '.join(suites())}, or a .toml file); an instance of the library by "
        "name, an instance file, a trace (--memory), a folder, or a glob; none with --report or "
        "--export alone: then all that is stored",
    )
    parser.add_argument(
        "--methods",
        action="append",
        metavar="A,B,...",
        help="methods of --list, or policies or solvers for all of them, in place of the suite's; "
        "may stand several times (default: "
        f"{DEFAULT_METHOD})",
    )
    parser.add_argument(
        "--seeds",
        type=read_count,
        metavar="K",
        help="seeds 0 to K-1, for methods that draw (default: 1)",
    )
    parser.add_argument(
        "--time-limit",
        type=read_seconds,
        metavar="S",
        help="seconds of wall clock of a run, from the end of its imports, up to 1e9 (default: 60)",
    )
    parser.add_argument(
        "--memory-limit",
        type=read_gigabytes,
        metavar="GB",
        help="resident memory of a run's processes together, up to 1e6 (default: no limit)",
    )
    parser.add_argument(
        "--threads", type=read_count, metavar="N", help="threads of each method (default: 1)"
    )


def _add_sweep(parser: argparse.ArgumentParser) -> None:
    """Add where and how the runs are carried out, kept and reported."""
    parser.add_argument(
        "--jobs",
        type=read_count,
        default=1,
        metavar="N",
        help="runs side by side (default: 1; more of them share cores, so times get longer)",
    )
    add_batch_time(parser)
    add_trace_options(parser)
    parser.add_argument(
        "--store",
        metavar="FILE | URL",
        help="an SQLite file or postgresql://user@host/database (default: results/runs.sqlite)",
    )
    parser.add_argument("--report", metavar="DIR", help="build the reports of these runs there")
    parser.add_argument("--export", metavar="FILE", help="write the rows (.csv or .parquet)")
    parser.add_argument(
        "--executor",
        choices=("local", "dask"),
        default="local",
        help="this machine's processes, or Dask workers (default: local)",
    )
    # Its name before, which scripts rely on.
    parser.add_argument(
        "--engine",
        dest="executor",
        choices=("local", "dask"),
        default=argparse.SUPPRESS,
        help=argparse.SUPPRESS,
    )
    parser.add_argument("--scheduler", metavar="ADDRESS", help="of Dask, as in tcp://host:8786")
    again = parser.add_mutually_exclusive_group()
    again.add_argument("--rerun", action="store_true", help="run again what is stored")
    again.add_argument(
        "--rerun-failed", action="store_true", help=f"run again what is {', '.join(FAILED)}"
    )


def _wishes(options: argparse.Namespace) -> Wishes:
    return Wishes(
        methods=options.methods and read_methods(options.methods),
        seeds=options.seeds,
        time_limit=options.time_limit,
        memory_limit=options.memory_limit,
        threads=options.threads,
        batch_time=read_wish(options.batch_time),
    )


def _check_places(options: argparse.Namespace) -> None:
    """Find out before the runs, not after them, what cannot be written or must not be.

    All that is read has been read.
    """
    kept = store_files(options.store or DEFAULT_STORE)
    check_apart({"--store": kept[0] if kept else None})
    check_outputs({"--export": options.export}, kept)
    if options.report:
        rows = [Path(options.export)] if options.export else []
        check_place("--report", options.report, inputs=[*kept, *rows])
        known_values()


def _open(location: str | None, *, readonly: bool) -> Store:
    """Open the store to write into it, or else to read it, as on a disk where nothing can be."""
    if location is None and not readonly:
        try:
            DEFAULT_STORE.parent.mkdir(exist_ok=True)
        except OSError as error:
            raise StoreError(f"{DEFAULT_STORE.parent}: {error.strerror}") from None
    where = str(DEFAULT_STORE) if location is None else location
    return Store(where, readonly=readonly or _is_protected(Path(where)))


def _is_protected(file: Path) -> bool:
    return file.is_file() and not all(os.access(each, os.W_OK) for each in (file, file.parent))


def _tell(lines: Iterable[str]) -> None:
    for line in lines:
        print(mask_text(line), file=sys.stderr)


def _whose(tasks: Iterable[Task], default: bool) -> list[str]:
    """Return what the batch times of runs are of, and which memories do not go with them."""
    timed = {
        (task.batch_time, task.instance.memory): parse_batch_time(task.batch_time)
        for task in tasks
        if task.batch_time and task.instance is not None
    }
    told: dict[str, None] = {}
    for (text, memory), model in timed.items():
        told[whose(model, default=default and text == DEFAULT)] = None
        told[model.served.mismatch(memory) if model.served else ""] = None
    return [line for line in told if line]


def _choose(tasks: list[Task], store: Store, options: argparse.Namespace) -> _Sweep:
    stored = {} if options.rerun else store.statuses()
    if options.rerun_failed:
        stored = {key: status for key, status in stored.items() if status not in FAILED}
    todo = [task for task in tasks if task.key not in stored]
    if not options.quiet and tasks:
        skipped = len(tasks) - len(todo)
        print(f"{counted(len(tasks), 'run')}, {skipped} of them stored already", flush=True)
    return _Sweep(tasks, todo)


def _executor(options: argparse.Namespace) -> Executor:
    if options.executor == "dask":
        from kvopt.executors.dask import DaskExecutor  # loads distributed: a second

        return DaskExecutor(options.scheduler, options.jobs)
    from kvopt.executors.local import LocalExecutor

    return LocalExecutor(options.jobs)


def _carry_out(sweep: _Sweep, store: Store, options: argparse.Namespace) -> None:
    """Run what is left and store every row as it comes."""
    shown = display(sys.stdout, len(sweep.todo), options.jobs, options.quiet)
    results = _executor(options).run(sweep.todo)
    try:
        for finished in results:
            _store(store, finished)
            shown.advance(finished.record)
    finally:
        # The runs under way are stopped before anything is said of the end.
        if isinstance(results, Generator):
            results.close()
        shown.close()


def _store(store: Store, finished: Finished) -> None:
    # On another machine the command was that of a worker.
    record = replace(finished.record, command=own_command())
    try:
        store.put(replace(finished, record=record))
    except StoreError as error:
        shown = shown_method(record.method, record.own_name)
        raise StoreError(
            f"{error}; {shown} on {record.instance}, seed {record.seed}, had finished "
            f"({record.status}, TEL {record.tel}) and is NOT stored, nor are the runs under way; "
            "what was stored before is intact, the same command resumes"
        ) from None


def _finish(
    keys: list[str] | None,
    sweep: _Sweep,
    store: Store,
    options: argparse.Namespace,
    seconds: float,
) -> int:
    """Write what was asked for, print the summary, name what is wrong; return the exit code."""
    runs = showings(store, keys)
    if keys is not None and len(runs) < len(keys):
        raise ExecutorError(f"{len(keys) - len(runs)} runs have no row")
    written: list[Path] = []
    if options.export or options.report:
        frame = store.rows(keys)
        if options.export:
            written.append(export_rows(frame, options.export))
        if options.report:
            from reports.build import build_report  # loads seaborn: seconds

            try:
                build_report(frame, Path(options.report), store=store, best_known=known_values())
            except OSError as error:
                # The disk may have filled up since the folder was looked at.
                raise OutputError(f"--report {options.report}: {error.strerror}") from None
            written.append(Path(options.report))
    if not options.quiet:
        statuses = Counter(run.status for run in runs)
        rows = [
            ("runs", f"{len(runs)}, of which {len(sweep.todo)} now"),
            ("statuses", counts(statuses) or "none"),
            ("seconds", f"{seconds:.1f}"),
            ("store", store.name),
            *(("written", str(path)) for path in written),
        ]
        print(summary(rows))
    return _tell_what_is_wrong(runs, sweep.tasks, store, options.program)


def _tell_what_is_wrong(
    runs: Sequence[Showing], tasks: list[Task], store: Store, program: str
) -> int:
    """Name on standard error what went wrong, one line each; return the exit code."""
    wrong = alarms(runs)
    for line in wrong:
        print(f"{program}: A METHOD IS WRONG: {line}", file=sys.stderr)
    for line in unread(tasks):
        complain(program, mask_text(line))
    failed = failures(runs, tasks)
    printed = outputs(store) if failed else {}
    for failure in failed:
        line = failure.line(printed.get(failure.failed[0].key, ""))
        complain(program, mask_text(line))
    if wrong:
        return EXIT_REFUSED
    if all_unread(tasks):
        return EXIT_BAD_INPUT
    return EXIT_FAILED if any(failure.on_all for failure in failed) else EXIT_OK
