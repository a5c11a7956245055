"""The command ``kvopt rates``: latency and goodput against the rate, with the bound below."""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Sequence
from pathlib import Path

import pandas as pd

from instances import InfeasibleInstanceError, Instance, InstanceFileError
from instances.batch_time import DEFAULT, BatchTime, read_batch_time
from instances.families import families
from instances.families.build import LAST_SEED
from instances.generate import drawn_family
from instances.jsonfile import write_text
from instances.named import find_instance, hides
from instances.outputs import OutputError, check_apart, check_outputs
from instances.streams import steadily
from instances.telling import find_name
from instances.traces.arguments import add_trace_options, trace_options
from instances.traces.reading import read_input
from instances.usage import Parser, UsageError, complain, read_integer
from kvopt.best_bound import coverage, percent_left
from kvopt.commands.in_seconds import add_batch_time, add_slo
from kvopt.commands.interrupts import interrupt_once
from kvopt.masking import mask_text
from kvopt.methods.grammar import MethodError, read_methods
from kvopt.places import DEFAULT_STORE
from kvopt.ranges import read_count, read_gigabytes, read_seconds
from kvopt.running.batch_time import read_wish, refuse_silent_default, whose
from kvopt.store import StoreError
from kvopt.store.files import store_files
from kvopt.sweeps.inputs import Wishes
from kvopt.sweeps.rates import BOUND, RatesError, of_methods, rate_sweep, read_rates
from reports.figures.rates import rates_figure

EXIT_OK = 0
EXIT_FAILED = 1
EXIT_BAD_INPUT = 2
EXIT_REFUSED = 5
EXIT_STORE = 6
EXIT_INTERRUPTED = 130

_DEFAULT_METHODS = "mc-sf,vllm-v1"
_EPILOG = """\
The requests are those of the input in its order; at every rate they arrive as a Poisson process
whose gaps are those of one seed at rate 1, divided by the rate.  Runs are kept in the store, so a
sweep that was stopped is resumed by the same command.

exit code: 0 done; 1 a method gave no schedule at some rate; 2 bad usage or input; 5 the checker
refused a schedule, or a bound is contradicted; 6 the store cannot be used; 130 interrupted
"""


def main(arguments: Sequence[str] | None = None, program: str = "kvopt rates") -> int:
    """Run the command, by the name it was called, and return its exit code."""
    interrupt_once()
    return steadily(program, lambda: _main(arguments, program))


def _main(arguments: Sequence[str] | None, program: str) -> int:
    try:
        return _run(arguments, program)
    except (UsageError, OutputError, MethodError, RatesError, InstanceFileError) as error:
        complain(program, mask_text(str(error)))
        return EXIT_BAD_INPUT
    except InfeasibleInstanceError as error:
        complain(program, error)
        return EXIT_BAD_INPUT
    except StoreError as error:
        complain(program, mask_text(str(error)))
        return EXIT_STORE
    except KeyboardInterrupt:
        complain(program, "interrupted; what was finished is stored, the same command resumes")
        return EXIT_INTERRUPTED


def _run(arguments: Sequence[str] | None, program: str) -> int:
    options = _parse(arguments, program)
    rates = read_rates(options.rates)
    methods = read_methods((options.methods,))
    wishes = Wishes(
        seeds=options.seeds,
        time_limit=options.time_limit,
        memory_limit=options.memory_limit,
        batch_time=read_wish(options.batch_time),
    )
    _refuse_suffixes(options)
    instance = _instance(options, wishes.batch_time)
    _check_outputs(options)
    if not options.quiet:
        _tell_whose(instance, wishes.batch_time)
    try:
        table, wrong = rate_sweep(
            instance,
            rates,
            methods,
            wishes,
            arrival_seed=options.arrivals,
            slo=options.slo,
            jobs=options.jobs,
            store=_store(options),
            progress=not options.quiet,
        )
    except ValueError as error:
        if isinstance(error, StoreError | MethodError | UsageError):
            raise
        raise UsageError(str(error)) from None
    _write(table, options)
    print(table_text(table))
    if not options.quiet:
        print("\n".join(bound_lines(instance, table)))
    for line in wrong:
        print(f"{program}: A METHOD IS WRONG: {line}", file=sys.stderr)
    failed = of_methods(table)[of_methods(table)["tel_s"].isna()]
    for rate, method, detail in failed[["rate", "method", "detail"]].to_numpy().tolist():
        complain(program, f"{method} at rate {rate:g}: no schedule: {detail}")
    if wrong:
        return EXIT_REFUSED
    return EXIT_FAILED if len(failed) else EXIT_OK


def _tell_whose(instance: Instance, wished: BatchTime | None) -> None:
    """Say on standard error what the batch time is of, and whether the memory goes with it."""
    model = read_batch_time(DEFAULT) if wished is None else wished
    if model.served is not None:
        mismatch = model.served.mismatch(instance.memory)
        lines = [whose(model, default=wished is None), *([mismatch] if mismatch else [])]
        print("\n".join(lines), file=sys.stderr)


def table_text(table: pd.DataFrame) -> str:
    """Return the aligned table: one line a rate and method, seeds averaged, times in seconds."""
    from tabulate import tabulate

    good = {"goodput": "good/s"} if "goodput" in table else {}
    shown = {
        "ael_s": "AEL s",
        "bound_ael_s": "bound s",
        "left": "left %",
        "mean_ttft_ms": "TTFT s",
        "p99_ttft_ms": "p99",
        "mean_tpot_ms": "TPOT s",
        "p99_e2el_ms": "E2EL p99",
        "request_throughput": "req/s",
        **good,
        "evictions": "evictions",
    }
    values = of_methods(table)[["rate", "method", *shown]].copy()
    for name in shown:
        factor = 0.001 if name.endswith("_ms") else 1.0
        values[name] = values[name].astype(float) * factor
    means = values.groupby(["rate", "method"], sort=False).mean().reset_index()
    lines = [
        [f"{rate:g}", method, *(_cell(each, name) for each, name in zip(line, shown, strict=True))]
        for rate, method, *line in means.to_numpy().tolist()
    ]
    text: str = tabulate(
        lines,
        headers=["rate", "method", *shown.values()],
        tablefmt="plain",
        disable_numparse=True,
        colalign=("right", "left", *["right"] * len(shown)),
    )
    return text


def bound_lines(instance: Instance, table: pd.DataFrame) -> list[str]:
    """Return where the bound at each rate comes from, and one line on what it covers."""
    known = table[table["bound_from"].ne("")].drop_duplicates("rate")
    lines = [
        f"bound at rate {rate:g}: from {origin}"
        for rate, origin in zip(known["rate"], known["bound_from"], strict=True)
    ]
    covers = [coverage(instance, text) for text in table["batch_time"].unique()]
    return [*lines, *(f"the bound covers {each}" for each in covers)]


def _cell(value: float, name: str) -> str:
    if name == "left" and not math.isnan(value):
        return percent_left(value)
    digits = {"evictions": 1}.get(name, 3)
    return "-" if math.isnan(value) else f"{value:.{digits}f}"


def _write(table: pd.DataFrame, options: argparse.Namespace) -> None:
    texts = {}
    if options.export is not None:
        texts["export"] = table.to_csv(index=False, lineterminator="\n")
    if options.plot is not None:
        texts["plot"] = rates_figure(of_methods(table), options.slo)
    for option, text in texts.items():
        path = getattr(options, option)
        try:
            write_text(path, text)
        except OSError as error:
            raise OutputError(
                f"--{option} {path}: could not be written: {error.strerror}"
            ) from None


def _refuse_suffixes(options: argparse.Namespace) -> None:
    for option, suffix in (("export", ".csv"), ("plot", ".svg")):
        path = getattr(options, option)
        if path is not None and Path(path).suffix.lower() != suffix:
            raise UsageError(f"--{option}: expected a name with {suffix}, found {path}")


def _check_outputs(options: argparse.Namespace) -> None:
    """Refuse what cannot be written or must not be; all that is read has been read."""
    kept = store_files(options.store or DEFAULT_STORE)
    check_apart({"--store": kept[0] if kept else None})
    check_outputs({"--export": options.export, "--plot": options.plot}, kept)


def _store(options: argparse.Namespace) -> str:
    if options.store is not None:
        return str(options.store)
    try:
        DEFAULT_STORE.parent.mkdir(exist_ok=True)
    except OSError as error:
        raise StoreError(f"{DEFAULT_STORE.parent}: {error.strerror}") from None
    return str(DEFAULT_STORE)


def _instance(options: argparse.Namespace, wished: BatchTime | None) -> Instance:
    """Return the requests: of a family, a trace, or an instance."""
    if options.trace_arrival_seed is not None:
        raise UsageError("--arrivals is the seed of the arrivals here: leave out --arrival-seed")
    trace = trace_options(options)
    if trace.rate is not None or trace.round_seconds is not None:
        raise UsageError("--rates says when requests arrive: leave out --rate and --round-seconds")
    family = find_name(options.input, families())
    if family is not None and not Path(options.input).exists():
        if trace.given:
            raise UsageError(f"{', '.join(trace.given)}: goes with a trace, {family} is a family")
        return drawn_family(family, options.seed, options.set)
    if options.set:
        raise UsageError(f"--set goes with a family, {options.input} is none")
    if hidden := hides(options.input):
        complain(options.program, hidden)
    instance, report = read_input(find_instance(options.input), trace)
    if report is not None and not options.quiet:
        print("\n".join(map(mask_text, report.lines)), file=sys.stderr)
    if foreign := refuse_silent_default(report, wished):
        complain(options.program, mask_text(foreign))
    return instance


def _parse(arguments: Sequence[str] | None, program: str) -> argparse.Namespace:
    parser = Parser(
        prog=program,
        description="Run methods on one workload at several rates of arrivals, and bound what any "
        "schedule could reach.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "input", metavar="TRACE | FAMILY | INSTANCE", help="where prompts and outputs come from"
    )
    parser.add_argument(
        "--rates", required=True, metavar="A,B,...", help="requests a second, ascending"
    )
    parser.add_argument(
        "--methods",
        default=_DEFAULT_METHODS,
        metavar="A,B,...",
        help=f"methods of --list of solve.py, or policies for all policies (default: %(default)s); "
        f"{BOUND} always runs beside",
    )
    add_slo(parser)
    add_batch_time(parser)
    _add_draws(parser)
    _add_running(parser)
    parser.add_argument("--export", metavar="FILE", help="write one row a run (.csv)")
    parser.add_argument("--plot", metavar="FILE", help="draw latency and goodput (.svg)")
    parser.add_argument("--quiet", action="store_true", help="print the table only")
    add_trace_options(parser)
    parser.set_defaults(program=program)
    return parser.parse_args(arguments)


def _add_draws(parser: Parser) -> None:
    parser.add_argument(
        "--arrivals",
        type=lambda text: read_integer(text, 0, LAST_SEED),
        default=0,
        metavar="K",
        help="seed of the arrivals, the same at every rate (default: 0)",
    )
    parser.add_argument(
        "--seed",
        type=lambda text: read_integer(text, 0, LAST_SEED),
        default=0,
        metavar="K",
        help="seed of a family's lengths (default: 0)",
    )
    parser.add_argument(
        "--set", action="append", default=[], metavar="KEY=VALUE", help="a family's parameter"
    )
    parser.add_argument(
        "--seeds", type=read_count, default=1, metavar="K", help="seeds of methods that draw"
    )


def _add_running(parser: Parser) -> None:
    parser.add_argument(
        "--time-limit", type=read_seconds, default=60.0, metavar="S", help="of a run (default: 60)"
    )
    parser.add_argument(
        "--memory-limit", type=read_gigabytes, metavar="GB", help="of a run (default: none)"
    )
    parser.add_argument(
        "--jobs", type=read_count, default=1, metavar="N", help="runs side by side (default: 1)"
    )
    parser.add_argument(
        "--store",
        metavar="FILE | URL",
        help="where runs are kept (default: results/runs.sqlite)",
    )
