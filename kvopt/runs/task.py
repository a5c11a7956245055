"""One run of a sweep: instance, method and limits, the key of it, and what comes out."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, field, fields
from functools import cached_property
from typing import Any

from instances import Instance
from instances.bulk import instance_columns, instance_of
from kvopt.methods.grammar import method_of_document
from kvopt.methods.method import Method
from kvopt.ranges import TIME_LIMIT
from kvopt.runs.record import Record
from schedules import Schedule, Status


@dataclass(frozen=True)
class Task:
    """One instance, one method, one seed, with limits.

    The instance is None where its file could not be read: then ``fault`` says why in one line,
    ``fault_status`` is ``error``, or ``infeasible`` for a request that never fits, and ``name`` is
    its path.

    The key is made of the method's canonical text, the seed, the limits (seconds from the end of
    the imports, gigabytes of resident memory of the run's processes, threads), the batch time,
    ``code`` (the digest of the sources that the method can reach, empty where the run is not to be
    stored) and the ``versions`` of Python and of libraries that decide a result.

    No part of it are the suite's ``section``; the ``deadline`` on ``time.monotonic``, where the
    limit covers more than the run; ``warm_start``, the start rounds of a feasible schedule;
    ``expected_starts``, Σ t·x of each request in the LP relaxation (rounds); ``model_file``, where
    the model is written to instead of being solved; and ``outputs``, absolute paths of what the
    sweep writes.
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
        """Hexadecimal SHA-256 of all that makes two runs the same run."""
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
        # The hash leaves it out, but what is said of the run depends on it.
        if self.instance is not None and self.instance.known_optimum is not None:
            identity["known_optimum"] = self.instance.known_optimum
        # Nor does it tell seconds from rounds.
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

        Raises
        ------
        MethodError
            If its method is none here, as with other sources on another machine.
        """
        record = json.loads(line)
        columns = record["instance"]
        instance = None if columns is None else instance_of(columns)
        method = method_of_document(record["method"])
        read = {"instance": instance, "method": method, "outputs": tuple(record["outputs"])}
        return Task(**(record | read))


@dataclass(frozen=True, eq=False)
class Finished:
    """A record with what proves it.

    The schedule is checked.  The certificate is JSON that proves the lower bound by evaluation;
    without one the bound rests on the engine's search.  ``status`` is that of the run by itself,
    whatever the instance's file states of its optimum; ``about_the_file`` is one line if that is
    contradicted.

    Not stored are ``notes`` (of which ``detail`` is a cut), one line for every schedule that the
    checker ``refused``, one for every bound that cannot be true, ``failure`` if the method has come
    to no end of its own, the ``formulation`` that was left to the size, the ``engine`` that others
    worked beside, ``expected_starts`` as in ``Task``, and the seconds of ``compiling`` before the
    clock started, which no limit counts.
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
