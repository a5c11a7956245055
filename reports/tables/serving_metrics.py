"""Serving metrics per instance in seconds and method."""

import pandas as pd

from instances.batch_time import NANOSECONDS
from reports.per_instance import OVER_SEEDS, spread_note
from reports.prepared_rows import MARK_NOTE
from reports.table import Column, Table, columns
from serving.slo import SERVER_SLO

_NOTE = (
    "Simulated, not measured. Seconds, of runs with arrivals in seconds; seeds averaged. TTFT: to "
    "the first token, TPOT: per output token after it, ITL: between two tokens, E2EL: end to end, "
    f"goodput: requests that keep {SERVER_SLO} (docs/metrics.md). {MARK_NOTE}"
)
_LEFT = (
    "(TEL − LB) / TEL with the best bound of that instance and batch time: no schedule saves more. "
    "Empty where the bound does not hold for kept tokens."
)
_MILLISECONDS = {
    "mean_ttft_ms": "TTFT",
    "p50_ttft_ms": "TTFT p50",
    "p99_ttft_ms": "TTFT p99",
    "mean_tpot_ms": "TPOT",
    "p99_tpot_ms": "TPOT p99",
    "p99_itl_ms": "ITL p99",
    "p50_e2el_ms": "E2EL p50",
    "p99_e2el_ms": "E2EL p99",
}
_PLAIN = {
    "goodput": "goodput / s",
    "output_throughput": "tokens / s",
    "mean_waiting": "waiting",
    "evictions": "evictions",
    "recomputed_tokens": "recomputed",
}


def serving_table(runs: pd.DataFrame) -> Table | None:
    """Return one line an instance, batch time and method; None where nothing ran in seconds."""
    found = runs[runs["in_seconds"] & runs["tel"].notna()]
    if found.empty:
        return None
    values = found[["gap_lower", *_PLAIN]].astype(float)
    values["ael"] = found["tel"].astype(float) / found["n"].astype(float) / NANOSECONDS
    values = values.join(found[list(_MILLISECONDS)].astype(float) / 1000)
    # A batch time that all share stands in the report's heading.
    timed = ["batch_time"] if found["batch_time"].nunique() > 1 else []
    keys = [found[name] for name in ("instance", "id", *timed, "label")]
    groups = values.groupby(keys, sort=True)
    frame = groups.mean().assign(runs=groups.size())
    frame[["spread", "left_spread"]] = groups[["ael", "gap_lower"]].std()
    shown = (
        Column("instance", "instance", "name"),
        *(Column(name, "batch time", "name") for name in timed),
        Column("label", "method", "name"),
        *([Column("runs", "runs", "count")] if frame["runs"].gt(1).any() else []),
        Column("ael", "AEL", "seconds", spread="spread", note="mean end-to-end latency."),
        Column("gap_lower", "left to gain", "share", spread="left_spread", note=_LEFT),
        *columns("seconds", **_MILLISECONDS, **_PLAIN),
    )
    note = _NOTE + spread_note(frame.assign(spread_over=frame["runs"].map(OVER_SEEDS)))
    return Table("serving", "Serving metrics", note, shown, frame.reset_index())
