"""Command: run stale proofs of optima again, or a method as one more proof."""

import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import click

from instances import Instance
from instances.instance_names import FOLDER
from kvopt.best_known.claims import proof_of
from kvopt.best_known.library_and_ladder import LibraryWithLadder, library_by_hash
from kvopt.best_known.proved_entry import decide, is_stale
from kvopt.best_known.registry_entry import OptimumProof, RegistryEntry
from kvopt.best_known.registry_files import (
    REGISTRY_FILE,
    RegistryError,
    format_registry,
    read_entries,
)
from kvopt.best_known.registry_verification import named_entries
from kvopt.checked_numbers import read_seconds
from kvopt.methods.grammar import MethodError, read_method
from kvopt.methods.witness import engine_witness
from kvopt.runs.execute import execute
from kvopt.runs.task import Task
from support.click_command import Command, CommandOptions, argument, option
from support.json_files import FileError, write_text
from support.project_root import require_checkout
from support.usage_errors import UsageError

EXIT_OPEN, EXIT_BAD_USAGE = 1, 2


@click.command(
    "python -m kvopt.best_known.rerun_proofs",
    cls=Command,
    fails={EXIT_BAD_USAGE: (RegistryError, FileError, MethodError, OSError)},
    interrupted="interrupted; the same command goes on",
    examples=("--stale --each 60", "am1_00 --by cpsat:cpsat-strong"),
    codes="0 all were proved; 1 a proof did not hold; 2 bad usage, or a damaged registry or file",
)
@argument("names", nargs=-1, metavar="[INSTANCE]...")
@option("--stale", is_flag=True, help="run the proofs again that other sources or solvers made")
@option("--by", "METHOD", "enter a proof of INSTANCE by this method", default="")
@option("--each", "S", "seconds of each run (default: 600)", read_seconds, 600.0)
@option("--folder", "DIR", "(default: instances/)", Path, FOLDER)
def main(options: CommandOptions) -> int:
    """Run stale proofs again, or a method as one more proof of INSTANCE.

    A proof is written as it ends: the same command goes on where it was stopped.  A stale proof
    that fails is dropped where others of today suffice.
    """
    if options.folder == FOLDER:
        require_checkout("--folder names another folder")
    if not (options.names if options.by else options.stale):
        raise UsageError("expected --stale, or --by METHOD and the instances that are to be proved")
    code = 0
    for line, held in _prove(options):
        print(line, flush=True)
        code = code if held else EXIT_OPEN
    return code


def _prove(options: CommandOptions) -> Iterator[tuple[str, bool]]:
    """Run the wanted proofs, the quickest first; yield a line on each, and if it held."""
    library, file = LibraryWithLadder(library_by_hash()), options.folder / REGISTRY_FILE
    if not (entries := read_entries(options.folder)):
        raise RegistryError(f"{file}: there is none")
    chosen = named_entries(entries.values(), options.names)
    asked = [each for each in chosen if each.sha256 in library]
    if options.by:
        wanted = [(each.sha256, read_method(options.by).text) for each in asked]
    else:
        stale = [(each, proof) for each in asked for proof in each.proofs if is_stale(proof)]
        stale.sort(key=lambda each: each[1].seconds)
        wanted = [(each.sha256, proof.method) for each, proof in stale]
    for number, (sha, method) in enumerate(wanted, 1):
        entry, instance = entries[sha], library[sha].instance
        again = _run_proof(instance, entry, method, options.each)
        how = f"NOT PROVED: {again}"
        proofs = {proof.method: proof for proof in entry.proofs}
        if isinstance(again, OptimumProof):
            how = f"proved in {again.seconds:.1f} s"
            entries[sha] = _entry_with(instance, entry, proofs | {method: again})
        elif not options.by:
            fresh = {name: proof for name, proof in proofs.items() if not is_stale(proof)}
            if _entry_with(instance, entry, fresh).standing == entry.standing:
                del proofs[method]
                entries[sha] = _entry_with(instance, entry, proofs)
                how += "; dropped, since proofs of today suffice"
        if entries[sha] != entry:
            write_text(file, format_registry(entries.values()))
        line = f"[{number}/{len(wanted)}] {entry.instance}: {method}: {how}; {entries[sha].reason}"
        yield line, isinstance(again, OptimumProof)


def _run_proof(
    instance: Instance, entry: RegistryEntry, method: str, limit: float
) -> OptimumProof | str:
    """Return a proof by a method, or the reason why there is none."""
    value = entry.upper.value
    alone = read_method(engine_witness(method, value).name, planned=True)
    finished = execute(Task(instance, instance.name, alone, time_limit=limit, threads=1))
    record, again = finished.record, proof_of(finished)
    if record.ending == "interrupted":
        raise KeyboardInterrupt
    if record.tel is not None and record.tel < value:
        return f"a schedule of TEL {record.tel}, the registry has {value}"
    if again is None or again.value != value:
        bound = f"bound {record.lower_bound} ({record.bound_source}) after {record.seconds:.1f} s"
        return f"{record.status}, TEL {record.tel}, {bound}; {record.detail}".removesuffix("; ")
    return again


def _entry_with(
    instance: Instance, entry: RegistryEntry, proofs: dict[str, OptimumProof]
) -> RegistryEntry:
    """Return an entry with these proofs, by their methods."""
    upper, proved = entry.upper.value, (entry.certified.certificate, entry.certified.value)
    kept = tuple(proofs.values())
    verdict = decide(instance, upper, entry.lower.value, kept, proved)
    return replace(entry, proofs=kept, standing=verdict.standing, reason=verdict.reason)


if __name__ == "__main__":
    sys.exit(main())
