"""The command ``kvopt rates``: latency and goodput against the rate, with the bound below."""

from __future__ import annotations

import math
import sys
from typing import Any

import pandas as pd

from instances import Instance
from kvopt.commands.plain_table import plain_table
from kvopt.methods.grammar import read_methods
from kvopt.store.row_files import frame_csv
from serving.best_bound import coverage, percent_left
from serving.capacity_search import ceiling
from serving.commands.shared_parts import (
    EXIT_REFUSED,
    cell,
    deployment,
    over_rates,
    prepared,
    store_of,
    write_results,
)
from serving.commands.workload_arguments import RATES
from serving.rate_sweep import of_methods, rate_sweep, read_rates
from serving.slo import SERVER_SLO
from support.click_command import CommandOptions
from support.usage_errors import complain

_SHOWN = {
    "ael_s": "E2EL s",
    "bound_ael_s": "bound s",
    "left": "left %",
    "mean_ttft_ms": "TTFT s",
    "p99_ttft_ms": "p99",
    "mean_tpot_ms": "TPOT s",
    "p99_e2el_ms": "E2EL p99",
    "request_throughput": "req/s",
    "sustained": "sustained",
    "kept": "kept %",
    "goodput": "good/s",
    "bound_goodput": "at most",
    "evictions": "evictions",
}


@over_rates(
    "kvopt rates",
    examples=(
        "trace.csv --memory 61035 --rates 1,2,4,8",
        "uniform --set n=200 --rates 5,10 --methods mc-sf,svf --slo ttft:500ms --plot rates.svg",
    ),
    codes="0 done; 1 a method gave no schedule; 2 bad usage or input; 5 a schedule or bound is "
    "refused; 6 the store cannot be used; 130 interrupted",
)
@RATES
def main(options: CommandOptions) -> int:
    """Run methods on one workload at several rates of arrivals, and bound what any could reach.

    INPUT is a trace, a family or an instance.  Its requests arrive in their order as a Poisson
    process, the same gaps at every rate but for their scale.  Runs are stored: the same command
    resumes.
    """
    rates, methods = read_rates(options.rates), read_methods((options.methods,))
    instance, wishes, model = prepared(options, methods, "--rates says", (".csv",))
    table, answers, wrong = rate_sweep(
        *(instance, rates, methods, wishes),
        arrival_seed=options.arrivals,
        slo=options.slo,
        jobs=options.jobs,
        store=store_of(options),
        progress=not options.quiet,
        most=ceiling(instance, model),
    )
    print(table_text(table))
    if not options.quiet:
        print("\n".join(_bound_lines(instance, table)))
        print(f"good/s: requests a second that keep {options.slo or SERVER_SLO}")
    for rate, found in answers.items():
        print(f"\nat rate {rate:g}\n{found}")
    for line in wrong:
        print(f"{options.program}: A METHOD IS WRONG: {line}", file=sys.stderr)
    shown = of_methods(table)
    failed = shown[shown["tel_s"].isna()]
    for rate, method, detail in failed[["rate", "method", "detail"]].to_numpy().tolist():
        complain(options.program, f"{method} at rate {rate:g}: no schedule: {detail}")

    def draw(figures: Any) -> Any:
        return figures.rates_figure(shown, options.slo, deployment(instance, model))

    code = write_results(options, lambda: frame_csv(table), draw, failed=not failed.empty)
    return EXIT_REFUSED if wrong else code


def table_text(table: pd.DataFrame) -> str:
    """Return the aligned table: one line a rate and method, seeds averaged, times in seconds."""
    shown = {name: title for name, title in _SHOWN.items() if name in table}
    values = of_methods(table)[["rate", "method", *shown]].astype(dict.fromkeys(shown, float))
    values["sustained"] = values["sustained"].fillna(0.5)  # too short to tell
    groups = values.groupby(["rate", "method"], sort=False)
    means = groups.mean().assign(sustained=groups["sustained"].min()).reset_index()
    for bound, outwards in {"bound_ael_s": -1, "bound_goodput": 1}.items():
        if bound in means:
            # Half of the last digit; no -0.000.
            means[bound] = (means[bound] + outwards * (5e-4 - 1e-12)).clip(lower=0.0)
    lines = []
    for rate, method, *figures in means.to_numpy().tolist():
        named = dict(zip(shown, figures, strict=True))
        cells = {key: cell(x, 1e-3 if key.endswith("_ms") else 1.0) for key, x in named.items()}
        cells["evictions"] = cell(named["evictions"], digits=1)
        cells["kept"] = cell(named["kept"], 100.0, 1)
        if not math.isnan(named["left"]):
            cells["left"] = percent_left(named["left"])
        told = {1: "yes", 0: "burst"}.get(named["sustained"], "too short")
        cells["sustained"] = "-" if math.isnan(named["mean_ttft_ms"]) else told
        lines.append([f"{rate:g}", method, *cells.values()])
    return plain_table(["rate", "method", *shown.values()], lines)


def _bound_lines(instance: Instance, table: pd.DataFrame) -> list[str]:
    """Return the source of the bound at each rate, and one line on its coverage."""
    known = table[table["bound_from"].ne("")].drop_duplicates("rate")
    found = zip(known["rate"], known["bound_from"], strict=True)
    lines = [f"bound at rate {rate:g}: from {origin}" for rate, origin in found]
    covers = [coverage(instance, text) for text in table["batch_time"].unique()]
    return [*lines, *(f"the bound covers {each}" for each in covers)]
