"""Judges what a run sends: schedules are re-checked here, bounds are held against them."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

from instances import Instance
from instances.telling import one_line
from kvopt.running.job import Event
from kvopt.running.stated_optimum import dispute
from schedules import Schedule, Status, check_schedule, make_schedule
from schedules.evidence import CONTRADICTED, own_contradiction
from schedules.model import KEEPS_TOKENS_NOTE, better

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
        The best schedule that the checker let pass (``schedules.model.better``).
    refused
        One line for every schedule that it did not.
    contradictions
        One line for every bound that cannot be true.
    disputed
        One line if the bound exceeds the optimum that the instance's file states, and nothing shows
        which of the two is wrong; else empty.
    misstated
        One line if the run has proved wrong what the instance's file states, else empty.
    failure, failure_status
        What the process said of an end without a result.
    chosen
        Formulation with options, where the method has left it to the size.
    model
        Columns, rows and entries of the model, and the second in which it stood.
    incumbents, bounds
        Pairs (seconds since the end of the imports, value in rounds); a schedule that keeps tokens
        is no incumbent.
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
    engine_outcome: str = ""
    chosen: str = ""
    model: dict[str, Any] = field(default_factory=dict)
    certificate: dict[str, Any] | None = None
    peak_memory: int = 0
    refused: list[str] = field(default_factory=list)
    contradictions: list[str] = field(default_factory=list)
    disputed: str = ""
    misstated: str = ""
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
                # Evaluated by whoever relies on it (``kvopt.best_known``), not here.
                self.certificate = data["document"]
            case "chosen":
                self.chosen = one_line(data["text"])
            case "built":
                self.model = data | {"seconds": round(event.seconds, 4)}
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
                self.engine_outcome = data.get("outcome", "")
                self.engine_ending = data.get("ending", "finished")
            case "peak":
                self.peak_memory = data["bytes"]
                self.done = True

    def tell(self, text: str) -> None:
        """Add a note that a reader of the result should have."""
        _tell(self.notes, text)

    def close(self) -> None:
        """Hold the bound against what is known; a bound that cannot be true is withdrawn."""
        upper, bound = self.upper_bound, self.lower_bound
        if line := own_contradiction(upper, bound, self.bound_source):
            self.contradictions.append(line)
        found = dispute(self.instance, upper, bound, self.bound_source, self.certificate)
        if found is not None and found.settled:
            self.misstated = found.text
        elif found is not None:
            self.disputed = found.text
        if self.contradictions or self.disputed:
            # Nor is any of the weaker ones before it to be trusted.
            self.lower_bound, self.bound_source, self.bounds = None, "", []

    @property
    def upper_bound(self) -> int | None:
        """The TEL that OPT is at most (rounds); None without a schedule that keeps no tokens."""
        if self.schedule is None or self.schedule.keeps_tokens:
            return None
        return self.schedule.tel

    @property
    def gap(self) -> float | None:
        """(UB − LB) / UB, None where either is missing."""
        if self.upper_bound is None or self.lower_bound is None:
            return None
        return (self.upper_bound - self.lower_bound) / self.upper_bound if self.upper_bound else 0.0

    def status(self, ending: str) -> Status:
        """Return the status of the closed list; ``ending`` is how the process ended.

        A run on an instance whose file is wrong is an error, whoever is right about the rest.
        """
        status = self.standing(ending)
        of_file = self.misstated or self.disputed
        return "error" if of_file and status != "refused" else status

    def standing(self, ending: str) -> Status:
        """Return the status of the run by itself, whatever the instance's file states."""
        if self.refused:
            return "refused"
        if self.contradictions:
            return "error"
        if self.schedule is not None:
            closed = self.upper_bound is not None and self.lower_bound == self.upper_bound
            return "optimal" if closed else "feasible"
        endings: dict[str, Status] = {
            "time_limit": "time_limit",
            "memory_limit": "memory_limit",
            "crashed": "crashed",
        }
        return endings.get(ending, self.failure_status)

    def detail(self) -> list[str]:
        """Return lines on what went wrong or should be known, the gravest first."""
        lines = [*self.refused, *filter(None, [self.misstated, self.failure]), *self.notes]
        if wrong := [*self.contradictions, *filter(None, [self.disputed])]:
            lines.insert(0, CONTRADICTED + "; ".join(wrong))
        if self.schedule is not None and self.schedule.keeps_tokens:
            # What the row's TEL means is never cut off.
            lines.insert(0, KEEPS_TOKENS_NOTE)
        return lines

    def told(self) -> list[str]:
        """Return the lines that a reader of a result that stands should have."""
        kept = self.schedule is not None and self.schedule.keeps_tokens
        return [*([KEEPS_TOKENS_NOTE] if kept else []), *filter(None, [self.failure]), *self.notes]

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
        if self.schedule is not None and not better(schedule, self.schedule):
            return
        verdict = check_schedule(self.instance, schedule)
        if not verdict.valid:
            _tell(self.refused, f"{found_by}: {verdict.reason}")
            return
        self.schedule = schedule
        self.found_by = found_by
        if not schedule.keeps_tokens:
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
