"""Unchecked values of the registry of best-known values; ``kvopt.best_known`` checks them."""

import json
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

from instances import Instance
from instances.instance_names import FOLDER
from instances.time_unit import ROUNDS
from kvopt.runs.task import FinishedRun
from schedules.evidence import CONTRADICTED, STANDINGS
from schedules.gap import gap
from support.json_files import read_bytes
from support.message_text import one_line

#: Columns of bounds of a row.
_BOUNDS = ("lower_bound", "claimed_bound", "root_bound", "engine_bound", "relaxation")
_UNREADABLE = (OSError, ArithmeticError, LookupError)


@dataclass(frozen=True)
class RegisteredValues:
    """Best TEL and best bound (rounds), and the ``certified`` bound below a solver's."""

    upper: int
    lower: int
    reason: str
    certified: int | None = None

    def __str__(self) -> str:
        """Return text as ``TEL 1234 (optimal)`` or ``TEL 1234, bound 1200``."""
        if self.upper == self.lower:
            return f"TEL {self.upper} ({self.reason})"
        note = f" (solver-reported), {self.certified} (certified)" if self.certified else ""
        return f"TEL {self.upper}, bound {self.lower}{note}"

    def compared(self, tel: int, bound: int | None) -> str:
        """Return the gaps of a TEL to both values as text, and which value is beaten."""
        parts = [f"{100 * gap(tel, self.upper):.3f} % to the TEL"]
        if self.lower < self.upper:
            parts.append(f"{100 * gap(tel, self.lower):.3f} % to the bound")
        if tel < self.upper:
            parts.append("a better schedule")
        if bound is not None and self.lower < bound:
            parts.append("a better bound")
        return ", ".join(parts)


def judge_by_registry(run: FinishedRun) -> FinishedRun:
    """Withdraw a bound that exceeds the registry's schedule; name a schedule below its bound."""
    record, schedule, status, line = run.record, run.schedule, run.status, ""
    known = None if run.instance is None else find_registered(run.instance)
    if known is None:
        return run
    if schedule is not None and not schedule.easier and schedule.tel < known.lower:
        line = f"the registry's bound {known.lower} exceeds the run's checked TEL {schedule.tel}"
    bound = max(record.lower_bound or 0, record.claimed_bound or 0)
    if bound > known.upper:
        line = f"lower bound {bound} exceeds {known.upper}, the TEL of the registry's schedule"
        cleared: dict[str, Any] = dict.fromkeys(_BOUNDS) | {"bounds": []}
        detail, status = one_line(f"{CONTRADICTED}{line}; {record.detail}"), "error"
        record = replace(record, status=status, detail=detail, bound_source="", **cleared)
        run = replace(run, certificate=None)
        if schedule is not None:
            origin = (schedule.provenance or {}) | {"bound_source": ""}
            changed: dict[str, Any] = {"provenance": origin, "status": "feasible"}
            schedule = replace(schedule, lower_bound=None, **changed)
    wrong = (*run.contradictions, *filter(None, [line]))
    return replace(run, record=record, schedule=schedule, status=status, contradictions=wrong)


def find_registered(instance: Instance, folder: Path = FOLDER) -> RegisteredValues | None:
    """Return the registry's values of an instance; None without an entry."""
    # The registry knows rounds alone.
    return registered_values(instance.sha256, folder) if instance.unit is ROUNDS else None


def registered_values(sha256: str, folder: Path = FOLDER) -> RegisteredValues | None:
    """Return the registry's values by the hash of an instance in rounds; None without an entry."""
    try:
        path = folder / "best_known.json"
        entries = _entries(path, path.stat().st_mtime_ns)
        known = next((each for each in entries if each["sha256"] == sha256), None)
        if known is None:
            return None
        reason = "optimal" if known["standing"] == "opt" else STANDINGS[known["standing"]]
        lower = known["lower"]
        reported = lower["kind"] == "solver-reported"
        proved = int(lower["certified"]["value"]) if reported else None
        return RegisteredValues(int(known["upper"]["value"]), int(lower["value"]), reason, proved)
    except (*_UNREADABLE, ValueError, TypeError, AttributeError, RecursionError):
        return None


@lru_cache(1)
def _entries(path: Path, changed: int) -> list[Any]:
    del changed
    return list(json.loads(read_bytes(path))["instances"])
