"""Command: print best-known values, verify them, or merge stored runs into them."""

import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import click

from instances import InfeasibleInstanceError, read_instance
from instances.instance_names import FOLDER
from instances.time_unit import ROUNDS
from kvopt.best_known.claims import Claims, collect, runs_by_instance
from kvopt.best_known.entry_text import entry_text
from kvopt.best_known.library_and_ladder import LibraryInstance, LibraryWithLadder, library_by_hash
from kvopt.best_known.parallel_map import KilledError
from kvopt.best_known.proved_entry import ContradictionError, DamagedError, ProvedEntry, merge
from kvopt.best_known.registry_entry import Registry, RegistryEntry, SolverReportedBound
from kvopt.best_known.registry_files import (
    OWNED,
    REGISTRY_FILE,
    RegistryError,
    format_registry,
    read_entries,
    read_registry,
)
from kvopt.best_known.registry_verification import (
    faults,
    missing,
    named_entries,
    read_all,
    stale_proofs,
    write_all,
)
from kvopt.methods.grammar import MethodError
from kvopt.store import Store, StoreError
from kvopt.store.location import store_files
from schedules.evidence import STANDINGS
from support.click_command import EXIT_INTERRUPTED, Command, CommandOptions, argument, option
from support.json_files import FileError, file_holds
from support.output_checks import OutputError, check_folder
from support.progress import count_progress
from support.project_root import require_checkout
from support.usage_errors import UsageError, complain

EXIT_OK, EXIT_FAULTS, EXIT_BAD_USAGE, EXIT_REPORTED, EXIT_CONTRADICTION = 0, 1, 2, 3, 5

#: Lines of complaint, and the exit code.
_Verdict = tuple[Sequence[str], int]


@click.command(
    "python -m kvopt.best_known",
    cls=Command,
    fails={
        EXIT_FAULTS: (RegistryError, DamagedError, MethodError, KilledError),
        EXIT_BAD_USAGE: (OutputError, StoreError, FileError, OSError, InfeasibleInstanceError),
    },
    examples=("am1_00 uniform_100", "--check", "--check am1_00", "--store results/runs.sqlite"),
    codes="0 fine; 1 a value is not proved, an instance is missing or not run yet, --check found "
    "the registry stale; 2 bad usage or store; 3 --check found only bounds that are "
    "solver-reported or proofs that are stale; 5 a bound exceeds a checked schedule: nothing is "
    "written; 130 interrupted (docs/best_known.md)",
)
@argument("names", nargs=-1, metavar="[INSTANCE]...")
@option("--store", "FILE", "runs to be merged")
@option(
    "--check",
    is_flag=True,
    help="write nothing; verify every value (of INSTANCE), and whether --store has a better one",
)
@option("--folder", "DIR", "(default: instances/)", Path, FOLDER)
def main(options: CommandOptions) -> int:
    """Print the best-known values of INSTANCE, verify them, or merge stored runs into all."""
    options.names = [*map(_named, options.names)]
    if bool(options.names) == bool(options.store) and (options.names or not options.check):
        raise UsageError("expected INSTANCE, --check, --store STORE, or --check with one of them")
    if options.names and not options.check:
        named = named_entries(read_entries(options.folder).values(), options.names)
        print("\n\n".join(entry_text(each, options.folder) for each in named))
        return EXIT_OK
    known, proved = LibraryWithLadder(library_by_hash()), dict[str, ProvedEntry]()
    lines: Sequence[str] = []
    code = EXIT_OK
    try:
        if options.store is not None:
            if not options.check:
                if options.folder == FOLDER:
                    require_checkout("--check writes nothing, --folder names another folder")
                check_folder("--folder", options.folder, OWNED, store_files(options.store))
            lines, code = _merge(options, known, proved)
        if not code:
            lines, code = _verify(known, options, proved)
    except ContradictionError as error:
        lines, code = str(error).splitlines(), EXIT_CONTRADICTION
    for line in lines:
        complain(options.program, line)
    return code


def _named(text: str) -> str:
    """Return the registry's name of a name or an instance file, whatever that is called."""
    if not Path(text).is_file():
        return Path(text).name.removesuffix(".json")
    instance = read_instance(text)
    found = LibraryWithLadder(library_by_hash()).get(instance.sha256)
    if found is None or instance.unit is not ROUNDS:  # its hash has no unit
        raise RegistryError(f"{text}: the registry has no such instance")
    return found.instance.name


def _merge(
    options: CommandOptions, known: Mapping[str, LibraryInstance], proved: dict[str, ProvedEntry]
) -> _Verdict:
    """Merge a store; ``proved`` receives the new records."""
    with closing(Store(options.store, readonly=True)) as store:
        old = read_all(known, options.folder)
        merged, done = _merged(old, known, store)
    proved |= {each.entry.sha256: each for each in merged}
    for each in merged:
        for line in _changes(old.get(each.entry.sha256), each.entry):
            print(line)
    if options.check:
        text = format_registry(each.entry for each in merged)
        if file_holds(options.folder / REGISTRY_FILE, text):
            return [], EXIT_OK
        return [f"{REGISTRY_FILE}: the store has something better"], EXIT_FAULTS
    write_all(merged, known, options.folder)
    if done:
        return [], EXIT_OK
    return ["interrupted: what was merged is written, the same command goes on"], EXIT_INTERRUPTED


def _merged(
    old: dict[str, ProvedEntry], known: Mapping[str, LibraryInstance], store: Store
) -> tuple[list[ProvedEntry], bool]:
    """Return the new records in the library's order, and whether all runs are in them."""
    runs = runs_by_instance(store)
    merged, contradictions = [], []
    done = True
    wanted = [sha for sha in known if sha in old or sha in runs]
    for sha in count_progress(wanted, "instances merged"):
        found, before = known[sha], old.get(sha)
        try:
            kept = before.kept_up_to if before else None
            claims = collect(found.instance, runs.get(sha, []) if done else [], store, kept)
            now = merge(found.instance, found.file, before, claims, found.planted)
        except KeyboardInterrupt:
            done, now, claims = False, before, Claims()
        except ContradictionError as error:
            contradictions.append(str(error))
            continue
        for note in claims.notes:
            print(f"note: {note}", file=sys.stderr)
        if now is not None:
            merged.append(now)
    if contradictions:
        raise ContradictionError("\n".join(contradictions))
    return merged, done


def _changes(known: ProvedEntry | None, entry: RegistryEntry) -> Iterator[str]:
    """Yield a line for each changed value, and for another standing."""
    before, lower = known and known.entry, entry.lower
    by = lower.method
    if isinstance(lower, SolverReportedBound):
        by = f"{by}, solver-reported; certified {lower.certified.value}"
    for side, now, method in (("upper", entry.upper, entry.upper.method), ("lower", lower, by)):
        was = getattr(before, side).value if before else "new"
        if was != now.value:
            yield f"{entry.instance}: {side} {was} -> {now.value} ({method})"
    if before and before.standing != entry.standing:
        changed = f"{STANDINGS[before.standing]} -> {STANDINGS[entry.standing]}"
        yield f"{entry.instance}: {changed} ({entry.reason})"


def _verify(
    known: Mapping[str, LibraryInstance], options: CommandOptions, proved: Mapping[str, ProvedEntry]
) -> _Verdict:
    registry = read_registry(options.folder)
    if registry is None:
        return [f"{options.folder / REGISTRY_FILE}: there is none"], EXIT_FAULTS
    found = list(faults(registry, known, options.folder, proved, options.names))
    if options.check:
        found += missing(registry, library_by_hash())
    if found:
        return found, EXIT_FAULTS
    registry = replace(registry, instances=named_entries(registry.instances, options.names))
    print(_summary(registry))
    lines = [
        f"{each.instance}: NOT CERTIFIED: bound {each.lower.value} is {each.rests_on}; "
        f"{each.certified.value} is certified; {each.reason}"
        for each in registry.instances
        if each.reported_only
    ]
    lines += [
        f"{entry.instance}: STALE: the proof of {proof.method} was made by other sources or "
        "another solver than today's"
        for entry, proof in stale_proofs(registry)
    ]
    return lines, EXIT_REPORTED if lines and options.check else EXIT_OK


def _summary(registry: Registry) -> str:
    entries = registry.instances
    standings = Counter(entry.standing for entry in entries)
    reported = sum(entry.reported_only for entry in entries if entry.opt)
    kinds = Counter(entry.lower.kind for entry in entries)
    return (
        f"{len(entries)} instances: {standings['opt']} optimal by two independent "
        f"proofs ({standings['opt'] - reported} certified, {reported} solver-reported only), "
        f"{standings['one argument']} closed by one argument only, {standings['one witness']} by "
        f"one proof only, {standings['construction']} by construction alone, "
        f"{standings['open']} open; {len(entries)} schedules checked, {len(entries)} certificates "
        f"evaluated; best bounds: {kinds['certified']} certified, {kinds['construction']} by "
        f"construction, {kinds['solver-reported']} solver-reported"
    )


if __name__ == "__main__":
    sys.exit(main())
