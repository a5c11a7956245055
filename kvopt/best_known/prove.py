"""Command: run stale proofs of optima again, or a method as one more proof.

Each proof is written as it ends, so that the same command goes on where it was stopped, however.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import click

from instances import Instance
from instances.named import FOLDER
from kvopt.best_known.claims import proof_of
from kvopt.best_known.entry import Entry, Proof
from kvopt.best_known.files import REGISTRY_FILE, RegistryError, format_registry, read_registry
from kvopt.best_known.known import decide, is_stale
from kvopt.best_known.library import WithLadder, library_by_hash
from kvopt.methods.grammar import MethodError, read_method
from kvopt.methods.witness import engine_witness
from kvopt.ranges import read_seconds
from kvopt.runs.execute import execute
from kvopt.runs.task import Task
from support.checkout import require_checkout
from support.command import Command, Options, argument, option
from support.jsonfile import FileError, write_text
from support.usage import UsageError

EXIT_OK = 0
EXIT_OPEN = 1
EXIT_BAD_USAGE = 2


@click.command(
    "python -m kvopt.best_known.prove",
    cls=Command,
    fails={EXIT_BAD_USAGE: (RegistryError, FileError, MethodError, OSError)},
    interrupted="interrupted; the same command goes on",
    examples=("--stale --each 60", "am1_00 --by cpsat:cpsat-strong"),
    codes="0 all were proved; 1 the time was up before, or a proof did not hold; 2 bad usage, or a "
    "registry or file that cannot be read or written",
)
@argument("names", nargs=-1, metavar="[INSTANCE]...")
@option("--stale", is_flag=True, help="run the proofs again that other sources or solvers made")
@option("--drop", is_flag=True, help="with --stale: what does not hold leaves the registry")
@option("--by", "METHOD", "enter a proof of INSTANCE by this method", default="")
@option("--each", "S", "seconds of each run (default: 600)", read_seconds, 600.0)
@option("--folder", "DIR", "(default: instances/)", Path, FOLDER)
@option("--time-limit", "S", "seconds of all together (default: none)", read_seconds, float("inf"))
def main(options: Options) -> int:
    """Run stale proofs again, or a method as one more proof of INSTANCE.

    A proof is written as it ends: the same command goes on where it was stopped.
    """
    if options.folder == FOLDER:
        require_checkout("--folder names another folder")
    if options.by and not options.names:
        raise UsageError("--by: expected the instances that are to be proved")
    if not options.by and not options.stale:
        raise UsageError("expected --stale or --by METHOD")
    code = EXIT_OK
    for line, held in _prove(options, time.monotonic() + options.time_limit):
        print(line, flush=True)
        code = code if held else EXIT_OPEN
    return code


def _prove(options: Options, deadline: float) -> Iterator[tuple[str, bool]]:
    """Run what is wanted, what took least first; yield a line on each, and if it held.

    A proof that does not hold any more stays in the registry unless it is to be dropped.
    """
    library, file = WithLadder(library_by_hash()), options.folder / REGISTRY_FILE
    registry = read_registry(options.folder)
    if registry is None:
        raise RegistryError(f"{file}: there is none")
    entries = {entry.sha256: entry for entry in registry.instances}
    if unknown := sorted(set(options.names) - {each.instance for each in entries.values()}):
        raise RegistryError(f"{unknown[0]}: the registry has no such instance")
    asked = [
        each
        for each in entries.values()
        if each.sha256 in library and (not options.names or each.instance in options.names)
    ]
    if options.by:
        method = read_method(options.by).text
        wanted = [(each.sha256, method) for each in asked]
    else:
        stale = [(each, proof) for each in asked for proof in each.proofs if is_stale(proof)]
        stale.sort(key=lambda each: each[1].seconds)
        wanted = [(each.sha256, proof.method) for each, proof in stale]
    for number, (sha, method) in enumerate(wanted, 1):
        entry, instance = entries[sha], library[sha].instance
        told = f"[{number}/{len(wanted)}] {entry.instance}: {method}"
        if time.monotonic() > deadline:
            yield f"{told}: the time is up; the same command goes on", False
            return
        again, reason = _run(instance, entry, method, options.each)
        if again is not None or options.drop:
            entries[sha] = _with(instance, entry, method, again)
            write_text(file, format_registry(entries.values()))
        how = f"proved in {again.seconds:.1f} s" if again else f"NOT PROVED: {reason}"
        yield f"{told}: {how}; {entries[sha].reason}", again is not None


def _run(instance: Instance, entry: Entry, method: str, limit: float) -> tuple[Proof | None, str]:
    """Return a proof by a method, or None and why there is none."""
    value = entry.upper.value
    alone = read_method(engine_witness(method, value).name, planned=True)
    finished = execute(Task(instance, instance.name, alone, time_limit=limit, threads=1))
    record, again = finished.record, proof_of(finished)
    if record.tel is not None and record.tel < value:
        return None, f"a schedule of TEL {record.tel}, the registry has {value}"
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


if __name__ == "__main__":
    sys.exit(main())
