"""Command: merge stored runs into the best-known values, or verify them."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from instances.checkout import require_checkout
from instances.jsonfile import FileError
from instances.named import FOLDER
from instances.outputs import OutputError, check_folder
from instances.usage import Parser, UsageError, complain
from kvopt.best_known.claims import Claims, collect, runs_by_instance
from kvopt.best_known.entry import Entry, Registry
from kvopt.best_known.files import (
    PROOFS,
    REGISTRY_FILE,
    SCHEMA_FILE,
    RegistryError,
    format_registry,
    read_registry,
)
from kvopt.best_known.merge import ContradictionError, Known, merge
from kvopt.best_known.rebuild import read_all, write_all
from kvopt.best_known.verify import DamagedError, LibraryInstance, faults, library_by_hash
from kvopt.masking import mask_text
from kvopt.store import Store, StoreError
from kvopt.store.files import store_files
from schedules.evidence import CONSTRUCTION

EXIT_OK = 0
EXIT_FAULTS = 1
EXIT_BAD_USAGE = 2
EXIT_WORDS = 3
EXIT_CONTRADICTION = 5

#: What there is to complain of, line by line, and the exit code.
_Verdict = tuple[Sequence[str], int]

_EPILOG = """\
exit codes: 0 fine; 1 a value is not proved by its files, --check found the registry stale, or
Ctrl-C came first: what was merged until then is written, and the same command goes on;
2 bad usage or a store that cannot be read; 3 --check found no fault, but an optimum that no file
proves, only the words of engines (python -m kvopt.best_known.prove makes a certificate); 5 a bound
exceeds a checked schedule: nothing is written
"""


def main(
    arguments: Sequence[str] | None = None, program: str = "python -m kvopt.best_known"
) -> int:
    """Run the command, by the name it was called, and return its exit code."""
    lines, code = _run(arguments, program)
    for line in lines:
        complain(program, mask_text(line))
    return code


def _run(arguments: Sequence[str] | None, program: str) -> _Verdict:
    try:
        return _merge_and_verify(_parse(arguments, program))
    except (UsageError, OutputError, StoreError) as error:
        return [str(error)], EXIT_BAD_USAGE
    except (RegistryError, DamagedError) as error:
        return [str(error)], EXIT_FAULTS
    except KeyboardInterrupt:
        return ["interrupted"], EXIT_FAULTS
    except ContradictionError as error:
        return str(error).splitlines(), EXIT_CONTRADICTION
    except (FileError, OSError) as error:
        return [" ".join(str(error).split())], EXIT_BAD_USAGE


def _parse(arguments: Sequence[str] | None, program: str) -> argparse.Namespace:
    parser = Parser(
        prog=program,
        description="Merge stored runs into instances/best_known.json, or verify it.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--store", metavar="FILE | URL", help="runs to be merged")
    parser.add_argument(
        "--check",
        action="store_true",
        help="write nothing; verify every value from its files, and with --store tell whether the "
        "store has anything better",
    )
    parser.add_argument("--folder", type=Path, default=FOLDER, help="default: instances/")
    options = parser.parse_args(arguments)
    if options.store is None and not options.check:
        raise UsageError("expected --store STORE, --check, or both")
    return options


def _merge_and_verify(options: argparse.Namespace) -> _Verdict:
    if options.store is not None and not options.check:
        if options.folder == FOLDER:
            require_checkout("--check writes nothing, --folder names another folder")
        owned = (REGISTRY_FILE, SCHEMA_FILE, f"{PROOFS}/")
        check_folder("--folder", options.folder, owned, store_files(options.store))
    known = library_by_hash()
    if options.store is not None:
        lines, code = _merge(options.store, known, options.folder, write=not options.check)
        if code:
            return lines, code
    return _verify(known, options.folder, strict=options.check)


def _merge(
    location: str, known: dict[str, LibraryInstance], folder: Path, *, write: bool
) -> _Verdict:
    store = Store(location, readonly=True)
    try:
        # A store that cannot be read is told of before all certificates are evaluated.
        old = read_all(known, folder)
        merged, done = _merged(old, known, store)
    finally:
        store.close()
    entries = [each.entry for each in merged]
    for line in _changes(old, entries):
        print(line)
    stale = format_registry(entries) != _present_text(folder)
    if not write:
        told = [f"{REGISTRY_FILE}: the store has something better"] if stale else []
        return told, EXIT_FAULTS if stale else EXIT_OK
    write_all(merged, known, folder)
    if not done:
        return ["interrupted: what was merged is written, the same command goes on"], EXIT_FAULTS
    return [], EXIT_OK


def _merged(
    old: dict[str, Known], known: dict[str, LibraryInstance], store: Store
) -> tuple[list[Known], bool]:
    """Return what is known of every instance, in the library's order, and whether that is all.

    After Ctrl-C the instances that are left stay as they were.

    Raises
    ------
    ContradictionError
        If any two statements exclude each other; all instances are named.
    """
    runs = runs_by_instance(store)
    merged, contradictions = [], []
    done = True
    for sha, found in known.items():
        before = old.get(sha)
        try:
            claims = collect(
                found.instance,
                runs.get(sha, []) if done else [],
                store,
                -1 if before is None else before.kept_up_to,
            )
            now = merge(found.instance, found.file, before, claims, found.planted)
        except KeyboardInterrupt:
            done, now, claims = False, before, Claims(None, (), (), ())
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


def _present_text(folder: Path) -> str:
    path = folder / REGISTRY_FILE
    return path.read_text(encoding="utf-8") if path.exists() else ""


def _changes(old: dict[str, Known], entries: Sequence[Entry]) -> list[str]:
    lines = []
    for entry in entries:
        before = old[entry.sha256].entry if entry.sha256 in old else None
        for side in ("upper", "lower"):
            now, was = getattr(entry, side), getattr(before, side, None)
            if was is None or now.value != was.value:
                shown = "new" if was is None else str(was.value)
                lines.append(f"{entry.instance}: {side} {shown} -> {now.value} ({now.method})")
        if before is not None and before.opt != entry.opt:
            lines.append(f"{entry.instance}: opt {before.opt} -> {entry.opt} ({entry.reason})")
    return lines


def _verify(known: dict[str, LibraryInstance], folder: Path, *, strict: bool) -> _Verdict:
    registry = read_registry(folder)
    if registry is None:
        return [f"{folder / REGISTRY_FILE}: there is none"], EXIT_FAULTS
    found = list(faults(registry, known, folder))
    if found:
        return found, EXIT_FAULTS
    print(_summary(registry, len(known)))
    words = [each for each in registry.instances if each.on_words]
    told = [f"{each.instance}: NOT PROVED: {each.reason}" for each in words]
    return told, EXIT_WORDS if words and strict else EXIT_OK


def _summary(registry: Registry, library: int) -> str:
    entries = registry.instances
    optimal = [entry for entry in entries if entry.opt]
    words = sum(entry.on_words for entry in optimal)
    certified = sum(entry.lower.certificate is not None for entry in entries)
    built = sum(entry.lower.method == CONSTRUCTION for entry in entries)
    return (
        f"{len(entries)} of {library} instances: {len(optimal)} optimal "
        f"({len(optimal) - words} proved by their files, {words} by words only), "
        f"{len(entries) - len(optimal)} intervals; {len(entries)} schedules checked, "
        f"{len(entries)} certificates evaluated; best bounds: {certified} certified, {built} by "
        f"construction, {len(entries) - certified - built} by words only"
    )


if __name__ == "__main__":
    sys.exit(main())
