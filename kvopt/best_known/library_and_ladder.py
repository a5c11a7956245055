"""Instances of the registry: the committed library, and the ladder."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache

from instances import Instance
from instances.ladder import draw_rung, read_ladder
from instances.library import library, planted_schedules
from kvopt.best_known.registry_entry import LADDER_FILE


@dataclass(frozen=True)
class LibraryInstance:
    """An instance, its file below ``instances/``, and the starts (rounds) of its construction."""

    file: str
    instance: Instance
    planted: tuple[int, ...] | None = None


@cache
def library_by_hash() -> dict[str, LibraryInstance]:
    """Return the library's instances by hash, in its order; of equal ones the first."""
    found: dict[str, LibraryInstance] = {}
    planted = planted_schedules()
    for file, instance in library():
        starts = planted.get(instance.name)
        found.setdefault(instance.sha256, LibraryInstance(file, instance, starts))
    return found


class LibraryWithLadder(Mapping[str, LibraryInstance]):
    """A library by hash, and after it the ladder's instances in rounds, each drawn on demand."""

    def __init__(self, library: Mapping[str, LibraryInstance]) -> None:
        self._found = dict(library)
        #: Hashes in order, with the names of drawn instances.
        self._names: dict[str, str] = dict.fromkeys(library, "")
        for name, rung in read_ladder().items():
            if not rung.in_seconds:
                self._names.setdefault(rung.sha256, name)

    def __getitem__(self, sha256: str) -> LibraryInstance:
        name = self._names[sha256]
        if sha256 not in self._found:
            self._found[sha256] = LibraryInstance(LADDER_FILE, draw_rung(name))
        return self._found[sha256]

    def __contains__(self, sha256: object) -> bool:
        return sha256 in self._names

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)
