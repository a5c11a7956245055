"""Runs the proofs of optima again whose sources or solvers have changed since."""

from __future__ import annotations

import math
import time
from collections.abc import Collection, Iterator
from dataclasses import replace
from pathlib import Path

from instances import Instance
from instances.jsonfile import write_text
from kvopt.best_known.claims import proof_of
from kvopt.best_known.entry import Entry, Proof
from kvopt.best_known.files import REGISTRY_FILE, RegistryError, format_registry, read_registry
from kvopt.best_known.rule import decide
from kvopt.best_known.verify import library_by_hash, stale_proofs
from kvopt.running.execute import execute
from kvopt.running.task import Task


def prove_again(
    folder: Path, names: Collection[str], limit: float, deadline: float = math.inf
) -> Iterator[tuple[str, bool]]:
    """Run stale proofs again, those that took least first; yield a line on each, and if it held.

    Each takes the place of the stale one as soon as it has ended, so that the same call goes on
    where it was stopped.  One that does not hold any more stays in the registry, where it is stale.

    Parameters
    ----------
    names
        Of instances; all where there are none.
    limit
        Seconds of each run.
    deadline
        When no further run begins, by ``time.monotonic``.

    Raises
    ------
    RegistryError
        If there is no registry, it is damaged, or lacks an instance that is named.
    """
    registry = read_registry(folder)
    if registry is None:
        raise RegistryError(f"{folder / REGISTRY_FILE}: there is none")
    there = {entry.instance for entry in registry.instances}
    if unknown := sorted(set(names) - there):
        raise RegistryError(f"{unknown[0]}: the registry has no such instance")
    library = library_by_hash()
    stale = [
        (entry.sha256, proof)
        for entry, proof in stale_proofs(registry)
        if entry.sha256 in library and (not names or entry.instance in names)
    ]
    entries = {entry.sha256: entry for entry in registry.instances}
    for number, (sha, proof) in enumerate(sorted(stale, key=lambda each: each[1].seconds), 1):
        entry, instance = entries[sha], library[sha].instance
        told = f"[{number}/{len(stale)}] {entry.instance}: {proof.method}"
        if time.monotonic() > deadline:
            yield f"{told}: the time is up; the same command goes on", False
            return
        again, reason = _run(instance, entry, proof, limit)
        if again is None:
            yield f"{told}: NOT PROVED AGAIN: {reason}", False
            continue
        entries[sha] = _with(instance, entry, again)
        write_text(folder / REGISTRY_FILE, format_registry(entries.values()))
        yield f"{told}: proved again in {again.seconds:.1f} s", True


def _run(instance: Instance, entry: Entry, proof: Proof, limit: float) -> tuple[Proof | None, str]:
    """Return the proof anew, or None and why there is none."""
    task = Task(
        instance, instance.name, proof.method, seed=proof.seed or 0, time_limit=limit, threads=1
    )
    finished = execute(task)
    record, value = finished.record, entry.upper.value
    if record.tel is not None and record.tel < value:
        return None, f"a schedule of TEL {record.tel}, the registry has {value}"
    again = proof_of(finished)
    if again is None or again.value != value:
        bound = f"{record.status}, bound {record.lower_bound} ({record.bound_source})"
        return None, f"{bound} after {record.seconds:.1f} s; {record.detail}".rstrip("; ")
    return again, ""


def _with(instance: Instance, entry: Entry, again: Proof) -> Entry:
    """Return an entry with a proof in the place of that of the same method."""
    proofs = tuple(again if each.method == again.method else each for each in entry.proofs)
    proved = entry.certified.certificate, entry.certified.value
    verdict = decide(instance, entry.upper.value, entry.lower.value, proofs, proved)
    return replace(entry, proofs=proofs, standing=verdict.standing, reason=verdict.reason)
