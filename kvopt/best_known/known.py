"""The registry's values as reports take them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from instances.named import FOLDER
from kvopt.best_known.entry import Certified, Entry
from kvopt.best_known.files import proof_file, read_registry, schedule_path
from kvopt.best_known.library import library_by_hash
from kvopt.best_known.rule import witnesses_of


def known_values(folder: Path = FOLDER) -> dict[str, dict[str, Any]]:
    """Return what is known of each instance of the registry, by the instance's hash.

    Keys are ``upper_bound`` and ``lower_bound`` (rounds), ``upper_by`` and ``lower_by`` (method),
    ``certified_bound`` (rounds) and ``lower_kind`` (certified, construction or solver-reported),
    ``opt`` (bool), ``reason``, ``witnesses`` (a list of :class:`schedules.evidence.Witness`),
    ``construction`` (the optimum by construction, rounds, or None), ``upper_date`` and
    ``lower_date``, ``certificate`` (whether the bound has one), ``schedule`` (path of its file) and
    ``history`` (a list of objects with side, value, method and date, oldest first).  Empty where
    there is no registry.

    Raises
    ------
    RegistryError
        If the file is damaged or was edited by hand, or names a schedule outside its folder.
    """
    registry = read_registry(folder)
    if registry is None:
        return {}
    built = {sha: found.instance.known_optimum for sha, found in library_by_hash().items()}
    return {
        entry.sha256: _told(entry, folder) | {"construction": built.get(entry.sha256)}
        for entry in registry.instances
    }


def _told(entry: Entry, folder: Path) -> dict[str, Any]:
    steps = [
        {"side": side, "value": step.value, "method": step.method, "date": step.date}
        for side in ("upper", "lower")
        for step in getattr(entry.history, side)
    ]
    return {
        "upper_bound": entry.upper.value,
        "upper_by": entry.upper.by,
        "upper_date": entry.upper.date,
        "lower_bound": entry.lower.value,
        "lower_by": entry.lower.method,
        "lower_date": entry.lower.date,
        "lower_kind": entry.lower.kind,
        "certified_bound": entry.certified.value,
        "certificate": isinstance(entry.lower, Certified),
        "opt": entry.opt,
        "reason": entry.reason,
        "witnesses": witnesses_of(entry),
        "schedule": proof_file(folder, schedule_path(entry.instance)),
        "history": sorted(steps, key=lambda step: str(step["date"])),
    }
