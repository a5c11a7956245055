"""The command ``kvopt capacity``: the largest sustained rate that keeps an objective."""

from __future__ import annotations

import math
import sys
from collections.abc import Hashable, Mapping
from dataclasses import fields
from typing import Any

import pandas as pd

from kvopt.commands.plain_table import plain_table
from kvopt.methods.grammar import read_methods
from kvopt.methods.method_names import only_bounds
from kvopt.store.row_files import frame_csv
from serving.bounds.loads import not_covered
from serving.capacity_search import Probe, capacity, rounded_up, stability_rate
from serving.commands.shared_parts import (
    cell,
    deployment,
    over_rates,
    prepared,
    store_of,
    write_results,
)
from serving.commands.workload_arguments import CAPACITY
from support.click_command import CommandOptions
from support.usage_errors import UsageError

_RATES = {"throughput": "req/s", "goodput": "good/s", "output_throughput": "tokens/s"}
_SHOWN = {name: (title, 1.0) for name, title in _RATES.items()}
for _each in ("ttft", "tpot", "e2el"):
    _SHOWN[f"mean_{_each}_ms"] = f"{_each.upper()} s", 0.001
    _SHOWN[f"p99_{_each}_ms"] = "p99", 0.001


@over_rates(
    "kvopt capacity",
    examples=(
        "trace.csv --gpu h100-80 --model llama3.1-8b --slo ttft:500ms,tpot:50ms",
        "chat --set n=200 --slo e2el:30s --share 95 --methods vllm-v1,svf --export capacity.csv",
    ),
    codes="0 done; 1 a method keeps it at no rate; 2 bad usage or input; 5 a schedule or bound is "
    "refused; 6 the store cannot be used; 130 interrupted",
)
@CAPACITY
def main(options: CommandOptions) -> int:
    """Find the largest sustained rate at which most requests keep an objective.

    The requests of INPUT (trace, family, instance) arrive three times at least, at drawn times
    (Poisson): warm-up and two halves.  A rate counts if throughput follows it in the halves and the
    backlog does not grow from one to the other; else it is a burst.  Runs are stored.
    """
    methods = [each for each in read_methods((options.methods,)) if not only_bounds(each.text)]
    if not methods:
        raise UsageError(f"--methods: expected one that makes schedules, found {options.methods}")
    instance, wishes, model = prepared(options, methods, "kvopt capacity says", (".csv", ".json"))
    table, runs = capacity(
        *(instance, methods, wishes, options.slo),
        share=options.share,
        precision=options.precision,
        arrival_seed=options.arrivals,
        jobs=options.jobs,
        store=store_of(options),
        listen=(lambda *_: None) if options.quiet else _tell,
    )
    stability = stability_rate(instance, model)
    table.insert(3, "stability_rate", stability.rate)
    print(_table_text(table))
    for line in table[table["capacity"].eq(0)].to_dict("records"):
        lowest = runs[runs["method"].eq(line["method"]) & runs["rate"].eq(line["not_kept"])]
        print(f"{line['method']}: {_none_kept(lowest.to_dict('records')[0], options)}")
    if not options.quiet:
        print(f"{100 * options.share:g} % of the requests keep {options.slo}; rates: requests/s")
        error = f"known to {100 * stability.error:.0f} % while requests stay as these"
        known = error if math.isfinite(stability.error) else "of one request, so without an error"
        most = "" if not_covered(instance, model) else "; no scheduler sustains more"
        print(f"stability rate {stability}, {known}{most} (docs/rates.md)")

    def export() -> str:
        if not options.export.lower().endswith(".json"):
            return frame_csv(table)
        # JSON has no infinity.
        return table.replace(math.inf, math.nan).to_json(orient="records", indent=1) + "\n"

    def draw(figures: Any) -> Any:
        return figures.pareto_figure(runs, deployment(instance, model))

    return write_results(options, export, draw, failed=not table["capacity"].gt(0).all())


def _tell(method: str, probe: Probe) -> None:
    kept = "no schedule" if math.isnan(probe.share) else f"{100 * probe.share:.1f} % keep it"
    burst = f", a burst: {probe.metrics['throughput']:.4g} are completed" if probe.burst else ""
    print(f"{method} at {probe.rate:.4g}: {kept}{burst}", file=sys.stderr)


def _none_kept(lowest: Mapping[Hashable, Any], options: CommandOptions) -> str:
    """Return the reason that no rate is kept, from the run at the lowest one."""
    at = f"{lowest['rate']:g} a second, the lowest rate"
    if math.isnan(lowest["share"]):
        return f"no schedule at {at}: {lowest['detail']}"
    took = ", ".join(
        f"{cell(lowest[f'mean_{each.name}_ms'], 0.001)} s {each.name.upper()} "
        f"(p99 {cell(lowest[f'p99_{each.name}_ms'], 0.001)})"
        for each in fields(options.slo)
        if getattr(options.slo, each.name) is not None
    )
    fault = "is not sustained" if lowest["burst"] else f"does not keep {options.slo}"
    return f"{at}, {fault}: a request takes {took}"


def _table_text(table: pd.DataFrame) -> str:
    """Return the aligned table: one line a method, at its largest kept rate."""
    lines = []
    for line in table.to_dict("records"):
        figures = [cell(line.get(name), factor) for name, (_, factor) in _SHOWN.items()]
        rate, above = (f"{float(line[name]):.4g}" for name in ("capacity", "not_kept"))
        above += " burst" if line["burst"] else ""
        kept = cell(line.get("share"), 100.0, 1)
        stable = rounded_up(line["stability_rate"])
        lines.append([line["method"], rate, above, stable, kept, *figures])
    titles = [title for title, _ in _SHOWN.values()]
    return plain_table(["method", "rate", "not kept", "stability", "kept %", *titles], lines)
