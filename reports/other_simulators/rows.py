"""The rows: what each simulator says of each request of each scenario, one file a simulator."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping

from reports.other_simulators.scenarios import FOLDER, SCENARIOS, ServedRequest, SimulatorError
from support.jsonfile import write_text

ROWS = FOLDER / "rows"
_COLUMNS = ("scenario", "request", "first_token_ns", "completion_ns", "evictions")

#: ServedRequests of the requests in the trace's order, by scenario.
ServedRequests = Mapping[str, list[ServedRequest]]


def write_rows(simulator: str, outcomes: ServedRequests) -> None:
    """Write the rows of one simulator."""
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(_COLUMNS)
    for scenario, found in outcomes.items():
        writer.writerows((scenario, number, *one) for number, one in enumerate(found))
    write_text(ROWS / f"{simulator}.csv", stream.getvalue())


def read_rows(simulator: str) -> dict[str, list[ServedRequest]]:
    """Return the rows of one simulator.

    Raises
    ------
    SimulatorError
        If there are none, or not those of its scenarios.
    """
    path = ROWS / f"{simulator}.csv"
    found: dict[str, list[ServedRequest]] = {}
    try:
        with path.open(encoding="utf-8", newline="") as file:
            for row in csv.DictReader(file):
                numbers = (int(row[name]) for name in _COLUMNS[2:])
                found.setdefault(row["scenario"], []).append(ServedRequest(*numbers))
    except FileNotFoundError as error:
        raise SimulatorError(f"{path}: there is none") from error
    except (KeyError, ValueError) as error:
        raise SimulatorError(f"{path}: expected {','.join(_COLUMNS)} ({error})") from error
    wanted = [one.name for one in SCENARIOS if simulator in one.simulators]
    if list(found) != wanted:
        raise SimulatorError(f"{path}: expected {', '.join(wanted)}, found {', '.join(found)}")
    return found
