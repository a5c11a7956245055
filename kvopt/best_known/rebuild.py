"""Reads all that the registry holds and writes it anew."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from instances.progress import telling
from kvopt.best_known.files import (
    PROOFS,
    REGISTRY_FILE,
    SCHEMA_FILE,
    certificate_path,
    format_certificate,
    format_registry,
    format_schedule,
    format_schema,
    read_registry,
    schedule_path,
    write_files,
)
from kvopt.best_known.merge import Known
from kvopt.best_known.verify import LibraryInstance, read_known


def read_all(known: Mapping[str, LibraryInstance], folder: Path) -> dict[str, Known]:
    """Return the present values by hash, each proved anew: only what is proved is merged into.

    Raises
    ------
    RegistryError, DamagedError
        If a file is damaged or does not prove its value.
    """
    registry = read_registry(folder)
    found = {}
    entries = registry.instances if registry else ()
    for entry in telling(entries, "entries proved again"):
        if entry.sha256 in known:
            found[entry.sha256] = read_known(entry, known[entry.sha256], folder)
        else:
            print(f"dropped: {entry.instance}: no instance of its hash in the library")
    return found


def write_all(merged: Sequence[Known], known: Mapping[str, LibraryInstance], folder: Path) -> None:
    """Write the registry, its schema and all proofs, the registry last.

    Raises
    ------
    OSError
        If a file cannot be written.
    """
    entries = [each.entry for each in merged]
    texts = {REGISTRY_FILE: format_registry(entries), SCHEMA_FILE: format_schema()}
    for each in merged:
        instance, upper = known[each.entry.sha256].instance, each.entry.upper
        proofs = {
            schedule_path(instance.name): format_schedule(instance, each.schedule.starts, upper),
            certificate_path(instance.name): format_certificate(instance, each.certificate),
        }
        texts |= {f"{PROOFS}/{path}": text for path, text in proofs.items()}
    write_files(folder, texts)
