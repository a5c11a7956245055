"""Runs every formulation of the ablation and appends one raw row each; goes on where it stopped.

``python -m reports.ablation.measure`` writes ``reports/ablation/rows.csv``; what stands there is
not run again.  Run it on a machine that does nothing else.
"""

from __future__ import annotations

import csv
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from formulations.registry import formulations
from instances import Instance
from instances.families import am1
from runs.exact import Progress, final_status, solve_exactly
from runs.provenance import provenance, usable_cores

ROWS = Path(__file__).with_name("rows.csv")
COLUMNS = [
    "group",
    "instance",
    "n",
    "formulation",
    "status",
    "tel",
    "lower_bound",
    "seconds",
    "proved",
    "nodes",
    "columns",
    "entries",
    "peak_memory_mb",
    "time_limit",
    "note",
    "solver",
    "threads",
    "cpu",
    "git_commit",
    "finished_utc",
]

#: Group: requests, seeds, time limit in seconds, formulations.
PLAN: dict[str, tuple[int | None, range, float, tuple[str, ...]]] = {
    "bounds, n = 40..60": (
        None,
        range(4),
        20.0,
        ("bound-volume", "lp", "lp-sparse", "lp-bucketed", "bound-lp", "bound-dual", "lp-cliques"),
    ),
    "proofs, n = 8": (
        8,
        range(5),
        30.0,
        ("ilp", "ilp-sparse", "ilp-strong", "ilp-cliques", "cpsat", "cpsat-strong", "layers"),
    ),
    "proofs, n = 12": (12, range(4), 30.0, ("cpsat", "cpsat-strong", "layers")),
}
_SOLVERS = {"mip": "highs", "cp": "cpsat", "bound": "bound", "search": "search"}


def planned() -> Iterator[tuple[str, Instance, str, float]]:
    """Yield group, instance, formulation and time limit of every run."""
    for group, (n, seeds, limit, names) in PLAN.items():
        for seed in seeds:
            instance = am1.generate(seed=seed) if n is None else am1.generate(seed=seed, n=n)
            for name in names:
                yield group, instance, name, limit


def run(group: str, instance: Instance, name: str, limit: float) -> dict[str, Any]:
    """Return the raw row of one run, in a process of its own with a wall-clock limit."""
    formulation = formulations()[name]
    started = time.monotonic()
    progress, outcome = solve_exactly(
        instance,
        _SOLVERS[formulation.kind],
        formulation,
        deadline=started + limit,
        threads=usable_cores(),
        seed=0,
        memory_limit=None,
        on_progress=lambda _progress, _improved: None,
    )
    seconds = time.monotonic() - started
    return _row(group, instance, name, limit, progress, seconds) | {
        "status": final_status(progress, outcome),
        "peak_memory_mb": round(outcome.peak_memory / 1e6) if outcome else "",
    }


def _row(
    group: str, instance: Instance, name: str, limit: float, progress: Progress, seconds: float
) -> dict[str, Any]:
    origin = provenance()
    return {
        "group": group,
        "instance": instance.name,
        "n": len(instance),
        "formulation": name,
        "tel": progress.schedule.tel if progress.schedule else "",
        "lower_bound": progress.lower_bound,
        "seconds": round(seconds, 2),
        "proved": int(progress.closed),
        "nodes": progress.engine.get("nodes", ""),
        "columns": progress.model.get("columns", ""),
        "entries": progress.model.get("entries", ""),
        "time_limit": limit,
        "note": "; ".join(progress.notes + progress.refused),
        "solver": progress.engine.get("solver", ""),
        "threads": usable_cores(),
        "cpu": origin["cpu"],
        "git_commit": origin["git_commit"],
        "finished_utc": origin["finished_utc"],
    }


def main() -> int:
    """Run what is missing and append its rows, each flushed as it comes."""
    done = set()
    if ROWS.exists():
        with ROWS.open(encoding="utf-8", newline="") as file:
            done = {(row["instance"], row["formulation"]) for row in csv.DictReader(file)}
    with ROWS.open("a", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS)
        if not done:
            writer.writeheader()
        for group, instance, name, limit in planned():
            if (instance.name, name) in done:
                continue
            row = run(group, instance, name, limit)
            writer.writerow(row)
            file.flush()
            print(
                f"{instance.name}  {name:<14} {row['status']:<9} {row['seconds']:7.1f} s",
                flush=True,
            )
    return 0


if __name__ == "__main__":
    sys.exit(main())
