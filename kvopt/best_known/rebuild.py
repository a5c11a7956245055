"""Reads all that the registry holds and writes it anew."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from kvopt.best_known.entry import Entry
from kvopt.best_known.files import (
    PROOFS,
    REGISTRY_FILE,
    certificate_path,
    format_certificate,
    format_registry,
    format_schedule,
    format_schemas,
    read_entries,
    schedule_path,
    write_files,
)
from kvopt.best_known.library import LibraryInstance
from kvopt.best_known.merge import Known
from kvopt.best_known.verify import DamagedError, read_each


def read_all(known: Mapping[str, LibraryInstance], folder: Path) -> dict[str, Known]:
    """Return the present values by hash, each proved anew: only what is proved is merged into.

    Raises
    ------
    RegistryError, DamagedError
        If a file is damaged or does not prove its value.
    """
    found = {}
    entries = []
    for entry in read_entries(folder).values():
        if entry.sha256 in known:
            entries.append(entry)
        else:
            print(f"dropped: {entry.instance}: no instance of its hash in the library")
    for entry, read in read_each(entries, known, folder, "entries proved again"):
        if isinstance(read, str):
            raise DamagedError(read)
        found[entry.sha256] = read
    return found


def write_all(
    merged: Sequence[Known],
    known: Mapping[str, LibraryInstance],
    folder: Path,
    beside: Iterable[Entry] = (),
) -> None:
    """Write the registry, its schema and all proofs, in the library's order.

    What is ``beside`` stays as it is, with its proofs.

    Raises
    ------
    OSError
        If a file cannot be written.
    """
    by_hash = {entry.sha256: entry for entry in beside}
    by_hash |= {each.entry.sha256: each.entry for each in merged}
    entries = [by_hash[sha] for sha in known if sha in by_hash]
    texts = {REGISTRY_FILE: format_registry(entries)} | format_schemas()
    for each in merged:
        instance, upper = known[each.entry.sha256].instance, each.entry.upper
        proofs = {
            schedule_path(instance.name): format_schedule(instance, each.schedule.starts, upper),
            certificate_path(instance.name): format_certificate(instance, each.certificate),
        }
        texts |= {f"{PROOFS}/{path}": text for path, text in proofs.items()}
    write_files(folder, texts)
