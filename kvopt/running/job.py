"""What a parent asks of an engine's process, and what it is told back, one JSON object a line."""

from __future__ import annotations

import json
import time
from dataclasses import asdict, dataclass, field, fields
from typing import IO, Any

from instances import Instance
from instances.files import instance_document, parse_instance
from kvopt.running.event_data import read_event


@dataclass(frozen=True)
class Job:
    """One engine run.

    Attributes
    ----------
    solver
        ``highs``, ``cpsat``, ``bound`` (a file of ``formulations.bounds``), ``export`` (write the
        model, solve nothing) or a name that Pyomo's ``SolverFactory`` knows.
    module
        The formulation's module.
    relaxation
        Whether the formulation yields a bound only.
    seconds
        Wall-clock budget for building and solving together, from the start of the process.
    warm_start
        Start rounds of a feasible schedule, in the instance's order.
    upper_bound
        TEL (rounds) of that schedule.
    memory_limit
        Gigabytes of resident memory.
    path
        Where ``export`` writes the model.
    options
        Options of the formulation that differ from their defaults.
    """

    instance: Instance
    solver: str
    module: str
    relaxation: bool
    seconds: float
    threads: int
    seed: int
    warm_start: list[int]
    upper_bound: int
    memory_limit: float | None = None
    path: str | None = None
    options: dict[str, bool | int] = field(default_factory=dict)

    def to_line(self) -> str:
        """Return the job as one line of JSON."""
        record = {each.name: getattr(self, each.name) for each in fields(self)}
        return json.dumps(record | {"instance": instance_document(self.instance)}) + "\n"

    @staticmethod
    def from_line(line: str) -> Job:
        """Return the job that :meth:`to_line` wrote."""
        record = json.loads(line)
        return Job(**(record | {"instance": parse_instance(record["instance"])}))


@dataclass(frozen=True)
class Event:
    """Something an engine's process reports.

    Attributes
    ----------
    kind
        ``ready`` (imports done), ``built`` (the model stands; columns, rows, entries, seconds),
        ``schedule`` (``starts``), ``bound`` (``value``: an integer that no TEL is below;
        ``source``; ``certificate``, where the bound is the last one that its prices prove),
        ``relaxation`` (``value``: the LP objective as the solver states it;
        ``expected_starts``: Σ t·x of each request, rounds), ``advice`` (``expected_starts`` of a
        relaxation that was solved on a coarse grid or in part only),
        ``note`` (``text``), ``too_large`` (``text``), ``unavailable`` (``text``),
        ``error`` (``text``) or ``done`` (``solver``: name and version; ``nodes``; ``outcome``;
        ``solver_seconds``, where the solver says how long it took).
    seconds
        Since the start of the engine's process.
    """

    kind: str
    seconds: float
    data: dict[str, Any]

    @staticmethod
    def from_line(line: bytes) -> Event | None:
        """Return the event of a line, None where it is not one."""
        read = read_event(line)
        return None if read is None else Event(*read)


class Report:
    """Writes events to the parent; every event is flushed, so that a kill loses none."""

    def __init__(self, stream: IO[str], started: float) -> None:
        self._stream = stream
        self._started = started

    def elapsed(self) -> float:
        """Return the seconds since the start of this process."""
        return time.monotonic() - self._started

    def __call__(self, kind: str, **data: Any) -> None:
        """Send one event."""
        event = asdict(Event(kind, self.elapsed(), data))
        self._stream.write(json.dumps(event) + "\n")
        self._stream.flush()
