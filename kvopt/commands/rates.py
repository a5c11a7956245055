"""The command ``kvopt rates``: latency and goodput against the rate, with the bound below."""

from __future__ import annotations

import math
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from instances import InfeasibleInstanceError, Instance, InstanceFileError
from instances.batch_time import DEFAULT, BatchTime, read_batch_time
from instances.command import Command, Options
from instances.families import families
from instances.generate import drawn_family
from instances.jsonfile import write_text
from instances.masking import mask_text
from instances.named import find_instance, hides
from instances.outputs import OutputError, check_apart, check_outputs
from instances.telling import find_name
from instances.traces.arguments import trace_options
from instances.traces.reading import read_input
from instances.usage import UsageError, complain
from kvopt.best_bound import coverage, percent_left
from kvopt.commands.rates_arguments import OPTIONS
from kvopt.methods.grammar import MethodError, read_methods
from kvopt.places import DEFAULT_STORE
from kvopt.running.batch_time import read_wish, refuse_silent_default, whose
from kvopt.store import StoreError
from kvopt.store.files import store_files
from kvopt.sweeps.inputs import Wishes
from kvopt.sweeps.rates import RatesError, of_methods, rate_sweep, read_rates

if TYPE_CHECKING:
    import pandas as pd

EXIT_OK = 0
EXIT_FAILED = 1
EXIT_BAD_INPUT = 2
EXIT_REFUSED = 5
EXIT_STORE = 6
EXIT_INTERRUPTED = 130


@click.command(
    "kvopt rates",
    cls=Command,
    fails={
        EXIT_BAD_INPUT: (
            OutputError,
            MethodError,
            RatesError,
            InstanceFileError,
            InfeasibleInstanceError,
        ),
        EXIT_STORE: (StoreError,),
    },
    interrupted=(
        EXIT_INTERRUPTED,
        "interrupted; what was finished is stored, the same command resumes",
    ),
    examples=(
        "trace.csv --memory 61035 --rates 1,2,4,8",
        "uniform --set n=200 --rates 5,10 --methods mc-sf,svf --slo ttft:0.5 --plot rates.svg",
    ),
    codes="0 done; 1 a method gave no schedule; 2 bad usage or input; 5 a schedule or bound is "
    "refused; 6 the store cannot be used; 130 interrupted",
)
@OPTIONS
def main(options: Options) -> int:
    """Run methods on one workload at several rates of arrivals, and bound what any could reach.

    INPUT is a trace, a family or an instance.  Its requests arrive in their order as a Poisson
    process, the same gaps at every rate but for their scale.  Runs are stored: the same command
    resumes.
    """
    return _run(options, options.program)


def _run(options: Options, program: str) -> int:
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


def _write(table: pd.DataFrame, options: Options) -> None:
    texts = {}
    if options.export is not None:
        texts["export"] = table.to_csv(index=False, lineterminator="\n")
    if options.plot is not None:
        from reports.figures.rates import rates_figure  # loads seaborn: seconds

        texts["plot"] = rates_figure(of_methods(table), options.slo)
    for name, text in texts.items():
        path = getattr(options, name)
        try:
            write_text(path, text)
        except OSError as error:
            raise OutputError(f"--{name} {path}: could not be written: {error.strerror}") from None


def _refuse_suffixes(options: Options) -> None:
    for name, suffix in (("export", ".csv"), ("plot", ".svg")):
        path = getattr(options, name)
        if path is not None and Path(path).suffix.lower() != suffix:
            raise UsageError(f"--{name}: expected a name with {suffix}, found {path}")


def _check_outputs(options: Options) -> None:
    """Refuse what cannot be written or must not be; all that is read has been read."""
    kept = store_files(options.store or DEFAULT_STORE)
    check_apart({"--store": kept[0] if kept else None})
    check_outputs({"--export": options.export, "--plot": options.plot}, kept)


def _store(options: Options) -> str:
    if options.store is not None:
        return str(options.store)
    try:
        DEFAULT_STORE.parent.mkdir(exist_ok=True)
    except OSError as error:
        raise StoreError(f"{DEFAULT_STORE.parent}: {error.strerror}") from None
    return str(DEFAULT_STORE)


def _instance(options: Options, wished: BatchTime | None) -> Instance:
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
        complain(options.program, foreign)
    return instance
