"""Runs the proofs of optima again whose sources or solvers have changed since."""

from __future__ import annotations

import math
import time
from collections.abc import Collection, Iterator
from dataclasses import replace
from pathlib import Path

from instances import Instance
from kvopt.best_known.claims import proof_of
from kvopt.best_known.entry import Entry, Proof
from kvopt.best_known.files import REGISTRY_FILE, RegistryError, format_registry, read_registry
from kvopt.best_known.library import WithLadder, library_by_hash
from kvopt.best_known.merge import decide, is_stale
from kvopt.methods.grammar import read_method
from kvopt.methods.witness import engine_witness
from kvopt.runs.execute import execute
from kvopt.runs.task import Task
from support.jsonfile import write_text


def prove_again(
    folder: Path,
    names: Collection[str],
    limit: float,
    deadline: float = math.inf,
    method: str = "",
    drop: bool = False,
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
    method
        Run this one, as one more proof of each instance, instead of what is stale.
    drop
        Whether a stale proof that does not hold leaves the registry.

    Raises
    ------
    RegistryError
        If there is no registry, it is damaged, or lacks an instance that is named.
    MethodError
        If the method is not that of an engine alone.
    """
    entries, library = _entries(folder, names), WithLadder(library_by_hash())
    asked = [
        (sha, entry.proofs)
        for sha, entry in entries.items()
        if sha in library and (not names or entry.instance in names)
    ]
    if method:
        wanted = [(sha, method) for sha, _ in asked]
    else:
        stale = [(sha, proof) for sha, proofs in asked for proof in proofs if is_stale(proof)]
        stale.sort(key=lambda each: each[1].seconds)
        wanted = [(sha, proof.method) for sha, proof in stale]
    for number, (sha, each) in enumerate(wanted, 1):
        entry, instance = entries[sha], library[sha].instance
        told = f"[{number}/{len(wanted)}] {entry.instance}: {each}"
        if time.monotonic() > deadline:
            yield f"{told}: the time is up; the same command goes on", False
            return
        again, reason = _run(instance, entry, each, limit)
        if again is None:
            told, held = f"{told}: NOT PROVED: {reason}", False
        else:
            told, held = f"{told}: proved in {again.seconds:.1f} s", True
        if again is not None or drop:
            entries[sha] = _with(instance, entry, each, again)
            write_text(folder / REGISTRY_FILE, format_registry(entries.values()))
        yield f"{told}; {entries[sha].reason}", held


def _entries(folder: Path, names: Collection[str]) -> dict[str, Entry]:
    registry = read_registry(folder)
    if registry is None:
        raise RegistryError(f"{folder / REGISTRY_FILE}: there is none")
    there = {entry.instance for entry in registry.instances}
    if unknown := sorted(set(names) - there):
        raise RegistryError(f"{unknown[0]}: the registry has no such instance")
    return {entry.sha256: entry for entry in registry.instances}


def _run(instance: Instance, entry: Entry, method: str, limit: float) -> tuple[Proof | None, str]:
    """Return a proof by a method, or None and why there is none."""
    witness = engine_witness(method, entry.upper.value)
    alone = read_method(witness.name, planned=True)
    task = Task(instance, instance.name, alone, time_limit=limit, threads=1)
    finished = execute(task)
    record, value = finished.record, entry.upper.value
    if record.tel is not None and record.tel < value:
        return None, f"a schedule of TEL {record.tel}, the registry has {value}"
    again = proof_of(finished)
    if again is None or again.value != value:
        bound = f"{record.status}, TEL {record.tel}, bound {record.lower_bound}"
        told = f"{bound} ({record.bound_source}) after {record.seconds:.1f} s"
        return None, f"{told}; {record.detail}" if record.detail else told
    return again, ""


def _with(instance: Instance, entry: Entry, method: str, again: Proof | None) -> Entry:
    """Return an entry with a proof in the place of that of the same method, None for none."""
    kept = {proof.method: proof for proof in entry.proofs} | {method: again}
    proved = entry.certified.certificate, entry.certified.value
    proofs = tuple(proof for proof in kept.values() if proof is not None)
    verdict = decide(instance, entry.upper.value, entry.lower.value, proofs, proved)
    return replace(entry, proofs=proofs, standing=verdict.standing, reason=verdict.reason)
