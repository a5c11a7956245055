"""The registry's values as reports take them."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import Any

from instances.named import FOLDER
from kvopt.best_known.entry import Certified, Entry
from kvopt.best_known.files import proof_file, read_entries, schedule_path
from kvopt.best_known.library import library_by_hash
from kvopt.methods.grammar import MethodError
from kvopt.methods.witness import certificate_witness, engine_witness
from schedules.evidence import CERTIFICATE, Witness


def known_values(folder: Path = FOLDER) -> dict[str, dict[str, Any]]:
    """Return what is known of each instance of the registry, by the instance's hash.

    Keys are ``upper_bound`` and ``lower_bound`` (rounds), ``upper_by`` and ``lower_by`` (method),
    ``certified_bound`` (rounds), ``certified_by`` (the kind of its certificate) and ``lower_kind``
    (certified, construction or solver-reported),
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
    entries = read_entries(folder)
    library = library_by_hash() if entries else {}
    built = {sha: found.instance.known_optimum for sha, found in library.items()}
    return {
        sha: _told(entry, folder) | {"construction": built.get(sha)}
        for sha, entry in entries.items()
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
        "certified_by": f"{CERTIFICATE}{entry.certified.certificate}",
        "certificate": isinstance(entry.lower, Certified),
        "opt": entry.opt,
        "reason": entry.reason,
        "witnesses": _witnesses(entry),
        "schedule": proof_file(folder, schedule_path(entry.instance)),
        "history": sorted(steps, key=lambda step: str(step["date"])),
    }


def _witnesses(entry: Entry) -> list[Witness]:
    """Return the witnesses that an entry names, without those that cannot be read.

    Nothing is evaluated: ``python -m kvopt.best_known --check`` does that.
    """
    certified = entry.certified
    found: list[Witness] = []
    for proof in entry.proofs:
        with suppress(MethodError):
            found.append(engine_witness(proof.method, proof.value))
    return [*found, certificate_witness(certified.certificate, certified.value)]
