"""The steps from this suite to another simulator: its rules turned one after the other."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from reports.other_simulators.bridge import TURNED, simulate, turned
from reports.other_simulators.rows import ROWS, ServedRequests
from reports.other_simulators.scenarios import (
    KVOPT,
    SCENARIOS,
    Row,
    Scenario,
    ServedRequest,
    SimulatorError,
    read_trace,
)
from support.jsonfile import write_text

FILE = ROWS / "steps.csv"


class Step(NamedTuple):
    """What comes when one more rule is turned; ``rule`` is empty where none is."""

    scenario: str
    simulator: str
    rule: str
    evictions: int
    mean_ns: int
    p99_ns: int
    same: int


def all_steps(rows: Mapping[str, ServedRequests]) -> list[Step]:
    """Return the steps to each simulator that differs from ours, in each scenario."""
    steps: list[Step] = []
    for scenario in SCENARIOS:
        for simulator in scenario.simulators:
            theirs = rows[simulator][scenario.name]
            if theirs != rows[KVOPT][scenario.name]:
                steps += _steps(scenario, simulator, theirs)
    return steps


def _steps(scenario: Scenario, simulator: str, theirs: list[ServedRequest]) -> Iterable[Step]:
    trace = read_trace(scenario.trace)
    names = TURNED[simulator]
    for count, name in enumerate(("", *names)):
        found = simulate(trace, scenario.machine, turned(*names[:count]))
        times = latencies(trace, [one.completion for one in found])
        yield Step(
            scenario.name,
            simulator,
            name,
            sum(one.evictions for one in found),
            round(float(times.mean())),
            round(float(np.percentile(times, 99))),
            same(found, theirs),
        )


def latencies(trace: list[Row], times: list[int]) -> NDArray[np.int64]:
    """Return the times since the arrivals (ns), shape (n,)."""
    since = [time - arrival for time, (arrival, _, _) in zip(times, trace, strict=True)]
    return np.array(since, dtype=np.int64)


def same(found: list[ServedRequest], others: list[ServedRequest]) -> int:
    """Return how many requests have the same first token, completion and evictions in both."""
    return sum(one == other for one, other in zip(found, others, strict=True))


def steps_text(steps: Iterable[Step]) -> str:
    """Return the file of the steps."""
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(Step._fields)
    writer.writerows(steps)
    return stream.getvalue()


def write_steps(steps: Iterable[Step]) -> None:
    """Write the file of the steps."""
    write_text(FILE, steps_text(steps))


def read_steps() -> list[Step]:
    """Return the steps of the file.

    Raises
    ------
    SimulatorError
        If there is none, or it holds something else.
    """
    try:
        with FILE.open(encoding="utf-8", newline="") as file:
            return [
                Step(
                    row["scenario"],
                    row["simulator"],
                    row["rule"],
                    *(int(row[name]) for name in Step._fields[3:]),
                )
                for row in csv.DictReader(file)
            ]
    except (OSError, KeyError, ValueError, TypeError) as error:
        raise SimulatorError(f"{FILE}: expected {','.join(Step._fields)} ({error})") from error
