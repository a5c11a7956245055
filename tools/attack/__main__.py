"""The randomised attack: engines, formulations, switches and policies against an oracle.

``python -m tools.attack`` draws 10,000 small instances of adversarial shapes, finds each optimum by
a search that shares nothing with the project but ``Instance``, and runs a handful of methods on
each, every option drawn.  A fault is a bound above the optimum, ``optimal`` for another TEL, a
schedule that the checker refuses, a certificate that proves less than it states, a policy that
beats the optimum or differs from its transcription, a crash or a hang.

Raw rows go to a file as they come.  The last line is the verdict.
"""

import json
import math
import sys
import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import Any

import click

from support.click_command import Command, CommandOptions, option
from tools.attack.attempt import ENGINE, Crew, attempt
from tools.attack.choices import switches

#: Instances between two lines of progress.
_EVERY = 100


def run(
    path: Path,
    seed: int,
    instances: int,
    jobs: int,
    *,
    minutes: float = math.inf,
    engine: tuple[str, ...] = ENGINE,
) -> list[dict[str, Any]]:
    """Return a row for each instance, written as it comes; each job has separate processes."""
    numbers, lock, stop = iter(range(instances)), threading.Lock(), threading.Event()
    deadline = time.monotonic() + 60 * minutes
    rows: list[dict[str, Any]] = []
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", encoding="utf-8") as file, ThreadPoolExecutor(jobs) as pool:

        def work() -> None:
            with closing(Crew(engine)) as crew:
                for number in numbers:
                    if stop.is_set() or time.monotonic() > deadline:
                        return
                    row = attempt(crew, seed, number)
                    with lock:
                        rows.append(row)
                        print(json.dumps(row), file=file, flush=True)
                        if len(rows) % _EVERY == 0:
                            print(f"{len(rows):,} of {instances:,} instances", flush=True)

        try:
            for each in [pool.submit(work) for _ in range(jobs)]:
                each.result()
        finally:
            stop.set()
    return sorted(rows, key=lambda row: int(row["number"]))


def report(rows: list[dict[str, Any]], seed: int) -> int:
    """Print the coverage and every fault, then the verdict; return the exit code."""
    kinds, proved, covered = Counter[str](), Counter[str](), Counter[str]()
    for each in (run for row in rows for run in row["runs"]):
        solver = each.get("solver", "policy")
        kinds[solver] += 1
        proved[solver] += each.get("status") == "optimal"
        covered.update(switches(each["method"]))
    for name, times in sorted(covered.items()):
        print(f"{times:6,}  {name}")
    for solver, times in sorted(kinds.items()):
        print(f"{times:6,}  runs of {solver}, {proved[solver]:,} of them closed")
    faults = [f"instance {row['number']}: {fault}" for row in rows for fault in row["faults"]]
    for fault in faults:
        print(fault)
    solved = sum(row.get("optimum") is not None for row in rows)
    verdict = f"{len(faults)} faults" if faults else "no fault"
    runs = f"{solved:,} instances with their optimum, {kinds.total():,} runs"
    print(f"attack: seed {seed}, {runs}, {verdict}")
    return 1 if faults else 0


@click.command(
    "python -m tools.attack",
    cls=Command,
    examples=("", "--instances 100 --minutes 5 --out results/attack.jsonl"),
    codes="0 no fault; 1 faults; 2 bad usage",
)
@option("--out", "FILE", "raw rows", Path, Path("results/attack.jsonl"))
@option("--instances", "N", "how many (default: 10,000)", int, 10_000)
@option("--seed", "K", "of the instances (default: 0)", int, 0)
@option("--jobs", "N", "side by side (default: 2)", int, 2)
@option("--minutes", "M", "stop after so long", float, math.inf)
def main(options: CommandOptions) -> int:
    """Run methods on small adversarial instances and compare them with an oracle."""
    seed, minutes = options.seed, options.minutes
    rows = run(options.out, seed, options.instances, options.jobs, minutes=minutes)
    return report(rows, seed)


if __name__ == "__main__":
    sys.exit(main())
