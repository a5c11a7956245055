"""Runs every formulation of the ablation and appends one raw row each; goes on where it stopped.

``python -m reports.ablation.measure`` writes ``reports/ablation/rows.csv``; what stands there is
not run again, ``--fresh`` forgets it, and ``--plan`` only says what is missing and how long it may
take.  Run it on a machine that does nothing else.
"""

from __future__ import annotations

import argparse
import csv
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from formulations.registry import Formulation, formulations
from formulations.spec import Options, format_formulation, read_formulation
from instances import Instance
from instances.families import am1, am2, two_point
from instances.jsonfile import write_text
from kvopt.engines.exact import Progress, final_status, solve_exactly
from kvopt.running.process import Outcome
from kvopt.running.provenance import provenance, usable_cores

ROWS = Path(__file__).with_name("rows.csv")
COLUMNS = [
    "group",
    "instance",
    "n",
    "formulation",
    "status",
    "tel",
    "lower_bound",
    "lp_bound",
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
#: What tells one run from another; ``formulation`` holds the options that differ from defaults.
KEY = ("group", "instance", "formulation", "time_limit")
_SOLVERS = {"mip": "highs", "cp": "cpsat", "bound": "bound", "search": "search"}


@dataclass(frozen=True)
class Group:
    """Runs that are compared with each other: instances, seconds for each run, formulations."""

    instances: Callable[[], list[Instance]]
    limit: float
    formulations: tuple[str, ...]


def _am1(seeds: range, n: int | None = None) -> Callable[[], list[Instance]]:
    return lambda: [am1.generate(seed=seed, n=n) for seed in seeds]


def _varied(n: int) -> Callable[[], list[Instance]]:
    """Return draws of one size: all at once, arrivals in between, and many equal requests."""

    def drawn() -> list[Instance]:
        return [
            *(am1.generate(seed=seed, n=n) for seed in range(4)),
            *(am2.generate(seed=seed, n=n) for seed in range(2)),
            *(
                two_point.generate(seed=seed, n=n, memory=60, lower=8, upper=24, prompt=6)
                for seed in range(2)
            ),
        ]

    return drawn


def switched(formulation: Formulation) -> tuple[str, ...]:
    """Return the formulation and, for each of its switches, the formulation with it turned.

    A number that is 0 where it is off is turned to 2.
    """
    turned = [
        format_formulation(
            formulation,
            {option.name: not option.default if isinstance(option.default, bool) else 2},
        )
        for option in formulation.options
        if isinstance(option.default, bool) or option.default == 0
    ]
    return (formulation.name, *turned) if turned else ()


def plan() -> dict[str, Group]:
    """Return the groups by title: formulations as they are, then the switches of each.

    An option that a formulation gains is measured without a change here.
    """
    groups = {
        "bounds, n = 40..60": Group(
            _am1(range(4)),
            20.0,
            (
                "bound-volume",
                "lp",
                "lp-sparse",
                "lp-bucketed",
                "bound-lp",
                "bound-dual",
                "lp-cliques",
            ),
        ),
        "proofs, n = 8": Group(
            _am1(range(5), 8),
            30.0,
            ("ilp", "ilp-sparse", "ilp-strong", "ilp-cliques", "cpsat", "cpsat-strong", "layers"),
        ),
        "proofs, n = 12": Group(_am1(range(4), 12), 30.0, ("cpsat", "cpsat-strong", "layers")),
        # Small ones are proved before prices on patterns are looked for.
        "proofs, n = 16": Group(_am1(range(4), 16), 240.0, ("layers", "layers(patterns=no)")),
    }
    for name, formulation in formulations().items():
        methods = switched(formulation)
        if name == "cpsat":
            continue
        if name == "cpsat-strong":
            # What it is built on: with none of its own, and with nothing but the resource.
            methods += ("cpsat", "cpsat(separation=no)")
        if not methods:
            continue
        if formulation.relaxation:
            groups[f"switches of {name}, n = 40..60"] = Group(_am1(range(3)), 60.0, methods)
        elif formulation.kind == "mip":
            groups[f"switches of {name}, n = 8"] = Group(_am1(range(4), 8), 60.0, methods)
        else:
            groups[f"switches of {name}, n = 12"] = Group(_varied(12), 60.0, methods)
    return groups


def planned() -> Iterator[tuple[str, Instance, str, float]]:
    """Yield group, instance, formulation and time limit of every run."""
    for title, group in plan().items():
        for instance in group.instances():
            for name in group.formulations:
                yield title, instance, name, group.limit


def run(group: str, instance: Instance, name: str, limit: float) -> dict[str, Any]:
    """Return the raw row of one run, in a process of its own with a wall-clock limit.

    ``lp_bound`` is the objective of the LP relaxation: of an integer program it is solved in a
    second run, whose time does not count; of the search it is what its prices certify.
    """
    formulation, options = read_formulation(name)
    started = time.monotonic()
    progress, outcome, root = _solve(formulation, options, instance, limit)
    seconds = time.monotonic() - started
    lp_bound = progress.relaxation if formulation.kind == "mip" else root
    if formulation.kind == "mip" and lp_bound is None:
        relaxed = replace(formulation, relaxation=True)
        lp_bound = _solve(relaxed, options, instance, limit)[0].relaxation
    return _row(group, instance, name, limit, progress, seconds) | {
        "status": final_status(progress, outcome),
        "lp_bound": "" if lp_bound is None else round(lp_bound, 3),
        "peak_memory_mb": round(outcome.peak_memory / 1e6) if outcome else "",
    }


def _solve(
    formulation: Formulation, options: Options, instance: Instance, limit: float
) -> tuple[Progress, Outcome | None, int | None]:
    """Return progress and outcome of a run, and the first bound that came from prices."""
    root: int | None = None

    def listen(progress: Progress, _improved: bool) -> None:
        nonlocal root
        if root is None and progress.bound_source.startswith("prices"):
            root = progress.lower_bound

    progress, outcome = solve_exactly(
        instance,
        _SOLVERS[formulation.kind],
        formulation,
        deadline=time.monotonic() + limit,
        threads=usable_cores(),
        seed=0,
        memory_limit=None,
        on_progress=listen,
        options=options,
    )
    return progress, outcome, root


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


def missing() -> list[tuple[str, Instance, str, float]]:
    """Return the planned runs that have no row yet."""
    done = set()
    if ROWS.exists():
        with ROWS.open(encoding="utf-8", newline="") as file:
            done = {tuple(row[column] for column in KEY) for row in csv.DictReader(file)}
    return [
        each for each in planned() if (each[0], each[1].name, each[2], str(each[3])) not in done
    ]


def main(arguments: list[str]) -> int:
    """Run what is missing and append its rows, each flushed as it comes."""
    parser = argparse.ArgumentParser(prog="python -m reports.ablation.measure")
    what = parser.add_mutually_exclusive_group()
    what.add_argument("--fresh", action="store_true", help="forget all rows and measure anew")
    what.add_argument("--plan", action="store_true", help="say what is missing, run nothing")
    options = parser.parse_args(arguments)
    if options.fresh or not ROWS.exists():
        write_text(ROWS, ",".join(COLUMNS) + "\n")
    left = missing()
    if options.plan:
        print(_plan_text(left))
        return 0
    if left:
        # The first search compiles its kernels, which is cached from then on.
        run("", am1.generate(seed=0, n=3), "layers", 60.0)
    with ROWS.open("a", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
        for position, (group, instance, name, limit) in enumerate(left, start=1):
            row = run(group, instance, name, limit)
            writer.writerow(row)
            file.flush()
            print(
                f"{position}/{len(left)}  {instance.name}  {name:<32} {row['status']:<9} "
                f"{row['seconds']:7.1f} s",
                flush=True,
            )
    return 0


def _plan_text(left: list[tuple[str, Instance, str, float]]) -> str:
    """Return one line a group: runs that are missing, and minutes if all went to their limit."""
    lines = []
    for title in dict.fromkeys(group for group, *_ in left):
        limits = [limit for group, _, _, limit in left if group == title]
        lines.append(f"{title:<44} {len(limits):4} runs, at most {sum(limits) / 60:6.1f} minutes")
    total = sum(limit for *_, limit in left)
    return "\n".join([*lines, f"{'all':<44} {len(left):4} runs, at most {total / 60:6.1f} minutes"])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
