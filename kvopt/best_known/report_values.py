"""Values of the registry for reports."""

from collections.abc import Collection
from contextlib import suppress
from pathlib import Path
from typing import Any

from instances.instance_names import FOLDER
from kvopt.best_known.library_and_ladder import library_by_hash
from kvopt.best_known.registry_entry import RegistryEntry
from kvopt.best_known.registry_files import proof_file, read_entries, schedule_path
from kvopt.methods.grammar import MethodError
from kvopt.methods.witness import certificate_witness, engine_witness
from schedules.evidence import CERTIFICATE, Witness


def known_values(
    folder: Path = FOLDER, among: Collection[str] | None = None
) -> dict[str, dict[str, Any]]:
    """Return the registry's values (rounds) by hash, unchecked; ``among`` are the wanted hashes."""
    entries = read_entries(folder)
    if among is not None:
        entries = {sha: entry for sha, entry in entries.items() if sha in among}
    library = library_by_hash() if entries else {}
    return {
        sha: {
            "upper_bound": entry.upper.value,
            "upper_by": entry.upper.by,
            "lower_bound": entry.lower.value,
            "lower_by": entry.lower.method,
            "certified_bound": entry.certified.value,
            "certified_by": f"{CERTIFICATE}{entry.certified.certificate}",
            "witnesses": _witnesses(entry),
            "construction": library[sha].instance.known_optimum if sha in library else None,
            "schedule": proof_file(folder, schedule_path(entry.instance)),
            "history": [
                {"side": side, "value": step.value, "method": step.method, "date": step.date}
                for side, step in entry.history.steps
            ],
        }
        for sha, entry in entries.items()
    }


def _witnesses(entry: RegistryEntry) -> list[Witness]:
    """Return the witnesses that an entry names, without those that cannot be read."""
    found = []
    for proof in entry.proofs:
        with suppress(MethodError):
            found.append(engine_witness(proof.method, proof.value))
    certified = entry.certified
    return [*found, certificate_witness(certified.certificate, certified.value)]
