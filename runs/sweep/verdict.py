"""Judges what a run sends: schedules are re-checked here, bounds are held against them."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

from instances import Instance
from runs.job import Event
from instances.telling import one_line
from schedules import Schedule, Status, check_schedule, make_schedule

#: How the detail of a row begins whose bound cannot be true.
CONTRADICTED = "contradicted: "
#: Notes and refusals that are kept of a run, and entries of each trace; methods send any number.
_MOST_TOLD, _MOST_TRACED = 20, 10_000
#: Largest integer that a store holds.
_LARGEST = 2**63 - 1


@dataclass
class Account:
    """What a run has sent, as far as it stood the checks.

    Attributes
    ----------
    schedule
        The best schedule that the checker let pass.
    refused
        One line for every schedule that it did not.
    contradictions
        One line for every bound that cannot be true.
    failure, failure_status
        What the process said of an end without a result.
    incumbents, bounds
        Pairs (seconds since the end of the imports, value in rounds).
    done
        Whether the process has said its last word.
    """

    instance: Instance
    method: str
    schedule: Schedule | None = None
    found_by: str = ""
    lower_bound: int | None = None
    bound_source: str = ""
    relaxation: float | None = None
    solver: str = ""
    solver_seconds: float | None = None
    nodes: int | None = None
    engine_ending: str = "finished"
    certificate: dict[str, Any] | None = None
    peak_memory: int = 0
    refused: list[str] = field(default_factory=list)
    contradictions: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    failure: str = ""
    failure_status: Status = "no_solution"
    incumbents: list[tuple[float, int]] = field(default_factory=list)
    bounds: list[tuple[float, int]] = field(default_factory=list)
    done: bool = False

    def take(self, event: Event) -> None:
        """Take one event of the run's process."""
        data = event.data
        match event.kind:
            case "schedule":
                self._take_schedule(event.seconds, data)
            case "bound":
                self._take_bound(event.seconds, data)
            case "relaxation":
                if math.isfinite(data["value"]):
                    self.relaxation = float(data["value"])
            case "certificate":
                # Evaluated by whoever relies on it (``runs.best_known``), not here.
                self.certificate = data["document"]
            case "refused":
                _tell(self.refused, data["text"])
            case "note":
                self.tell(data["text"])
            case "error":
                self.failure = one_line(data["text"])
                self.failure_status = data.get("outcome", "error")
            case "done":
                self.solver = one_line(data["solver"])
                self.nodes = data["nodes"]
                self.solver_seconds = data.get("solver_seconds")
                self.engine_ending = data.get("ending", "finished")
            case "peak":
                self.peak_memory = data["bytes"]
                self.done = True

    def tell(self, text: str) -> None:
        """Add a note that a reader of the result should have."""
        _tell(self.notes, text)

    def close(self) -> None:
        """Hold the bound against what is known; a bound that cannot be true is withdrawn."""
        known = {
            "the run's own checked TEL": None if self.schedule is None else self.schedule.tel,
            "the instance's known optimum": self.instance.known_optimum,
        }
        for what, value in known.items():
            if value is not None and self.lower_bound is not None and self.lower_bound > value:
                self.contradictions.append(
                    f"lower bound {self.lower_bound} ({self.bound_source}) exceeds {what}, {value}"
                )
        if self.contradictions:
            # Nor is any of the weaker ones before it to be trusted.
            self.lower_bound, self.bound_source, self.bounds = None, "", []

    def status(self, ending: str) -> Status:
        """Return the status of the closed list; ``ending`` is how the process ended."""
        if self.refused:
            return "refused"
        if self.contradictions:
            return "error"
        if self.schedule is not None:
            return "optimal" if self.lower_bound == self.schedule.tel else "feasible"
        endings: dict[str, Status] = {
            "time_limit": "time_limit",
            "memory_limit": "memory_limit",
            "crashed": "crashed",
        }
        return endings.get(ending, self.failure_status)

    def detail(self) -> list[str]:
        """Return lines on what went wrong or should be known, the gravest first."""
        lines = [*self.refused, *filter(None, [self.failure]), *self.notes]
        if self.contradictions:
            lines.insert(0, CONTRADICTED + "; ".join(self.contradictions))
        return lines

    def _take_schedule(self, seconds: float, data: dict[str, Any]) -> None:
        found_by = one_line(data.get("found_by", ""))
        try:
            schedule = make_schedule(
                self.instance,
                data["starts"],
                self.method,
                attempts=data.get("attempts"),
                kept=data.get("kept"),
            )
        except ValueError as error:
            _tell(self.refused, f"{found_by}: {' '.join(str(error).split())[:200]}")
            return
        if schedule.tel > _LARGEST:
            _tell(self.refused, f"{found_by}: a TEL of more than 64 bits")
            return
        if self.schedule is not None and schedule.tel >= self.schedule.tel:
            return
        verdict = check_schedule(self.instance, schedule)
        if not verdict.valid:
            _tell(self.refused, f"{found_by}: {verdict.reason}")
            return
        self.schedule = schedule
        self.found_by = found_by
        _trace(self.incumbents, seconds, schedule.tel)

    def _take_bound(self, seconds: float, data: dict[str, Any]) -> None:
        value = data["value"]
        if value > _LARGEST:
            _tell(self.contradictions, f"a lower bound ({data['source']}) of more than 64 bits")
        elif value > (self.lower_bound or 0):
            self.lower_bound = value
            self.bound_source = data["source"]
            _trace(self.bounds, seconds, value)
        elif value == self.lower_bound:
            # Proved once more, by the engine's own search.
            self.bound_source = data["source"]


def _tell(lines: list[str], text: str) -> None:
    """Add a line, unless there are enough of them already."""
    if len(lines) < _MOST_TOLD:
        lines.append(one_line(text))
    elif len(lines) == _MOST_TOLD:
        lines.append("and more")


def _trace(trace: list[tuple[float, int]], seconds: float, value: int) -> None:
    """Add an improvement; of too many the last takes the place of the one before."""
    if len(trace) >= _MOST_TRACED:
        trace.pop()
    trace.append((round(seconds, 4), value))
