"""Text of a registry entry: values, gaps, standing and files."""

from pathlib import Path

from kvopt.best_known.registry_entry import RegistryEntry
from kvopt.best_known.registry_files import certificate_path, proof_file, schedule_path
from schedules.gap import gap


def entry_text(entry: RegistryEntry, folder: Path) -> str:
    """Return the values of an entry, its standing and its files below a folder, a line each."""
    name, upper = entry.instance, entry.upper
    rows = {"instance": f"{name}  (n = {entry.n}, M = {entry.memory})"}
    rows["best TEL"] = f"{upper.value}  (by {upper.found_by}, method {upper.method}, {upper.date})"
    for each in (entry.certified, entry.lower):
        share = f"gap {100 * gap(upper.value, each.value):.3f} %"
        rows[f"{each.kind} bound"] = f"{each.value}  ({share}, method {each.method}, {each.date})"
    rows["standing"] = f"optimal: {entry.reason}" if entry.opt else entry.reason
    for kind, path in (("schedule", schedule_path(name)), ("certificate", certificate_path(name))):
        file = proof_file(folder, path)
        rows[kind] = f"{file}{'' if file.exists() else '  (missing)'}"
    return "\n".join(f"{label:<{max(map(len, rows))}}  {text}" for label, text in rows.items())
