"""The registry as a whole: read, verified from its files alone, and written anew."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType

from instances import InstanceFileError
from instances.instance_names import FOLDER
from instances.ladder import read_ladder
from kvopt.best_known.library_and_ladder import LibraryInstance
from kvopt.best_known.parallel_map import side_by_side
from kvopt.best_known.proved_entry import DamagedError, ProvedEntry, is_stale, read_known
from kvopt.best_known.registry_entry import OptimumProof, Registry, RegistryEntry
from kvopt.best_known.registry_files import (
    PROOFS,
    REGISTRY_FILE,
    RegistryError,
    format_registry,
    format_schemas,
    left_over,
    read_entries,
    write_files,
)
from support.json_files import file_holds
from support.progress import count_progress

_NONE: Mapping[str, ProvedEntry] = MappingProxyType({})


def read_all(known: Mapping[str, LibraryInstance], folder: Path) -> dict[str, ProvedEntry]:
    """Return the present records by hash, each proved anew."""
    entries = read_entries(folder)
    for sha, entry in entries.items():
        if sha not in known:
            print(f"dropped: {entry.instance}: no instance of its hash in the library")
    kept = [entry for sha, entry in entries.items() if sha in known]
    found = {}
    for entry, read in _read_each(kept, known, folder, "entries proved again", _NONE):
        if isinstance(read, str):
            raise DamagedError(read)
        found[entry.sha256] = read
    return found


def write_all(
    merged: Sequence[ProvedEntry],
    known: Mapping[str, LibraryInstance],
    folder: Path,
    beside: Iterable[RegistryEntry] = (),
) -> None:
    """Write registry, schemas and proofs in the library's order; entries ``beside`` stay."""
    by_hash = {entry.sha256: entry for entry in (*beside, *(each.entry for each in merged))}
    entries = [by_hash[sha] for sha in known if sha in by_hash]
    texts = {REGISTRY_FILE: format_registry(entries)} | format_schemas()
    for each in merged:
        proofs = each.texts(known[each.entry.sha256].instance)
        texts |= {f"{PROOFS}/{path}": text for path, text in proofs.items()}
    write_files(folder, texts)


def faults(
    registry: Registry,
    known: Mapping[str, LibraryInstance],
    folder: Path = FOLDER,
    proved: Mapping[str, ProvedEntry] = _NONE,
    names: Sequence[str] = (),
) -> Iterator[str]:
    """Yield one line for each fault; with ``names`` only these records are evaluated."""
    texts = format_schemas() | {REGISTRY_FILE: format_registry(registry.instances)}
    for file, text in texts.items():
        if not file_holds(folder / file, text):
            yield f"{file}: stale or missing"
    asked = named_entries(registry.instances, names)
    for entry, read in _read_each(asked, known, folder, "entries verified", proved):
        if isinstance(read, str):
            yield read
        else:
            yield from read.faults(known[entry.sha256], folder)
    listed = [entry.sha256 for entry in registry.instances if entry.sha256 in known]
    if listed != [sha for sha in known if sha in listed]:
        yield "expected each instance once, in the library's order"
    for file in left_over(folder, (entry.instance for entry in registry.instances)):
        yield f"{file}: no entry refers to it"


def named_entries(
    entries: Collection[RegistryEntry], names: Sequence[str]
) -> tuple[RegistryEntry, ...]:
    """Return the entries of instances, all without ``names``; RegistryError for an unknown one."""
    if unknown := sorted(set(names) - {each.instance for each in entries}):
        rung = read_ladder().get(unknown[0])
        why = "not run yet" if rung and not rung.in_seconds else "the registry has no such instance"
        raise RegistryError(f"{unknown[0]}: {why}")
    return tuple(each for each in entries if not names or each.instance in names)


def missing(registry: Registry, known: Mapping[str, LibraryInstance]) -> list[str]:
    """Return one line for each instance of the library that the registry lacks."""
    there = {entry.sha256 for entry in registry.instances}
    names = [found.instance.name for sha, found in known.items() if sha not in there]
    return [f"{name}: the registry lacks this instance of the library" for name in names]


def stale_proofs(registry: Registry) -> list[tuple[RegistryEntry, OptimumProof]]:
    """Return the proofs by other sources or solvers than today's."""
    entries = registry.instances
    return [(each, proof) for each in entries for proof in each.proofs if is_stale(proof)]


def _read_each(
    entries: Sequence[RegistryEntry],
    known: Mapping[str, LibraryInstance],
    folder: Path,
    words: str,
    proved: Mapping[str, ProvedEntry],
) -> Iterator[tuple[RegistryEntry, ProvedEntry | str]]:
    """Yield each entry with its record or its fault; progress shows the ``words``."""
    tasks = [(entry, _found(entry, known), folder, proved.get(entry.sha256)) for entry in entries]
    anew = side_by_side(_read, [task for task in tasks if task[-1] is None])
    for task in count_progress(tasks, words):
        yield task[0], next(anew) if task[-1] is None else _read(task)


def _found(entry: RegistryEntry, known: Mapping[str, LibraryInstance]) -> LibraryInstance | str:
    try:
        return known[entry.sha256]
    except KeyError:
        return f"{entry.instance}: the library has no instance of this hash"
    except InstanceFileError as error:
        return str(error)


def _read(
    task: tuple[RegistryEntry, LibraryInstance | str, Path, ProvedEntry | None],
) -> ProvedEntry | str:
    entry, found, folder, before = task
    try:
        return found if isinstance(found, str) else read_known(entry, found, folder, before)
    except DamagedError as error:
        return str(error)
