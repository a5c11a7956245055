"""The randomised attack: engines, formulations, switches and policies against an oracle.

``python -m tools.attack`` draws 10,000 small instances of adversarial shapes (tokens up to 10⁹,
M/2, M/3, equal requests, late arrivals, s = 0, o = 1, s + o = M), finds each optimum by a search
that shares nothing with the project but ``Instance``, and runs a handful of methods on each, every
option drawn.  It is wrong if a bound exceeds the optimum, ``optimal`` is said of another TEL, the
checker refuses a schedule, a certificate proves less than it says, a policy beats the optimum or
differs from its transcription, or anything crashes or hangs.

Raw rows go to a file as they come; the same command goes on where it was stopped, however.  The
last line is the verdict.  Exit codes: 0 no fault, 1 faults, 2 bad usage.
"""

from __future__ import annotations

import sys
import threading
import time
from collections import Counter
from pathlib import Path

import click

from support.command import Command, Options, option
from tools.attack.attempt import ENGINE, Crew, attempt
from tools.attack.choices import switches
from tools.attack.rows import Rows, RowsError

#: Seconds between two lines of progress.
_EVERY = 30.0


def run(
    rows: Rows,
    seed: int,
    instances: int,
    jobs: int,
    *,
    minutes: float | None = None,
    commands: bool = True,
    engine: tuple[str, ...] = ENGINE,
) -> None:
    """Add the rows that are missing; a thread a job waits for its own processes."""
    missing = iter([number for number in range(instances) if number not in rows.found])
    lock, stop = threading.Lock(), threading.Event()
    deadline = None if minutes is None else time.monotonic() + 60 * minutes
    failures: list[BaseException] = []

    def work() -> None:
        crew = Crew(engine)
        try:
            while not stop.is_set() and (deadline is None or time.monotonic() < deadline):
                with lock:
                    number = next(missing, None)
                if number is None:
                    break
                rows.add(attempt(crew, seed, number, commands))
        except BaseException as error:
            failures.append(error)
            stop.set()
        finally:
            crew.close()

    threads = [threading.Thread(target=work) for _ in range(jobs)]
    for thread in threads:
        thread.start()
    began, told = time.monotonic(), time.monotonic()
    before = len(rows.found)
    try:
        while any(thread.is_alive() for thread in threads):
            time.sleep(0.2)
            if time.monotonic() - told > _EVERY:
                told = time.monotonic()
                pace = (len(rows.found) - before) / (told - began) * 3600
                faults = sum(len(row["faults"]) for row in list(rows.found.values()))
                print(
                    f"{len(rows.found):,} of {instances:,} instances, "
                    f"{pace:,.0f} an hour, {faults} faults",
                    flush=True,
                )
    except KeyboardInterrupt:
        print("stopped; the same command goes on", flush=True)
    stop.set()
    for thread in threads:
        thread.join()
    if failures:
        raise failures[0]


def report(rows: Rows, seed: int) -> int:
    """Print what was covered and every fault, then the verdict; return the exit code."""
    kinds: Counter[str] = Counter()
    proved: Counter[str] = Counter()
    covered: Counter[str] = Counter()
    faults = []
    for number, row in sorted(rows.found.items()):
        faults += [f"instance {number}: {fault}" for fault in row["faults"]]
        for each in row["runs"]:
            solver = each.get("solver", "policy")
            kinds[solver] += 1
            proved[solver] += each.get("status") == "optimal"
            if solver != "command":
                covered.update(switches(each["method"]))
    width = max((len(name) for name in covered), default=0)
    for name, times in sorted(covered.items()):
        print(f"{name:{width}}  {times:6,}")
    for solver, times in sorted(kinds.items()):
        optimal = f", {proved[solver]:,} of them closed" if proved[solver] else ""
        print(f"{solver:{width}}  {times:6,} runs{optimal}")
    for fault in faults:
        print(fault)
    solved = sum(row.get("optimum") is not None for row in list(rows.found.values()))
    verdict = f"{len(faults)} faults" if faults else "no fault"
    print(
        f"attack: seed {seed}, {solved:,} instances with their optimum, "
        f"{sum(kinds.values()):,} runs, {verdict}"
    )
    return 1 if faults else 0


@click.command(
    "python -m tools.attack",
    cls=Command,
    fails={2: (RowsError,)},
    examples=("", "--instances 100 --minutes 5 --out results/attack.jsonl"),
    codes="0 no fault; 1 faults; 2 bad usage",
)
@option("--out", "FILE", "raw rows", Path, Path("results/attack.jsonl"))
@option("--instances", "N", "how many (default: 10,000)", int, 10_000)
@option("--seed", "K", "of the instances (default: 0)", int, 0)
@option("--jobs", "N", "side by side (default: 2)", int, 2)
@option("--minutes", "M", "stop after so long", float)
def main(options: Options) -> int:
    """Run methods on small adversarial instances and compare them with an oracle."""
    rows = Rows(options.out, options.seed)
    run(rows, options.seed, options.instances, options.jobs, minutes=options.minutes)
    return report(rows, options.seed)


if __name__ == "__main__":
    sys.exit(main())
