"""One run of a sweep: instance, method and limits, its key, and its result."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, field, fields
from functools import cached_property
from typing import Any

from instances import Instance
from instances.bulk_requests import instance_columns, restore_instance
from kvopt.checked_numbers import TIME_LIMIT
from kvopt.methods.grammar import method_of_document
from kvopt.methods.method import Method
from kvopt.runs.row_columns import Record
from schedules import Schedule, Status


@dataclass(frozen=True)
class Task:
    """One instance, one method, one seed, with limits (seconds from the end of the imports, GB).

    The instance is None where its file, ``name``, could not be read: ``fault`` says why, with
    ``fault_status``.  ``code`` and ``versions`` are digest and libraries of the sources that the
    method can reach, empty where the run is not to be stored.  ``deadline`` is the end of the run
    in any case (``time.monotonic``), ``warm_start`` the starts of a feasible schedule,
    ``expected_starts`` are of the LP relaxation, for a policy that needs them (rounds).  The model
    is written to ``model_file`` instead of being solved; the sweep writes ``outputs``.
    """

    instance: Instance | None
    name: str
    method: Method
    seed: int = 0
    time_limit: float = TIME_LIMIT
    memory_limit: float | None = None
    threads: int = 1
    code: str = ""
    versions: dict[str, str] = field(default_factory=dict)
    section: str = ""
    fault: str = ""
    fault_status: Status = "error"
    deadline: float | None = None
    warm_start: list[int] | None = None
    expected_starts: list[float] | None = None
    model_file: str = ""
    batch_time: str = ""
    outputs: tuple[str, ...] = ()

    @cached_property
    def key(self) -> str:
        """Hexadecimal SHA-256 of all that two equal runs have in common."""
        identity: dict[str, Any] = {
            "instance": self.name,
            "instance_sha256": self.instance.sha256 if self.instance else "",
            "method": self.method.text,
            "seed": self.seed,
            "time_limit": float(self.time_limit),
            "memory_limit": None if self.memory_limit is None else float(self.memory_limit),
            "threads": self.threads,
            "code": self.code,
            "versions": self.versions,
        }
        # The hash leaves it out, but the row depends on it.
        if self.instance is not None and self.instance.known_optimum is not None:
            identity["known_optimum"] = self.instance.known_optimum
        # Nor does the hash contain the unit of time.
        if self.batch_time:
            identity["batch_time"] = self.batch_time
        text = json.dumps(identity, sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(text.encode()).hexdigest()

    def end_from(self, moment: float) -> float:
        """Return when a run that begins at a moment must have ended, on the same clock."""
        end = moment + self.time_limit
        return end if self.deadline is None else min(end, self.deadline)

    def to_line(self) -> str:
        """Return the task as one line of JSON."""
        record = {each.name: getattr(self, each.name) for each in fields(self)}
        columns = None if self.instance is None else instance_columns(self.instance)
        own = {"instance": columns, "method": self.method.document()}
        return json.dumps(record | own) + "\n"

    @staticmethod
    def from_line(line: str) -> Task:
        """Return the task that :meth:`to_line` wrote.

        A MethodError: its method is none here, as with other sources on another machine.
        """
        record = json.loads(line)
        columns = record["instance"]
        instance = None if columns is None else restore_instance(columns)
        method = method_of_document(record["method"])
        read = {"instance": instance, "method": method, "outputs": tuple(record["outputs"])}
        return Task(**(record | read))


@dataclass(frozen=True, eq=False)
class FinishedRun:
    """A record with its proof: the checked schedule, the bound's certificate as JSON.

    The other fields are not stored.  ``status`` leaves out the optimum that the
    instance's file states; ``about_the_file`` is the line where the run contradicts that.  The
    record's ``detail`` is a cut of ``notes``; ``refused`` schedules and false bounds
    (``contradictions``) have a line each.  ``failure`` says why the method failed.  ``formulation``
    was left to the size, ``engine`` is the one that a team works with.  ``compiling`` are seconds
    that no limit counts.
    """

    record: Record
    schedule: Schedule | None = None
    certificate: dict[str, Any] | None = None
    instance: Instance | None = None
    status: Status = "no_solution"
    notes: tuple[str, ...] = ()
    refused: tuple[str, ...] = ()
    contradictions: tuple[str, ...] = ()
    failure: str = ""
    about_the_file: str = ""
    formulation: str = ""
    engine: str = ""
    expected_starts: list[float] | None = None
    compiling: float = 0.0
