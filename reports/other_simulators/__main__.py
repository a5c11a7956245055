"""Command: the same traces in Vidur and BLIS, ``python -m reports.other_simulators``."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from reports.other_simulators import page
from reports.other_simulators.blis import run_blis
from reports.other_simulators.own import run_own
from reports.other_simulators.rows import read_rows, write_rows
from reports.other_simulators.scenarios import (
    BLIS,
    DRAWN,
    FOLDER,
    KVOPT,
    SARATHI,
    SCENARIOS,
    SIMULATORS,
    VLLM,
    Scenario,
    ServedRequest,
    SimulatorError,
    read_trace,
    write_trace,
)
from reports.other_simulators.steps import all_steps, read_steps, write_steps
from reports.other_simulators.vidur import run_vidur
from support.checkout import require_checkout
from support.command import CHECK_OPTION, Command, Options, option
from support.jsonfile import write_text
from support.usage import UsageError

PAGE = FOLDER / "README.md"
_PROGRAM = "python -m reports.other_simulators"


@click.command(
    _PROGRAM,
    cls=Command,
    fails={2: (SimulatorError,)},
    examples=("--check", "--vidur vidur --blis blis"),
    codes="0 done; 1 --check found a stale page; 2 bad usage, or no such simulator",
)
@option("--vidur", type=Path, metavar="DIR", help="checkout of microsoft/vidur")
@option(
    "--python",
    default=sys.executable,
    metavar="FILE",
    help="interpreter that has what Vidur needs (default: this one)",
)
@option("--blis", type=Path, metavar="FILE", help="program of inference-sim")
@option("--traces", is_flag=True, help="draw the traces again before")
@CHECK_OPTION
def main(options: Options) -> int:
    """Run the scenarios in this suite and in what is named, and build the page."""
    if options.check:
        return _check()
    require_checkout("--check writes nothing")
    if options.vidur and not (options.vidur / "vidur" / "simulator.py").is_file():
        raise UsageError(f"--vidur: expected a checkout of microsoft/vidur, found {options.vidur}")
    if options.blis and not options.blis.is_file():
        raise UsageError(f"--blis: expected a program, found {options.blis}")
    if options.traces:
        for name in DRAWN:
            write_trace(name)
    for name in SIMULATORS:
        chosen = [one for one in SCENARIOS if name in one.simulators]
        found = {one.name: _outcomes(name, one, options) for one in chosen}
        if all(found.values()):
            write_rows(name, found)
    rows = {name: read_rows(name) for name in SIMULATORS}
    steps = all_steps(rows)
    write_steps(steps)
    write_text(PAGE, page.page(rows, steps))
    write_text(FOLDER / page.FIGURE, page.figure(rows))
    return 0


def _check() -> int:
    rows = {name: read_rows(name) for name in SIMULATORS}
    steps = all_steps(rows)
    # The figure depends on the drawing library's version; the page holds the numbers.
    stale = (
        steps != read_steps()
        or not PAGE.exists()
        or PAGE.read_text(encoding="utf-8") != page.page(rows, steps)
    )
    print("README.md is stale" if stale else "README.md is what the rows give")
    return int(stale)


def _outcomes(name: str, scenario: Scenario, options: Options) -> list[ServedRequest]:
    """Return what a simulator says of a scenario; nothing if it has not been named."""
    trace, machine = read_trace(scenario.trace), scenario.machine
    if name == KVOPT:
        return run_own(machine, trace)
    if name == BLIS and options.blis:
        return run_blis(options.blis, machine, trace)
    if name in (SARATHI, VLLM) and options.vidur:
        return run_vidur(options.vidur, options.python, name, machine, trace)
    return []


if __name__ == "__main__":
    sys.exit(main())
