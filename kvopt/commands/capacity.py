"""The command ``kvopt capacity``: the largest rate at which an objective is kept, by policy."""

from __future__ import annotations

import math
import sys

import click
import pandas as pd

from instances import InfeasibleInstanceError, InstanceFileError
from instances.batch_time import DEFAULT, read_batch_time
from kvopt.commands.in_seconds import deploy
from kvopt.commands.workload import RESUMES, plain_table, prepared, store_of, write_texts
from kvopt.commands.workload_arguments import CAPACITY
from kvopt.methods.grammar import MethodError, read_methods
from kvopt.methods.knowledge import only_bounds
from kvopt.store import StoreError
from kvopt.sweeps.capacity import HIGHEST, Probe, capacity, capacity_bound
from support.command import Command, Options
from support.outputs import OutputError
from support.usage import UsageError

EXIT_OK = 0
EXIT_FAILED = 1
EXIT_BAD_INPUT = 2
EXIT_STORE = 6
#: Columns of the table, with the factor to what is shown.
_SHOWN = {
    "goodput": ("good/s", 1.0),
    "output_throughput": ("tokens/s", 1.0),
    "mean_ttft_ms": ("TTFT s", 0.001),
    "p99_ttft_ms": ("p99", 0.001),
    "mean_tpot_ms": ("TPOT s", 0.001),
    "p99_tpot_ms": ("p99", 0.001),
    "mean_e2el_ms": ("E2EL s", 0.001),
    "p99_e2el_ms": ("p99", 0.001),
}


@click.command(
    "kvopt capacity",
    cls=Command,
    fails={
        EXIT_BAD_INPUT: (OutputError, MethodError, InstanceFileError, InfeasibleInstanceError),
        EXIT_STORE: (StoreError,),
    },
    interrupted=RESUMES,
    examples=(
        "trace.csv --gpu h100-80 --model llama3.1-8b --slo ttft:500ms,tpot:50ms",
        "chat --set n=200 --slo e2el:30s --share 95 --methods vllm-v1,svf --export capacity.csv",
    ),
    codes="0 done; 1 a method keeps it at no rate; 2 bad usage or input; 6 the store cannot be "
    "used; 130 interrupted",
)
@CAPACITY
def main(options: Options) -> int:
    """Find the largest rate of arrivals at which nearly all requests keep an objective.

    INPUT is a trace, a family or an instance, whose requests arrive as those of kvopt rates.  The
    rate is looked for by bisection, for each method by itself.  Runs are stored.
    """
    deploy(options, [options.input])
    methods = [each for each in read_methods((options.methods,)) if not only_bounds(each.text)]
    if not methods:
        raise UsageError(f"--methods: expected one that makes schedules, found {options.methods}")
    suffixes = {"export": (".csv", ".json"), "plot": (".svg",)}
    instance, wishes = prepared(options, "kvopt capacity says", suffixes)
    table, runs = capacity(
        instance,
        methods,
        wishes,
        options.slo,
        share=options.share,
        precision=options.precision,
        arrival_seed=options.arrivals,
        jobs=options.jobs,
        store=store_of(options),
        listen=(lambda *_: None) if options.quiet else _tell,
    )
    most = capacity_bound(
        instance,
        wishes.batch_time or read_batch_time(DEFAULT),
        options.slo,
        options.share,
        options.arrivals,
    )
    _write(table.assign(bound=most), runs, options)
    print(table_text(table))
    if not options.quiet:
        print(f"{_kept(options)}; rates in requests a second")
        if most < HIGHEST:
            print(f"no scheduler keeps it above {most:.4g} (docs/serving.md)")
    return EXIT_OK if table["capacity"].gt(0).all() else EXIT_FAILED


def _tell(method: str, probe: Probe) -> None:
    kept = "no schedule" if math.isnan(probe.share) else f"{100 * probe.share:.1f} % keep it"
    print(f"{method} at {probe.rate:.4g}: {kept}", file=sys.stderr)


def _kept(options: Options) -> str:
    return f"{100 * options.share:g} % of the requests keep {options.slo}"


def table_text(table: pd.DataFrame) -> str:
    """Return the aligned table: one line a method, at the largest rate that it keeps."""
    lines = []
    for line in table.to_dict("records"):
        low, high = float(line["capacity"]), float(line["not_kept"])
        figures = [_cell(line.get(name), factor) for name, (_, factor) in _SHOWN.items()]
        kept = _cell(line.get("share"), 100.0, 1)
        lines.append([line["method"], f"{low:.4g}", f"{high:.4g}", kept, *figures])
    titles = [title for title, _ in _SHOWN.values()]
    return plain_table(["method", "rate", "not kept", "kept %", *titles], lines)


def _cell(value: float | None, factor: float, digits: int = 3) -> str:
    return "-" if value is None or math.isnan(value) else f"{float(value) * factor:.{digits}f}"


def _write(table: pd.DataFrame, runs: pd.DataFrame, options: Options) -> None:
    texts = {}
    if options.export is not None:
        # JSON has no infinity.
        finite = table.replace(math.inf, math.nan)
        texts["export"] = (
            finite.to_json(orient="records", indent=1) + "\n"
            if options.export.lower().endswith(".json")
            else table.to_csv(index=False, lineterminator="\n")
        )
    if options.plot is not None:
        from reports.figures.pareto import pareto_figure  # loads seaborn: seconds

        texts["plot"] = pareto_figure(runs)
    write_texts(options, texts)
