"""Speed next to other programs: makes docs/speed.csv and the tables of docs/speed.md.

``python -m tests.benchmarks.speed --solvers PYTHON --vidur PYTHON`` measures what the CSV lacks,
one run after the other.  The first interpreter has pyscipopt and pyjobshop, the second vidur.
"""

import itertools
import json
import math
import subprocess
import sys
import tempfile
import timeit
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from statistics import geometric_mean, median
from typing import Any

import click
import numpy as np
import pandas as pd

import kvopt
from instances import Instance, write_instance
from instances.families import am1, chat
from kvopt.methods.grammar import read_method
from kvopt.runs.provenance import collect_provenance
from kvopt.solution_file import read_solution
from schedules import check_schedule, make_schedule
from serving.batch_time import read_batch_time
from serving.calibration import simulate
from support.click_command import Command, CommandOptions, option

ROOT = Path(__file__).resolve().parents[2]
ROWS, PAGE = ROOT / "docs" / "speed.csv", ROOT / "docs" / "speed.md"
COLUMNS = ["part", "case", "n", "tool", "seconds", "value", "bound", "proved", "version", "commit"]
#: Methods of kvopt, and programs in another environment.
HERE = {"kvopt": "auto", "HiGHS": "highs:ilp", "CP-SAT": "cpsat:cpsat"}
OUTSIDE = {"SCIP": "scip", "PyJobShop": "pyjobshop"}
SIZES, SEEDS = (8, 10, 12, 16, 20, 24, 30), (7101, 7102)
PAPERS = ("am1_00", "am2_00", "uniform_100")
#: Requests and arrivals a second of the traces.
TRACES = ((1_000, 10), (10_000, 10))
BLOCKS, LIMITS = 1024, {"budget": 2048, "running": 128}
#: Milliseconds of a round, a prompt token, a decoding request, and a token read.
BATCH_TIME = (54.26, 0.3119, 0.1963, 0.000144)
Row = dict[str, Any]


class DisagreementError(Exception):
    """Two programs state different results; the message is one line."""


def solve_here(method: str, limit: float, instance: Instance) -> Row:
    """Return the result of a method of kvopt with all cores; kvopt checks its schedule."""
    found = kvopt.solve(instance, method, time_limit=limit)
    run, proved = found.record, found.status == "optimal"
    whole = proved or method == HERE["kvopt"]
    return {
        "seconds": run.seconds,
        "value": found.tel if whole or not run.found_by.startswith("policy") else None,
        "bound": found.bound if whole or run.bound_source != "volumes" else None,
        "proved": proved,
        "version": " ".join(run.solver.split()[:2]),
    }


def solve_outside(python: str, tool: str, limit: float, instance: Instance) -> Row:
    """Return the result of another program; kvopt checks its schedule."""
    with tempfile.TemporaryDirectory() as folder:
        file, model, solution = (Path(folder, f"task.{end}") for end in ("json", "mps", "sol"))
        if tool == "scip":
            write_instance(instance, file)
            words = (file, "--formulation", "ilp", "--write-model", model, "--time-limit", 600)
            run_command("solve.py", *words)
        requests = [(int(each.arrival), each.prompt, each.output) for each in instance.requests]
        task = {"limit": limit, "memory": instance.memory, "requests": requests}
        row = ask(python, tool, task | {"model": str(model), "solution": str(solution)})
        starts = row.pop("starts", None)
        if solution.exists():
            starts = read_solution(solution, instance)
    if starts is not None:
        schedule = make_schedule(instance, starts, tool)
        if not (verdict := check_schedule(instance, schedule)).valid:
            raise DisagreementError(f"{tool} on {instance.name}: {verdict}")
        row["value"] = schedule.tel
    # TEL is an integer; a millionth covers the tolerance of the solver.
    bound = row["bound"] * (1 - 1e-6) - 1e-6
    return row | {"bound": math.ceil(bound) if 0 < bound < 1e15 else 0}


def ask(python: str, tool: str, task: Row) -> Row:
    """Return the answer of ``other_programs.py`` in another environment."""
    program = [python, str(Path(__file__).with_name("other_programs.py")), tool]
    ran = subprocess.run(program, input=json.dumps(task), text=True, check=True, stdout=-1)
    found: Row = json.loads(ran.stdout)
    return found


def simulate_here(trace: Instance) -> Row:
    """Return the seconds of ``vllm-v1`` on a trace, and the mean latency in seconds."""
    words = ",".join(f"{name}={value}" for name, value in LIMITS.items())
    call = read_method(f"vllm-v1(block=16,resume=recomputed,{words})").call
    assert call is not None
    batch_time = read_batch_time("linear(base={},prefill={},decode={},read={})".format(*BATCH_TIME))
    latencies = simulate(trace, call, batch_time).completions - trace.arrival_times
    took = median(timeit.repeat(lambda: simulate(trace, call, batch_time), number=1, repeat=3))
    return {"seconds": took, "value": float(np.mean(latencies)) / 1e9}


def simulate_outside(python: str, trace: Instance) -> Row:
    """Return the seconds of Vidur on a trace, and the mean latency in seconds."""
    requests = [(float(each.arrival), each.prompt, each.output) for each in trace.requests]
    task = {"requests": requests, "milliseconds": BATCH_TIME, "blocks": BLOCKS}
    return ask(python, "vidur", task | LIMITS)


def add_numbers() -> Row:
    """Return the seconds of ten million additions in a Python loop, and the machine."""
    loop = "for each in range(10_000_000): total += each"
    made = collect_provenance()
    machine = f"{made['cpu']}, {made['cores']} cores, Python {made['python']}"
    return {"seconds": min(timeit.repeat(loop, "total = 0", number=1)), "version": machine}


def sweep(jobs: int) -> Row:
    """Return the seconds of a sweep of a hundred runs into a new store."""
    with tempfile.TemporaryDirectory() as folder:
        words = ("am1(n=10,draws=20)", "--methods", "fcfs,svf,mc-sf,a-min,vllm-v1")
        run = partial(run_command, "evaluate.py", *words, "--store", f"{folder}/store")
        return {"seconds": timeit.timeit(lambda: run("--jobs", jobs), number=1)}


def run_command(script: str, *words: object) -> None:
    """Run a script of the checkout."""
    subprocess.run(
        [sys.executable, str(ROOT / script), *map(str, words)], check=True, capture_output=True
    )


def disagreements(rows: list[Row]) -> Iterator[str]:
    """Yield cases in which a bound exceeds a TEL, or mean latencies differ by more than 5 %."""
    for one, other in itertools.permutations((row for row in rows if row["value"]), 2):
        pair = f"{one['case']}, n = {one['n']}: {one['tool']} and {other['tool']}"
        if (one["case"], one["n"]) != (other["case"], other["n"]):
            continue
        if (one["bound"] or 0) > other["value"] or (one["proved"] and one["bound"] < one["value"]):
            yield f"{pair}: the bound does not fit the TEL"
        if one["part"] == "simulator" and one["value"] / other["value"] > 1.05:
            yield f"{pair}: the mean latencies differ"


def measure(options: CommandOptions) -> None:
    """Measure the rows that the CSV lacks; each is written at once."""
    rows, commit = read_rows(ROWS), collect_provenance()["git_commit"] or ""

    def add(part: str, case: str, n: int, tool: str, call: Callable[[], Row]) -> Row:
        key = {"part": part, "case": case, "n": n, "tool": tool}
        for row in rows:
            if row.items() >= key.items():
                return row
        row = dict.fromkeys(COLUMNS) | key | call() | {"commit": commit}
        print(f"{part}, {case}, n = {n}, {tool}: {row['seconds']:.2f} s", flush=True)
        for each in disagreements([*rows, row]):
            raise DisagreementError(each)
        rows.append(row)
        pd.DataFrame(rows, columns=COLUMNS).to_csv(ROWS, index=False)
        return row

    add("machine", f"{options.limit:g} s", 1, "Python", add_numbers)
    solvers = {tool: partial(solve_here, HERE[tool], options.limit) for tool in HERE}
    for tool, name in OUTSIDE.items() if options.solvers else ():
        solvers[tool] = partial(solve_outside, options.solvers, name, options.limit)
    for tool, solve in solvers.items():
        for n in SIZES:
            draws = {f"am1, seed {seed}": am1.generate(seed=seed, n=n) for seed in SEEDS}
            added = [add("proof", case, n, tool, partial(solve, i)) for case, i in draws.items()]
            if not any(row["proved"] for row in added):
                break
        for name in PAPERS:
            instance = kvopt.read(name)
            add("gap", name, len(instance), tool, partial(solve, instance))
    for n, rate in TRACES:
        trace = chat.generate(seed=7101, n=n, memory=16 * BLOCKS, rate=rate, seconds=True)
        case = f"chat, {rate} requests a second"
        add("simulator", case, n, "kvopt", partial(simulate_here, trace))
        if options.vidur:
            call = partial(simulate_outside, options.vidur, trace)
            add("simulator", case, n, "Vidur", call)
    for jobs in (1, 2):
        add("sweep", f"policies, --jobs {jobs}", 100, "kvopt", partial(sweep, jobs))


def read_rows(path: Path) -> list[Row]:
    """Return the rows of a CSV, none where it is missing."""
    if not path.exists():
        return []
    frame = pd.read_csv(path).astype(object)
    records = frame.where(frame.notna(), None).to_dict("records")
    return [{str(name): value for name, value in each.items()} for each in records]


def texts(rows: list[Row]) -> Iterator[tuple[str, str]]:
    """Yield the name and the text of each generated part of the page."""
    own = {(row["case"], row["n"]): row["seconds"] for row in rows if row["tool"] == "kvopt"}
    proofs = [row for row in rows if row["part"] == "proof"]
    sizes = sorted({row["n"] for row in proofs})
    tools = list(dict.fromkeys(row["tool"] for row in proofs))

    def cell(tool: str, n: int) -> str:
        runs = [row for row in proofs if (row["tool"], row["n"]) == (tool, n)]
        if not runs:
            return "–"
        if tool == "kvopt":
            return ", ".join(f"{r['seconds']:.2f} s" if r["proved"] else "open" for r in runs)
        ratio = geometric_mean(row["seconds"] / own[row["case"], n] for row in runs)
        return f"{'' if all(row['proved'] for row in runs) else '> '}{ratio:.2g}"

    yield (
        "proofs",
        _table(["n", *sizes], [[tool, *(cell(tool, n) for n in sizes)] for tool in tools]),
    )

    def gap(tool: str, case: str) -> str:
        run = next(
            (r for r in rows if (r["part"], r["tool"], r["case"]) == ("gap", tool, case)), {}
        )
        if not run.get("value"):
            return "no schedule"
        return f"{100 * (1 - run['bound'] / run['value']):.1f} %" if run["bound"] else "no bound"

    gaps = [[tool, *(gap(tool, case) for case in PAPERS)] for tool in tools]
    yield "gaps", _table(["gap", *PAPERS], gaps)
    rates = []
    for row in rows:
        if row["part"] in ("simulator", "sweep"):
            ratio, rate = row["seconds"] / own[row["case"], row["n"]], row["n"] / row["seconds"]
            rates.append([row["case"], row["n"], row["tool"], f"{row['seconds']:.3g}"])
            rates[-1] += [f"{rate:,.0f}", f"{ratio:.3g}"]
    head = ["case", "number", "program", "seconds", "number a second", "time / time of kvopt"]
    yield "rates", _table(head, rates)
    (made,) = (row for row in rows if row["part"] == "machine")
    commits = ", ".join(dict.fromkeys(f"`{row['commit'][:8]}`" for row in rows if row["commit"]))
    versions = "; ".join(dict.fromkeys(row["version"] for row in rows if row["version"]))
    loop = f"ten million additions in a Python loop: {made['seconds']:.2f} s"
    yield "machine", f"Commit {commits}; limit {made['case']} a run; {loop}; {versions}."


def _table(head: list[Any], lines: list[list[Any]]) -> str:
    return pd.DataFrame(lines, columns=head).to_markdown(index=False, disable_numparse=True)


def page(text: str, rows: list[Row]) -> str:
    """Return the page with the texts of these rows between its marks."""
    for name, made in texts(rows):
        before, mark, rest = text.partition(f"<!-- speed: {name} -->\n\n")
        assert mark, name
        text = before + mark + made + rest[rest.index("\n\n<!-- end -->") :]
    return text


@click.command(
    "python -m tests.benchmarks.speed",
    cls=Command,
    fails={1: (DisagreementError,)},
    examples=("--limit 10", "--solvers others/bin/python --vidur vidur/bin/python"),
    codes="0 done; 1 programs disagree; 2 bad usage",
)
@option("--solvers", "PYTHON", "interpreter with pyscipopt and pyjobshop")
@option("--vidur", "PYTHON", "interpreter with vidur")
@option("--limit", "S", "seconds of a solver's run (default: 60)", float, 60.0)
def main(options: CommandOptions) -> int:
    """Measure what docs/speed.csv lacks; write the tables of docs/speed.md."""
    measure(options)
    PAGE.write_text(page(PAGE.read_text(encoding="utf-8"), read_rows(ROWS)), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
