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

    Attributes
    ----------
    instance
        What is to be scheduled; None where its file could not be read, see ``fault``.
    name
        The instance's name, or the path of a file that could not be read.
    method
        What is to be run.  Of it the canonical text is part of the key; where a file lies is not,
        the digest of its sources is.
    seed
        Of the method and the prediction.
    time_limit
        Seconds of wall clock from the moment at which the imports are done.
    memory_limit
        Gigabytes of resident memory of the run's processes; None for no limit.
    threads
        Of the method.
    code
        Digest of the sources that the method can reach (``kvopt.methods.fingerprint``); empty where
        the run is not to be stored, and nothing needs to be the same as when it was planned.
    versions
        Of Python and of the libraries that decide a result.
    section
        The suite's section that asked for the run; no part of the key.
    fault
        One line that says why the instance cannot be run at all.
    fault_status
        ``error`` for a file that cannot be read, ``infeasible`` for a request that never fits.
    deadline
        When the run must have ended in any case, on this machine's ``time.monotonic``: where the
        limit covers more than the run.  No part of the key.
    warm_start
        Start rounds of a feasible schedule to begin with, in the instance's order, where an engine
        need not look for one.  No part of the key, as all that follows.
    expected_starts
        Σ t·x of each request in the LP relaxation (rounds), where a policy that needs it need not
        solve it.
    model_file
        Where the model of the method's formulation is written to, instead of being solved.
    batch_time
        How long a round takes, as text, for an instance in seconds; empty for one in rounds.
    outputs
        Absolute paths of what the sweep writes: no sources of the method.  No part of the key.
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

    Attributes
    ----------
    schedule
        The checked schedule, None without one.
    certificate
        What proves the lower bound where it can be checked by evaluation (memory prices), as JSON,
        else None: the bound then rests on the engine's search.
    instance
        None where it could not be read.
    status
        That of the run by itself, whatever the instance's file states of its optimum.
    notes
        What a reader of the result should know, one line each; the record's ``detail`` is a cut of
        it.  This and what follows is not stored.
    refused
        One line for every schedule that the checker refused.
    contradictions
        One line for every bound that cannot be true.
    failure
        One line if the method has come to no end of its own, whatever it had found before.
    about_the_file
        One line if the optimum that the instance's file states is contradicted, else empty.
    formulation
        With its options, where the method has left it to the size.
    engine
        The engine that others worked beside, as in ``HiGHS``; else empty.
    expected_starts
        Σ t·x of each request in the LP relaxation that a policy was advised by (rounds).
    compiling
        Seconds that compiling took before the run's clock started, which no limit counts.
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
