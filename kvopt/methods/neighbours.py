"""The files that can decide what a file of the user's does: all of its folder.

That is the folder of the file, or of the outermost package that it is in, with all below; and so
is the home of every module that its Python files import by name and that is neither the suite's nor
below ``site-packages``, as with ``PYTHONPATH`` or an editable install.  A file below
``site-packages`` has the top folder there.

Not counted are hidden files, ``__pycache__``, virtual environments, reports, stores
(``*.sqlite``), exported rows (CSV), instance files, logs (``*.log``, ``*.out``, ``*.err`` that
cannot be executed), what the command itself writes, and the suite's own packages, which count by
themselves.
"""

from __future__ import annotations

import hashlib
import os
import re
import stat
import sys
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path

from kvopt.methods.sources import is_python
from kvopt.places import PACKAGES, REPORT_MARKER
from support.checkout import ROOT

#: More is not read.
MOST_FILES, MOST_BYTES = 10_000, 10**9
#: Hidden files, caches and stores.
_HIDDEN = re.compile(r"\.|__pycache__$|.*\.sqlite(-wal|-shm|-journal)?$")
_INSTALLED = ("site-packages", "dist-packages")
_LOGS = (".log", ".out", ".err")
#: How instance files and exported rows begin.
_KVOPT = re.compile(rb'\s*\{\s*"schema":\s*"kvopt\.instance/|key,instance,instance_sha256,')
#: A line that may import something, and the names on it.
_IMPORT, _WORD = re.compile(rb"^.*import.*$", re.MULTILINE), re.compile(r"[^\W\d]\w*")


class TooMuchError(Exception):
    """There are more files, or more bytes, than are read."""


@dataclass(frozen=True)
class Neighbours:
    """A digest of the files, and the installed modules that they import by name."""

    digest: str
    modules: frozenset[str]


def neighbours(path: Path, outputs: Collection[str] = ()) -> Neighbours:
    """Return what can decide what a file does; what has not changed is not read again.

    ``outputs`` are absolute paths of files and folders that the command writes.  A TooMuchError is
    raised if there are more than ``MOST_FILES`` files and folders, or ``MOST_BYTES`` bytes.
    """
    own = _read(path, *_state(path.stat()))
    assert own is not None
    lines, names, modules = [own[0]], set(own[1]), set[str]()
    walk, waiting, seen = _Walk(frozenset(outputs)), [_home(path)], list[Path]()
    while waiting:
        home = waiting.pop()
        if any(home.is_relative_to(each) for each in seen):
            continue
        seen.append(home)
        for file, state in list(walk.files(home)):
            try:
                found = _read(file, *_state(state))
            except OSError as error:  # as for the method
                found = str(error.errno), frozenset()
            if found is not None:
                may_run = bool(state.st_mode & stat.S_IXUSR)
                lines.append(f"{os.path.relpath(file, home)} {may_run} {found[0]}")
                names |= found[1]
        lines += [f"{os.path.relpath(link, home)} -> {to}" for link, to in walk.links]
        for name in names - modules:
            homes = _homes(name)
            waiting += [each for each in homes if _installed(each) is None]
            modules |= {name} if any(map(_installed, homes)) else set()
        names.clear()
    text = "\n".join(sorted(lines)).encode("utf-8", "surrogateescape")
    return Neighbours(hashlib.sha256(text).hexdigest(), frozenset(modules))


@dataclass
class _Walk:
    """Finds files, and counts them over all folders."""

    outputs: frozenset[str]
    count: int = 0
    bytes: int = 0
    seen: set[tuple[int, int]] = field(default_factory=set)
    #: Links to folders, whose files may have been counted where they lie.
    links: list[tuple[str, str]] = field(default_factory=list)

    def files(self, home: Path) -> Iterator[tuple[Path, os.stat_result]]:
        """Yield the files below a folder, each with its state; links are followed."""
        if home.is_file():
            yield home, home.stat()
        self.seen.add(_identity(home.stat()))
        for folder, folders, names in os.walk(home, followlinks=True):
            self.count += len(folders) + len(names)
            folders[:] = [name for name in folders if self._enters(Path(folder, name))]
            for path in (Path(folder, name) for name in names if not _HIDDEN.match(name)):
                try:
                    state = path.stat()
                except OSError:  # a link to nothing
                    continue
                is_log = path.name.endswith(_LOGS) and not state.st_mode & stat.S_IXUSR
                if stat.S_ISREG(state.st_mode) and not is_log and str(path) not in self.outputs:
                    self.bytes += state.st_size
                    yield path, state
            if self.count > MOST_FILES or self.bytes > MOST_BYTES:
                raise TooMuchError

    def _enters(self, folder: Path) -> bool:
        if _HIDDEN.match(folder.name) or str(folder) in self.outputs:
            return False
        identity = _identity(folder.stat())
        known = identity in self.seen
        self.seen.add(identity)
        if folder.is_symlink():
            self.links.append((str(folder), os.path.realpath(folder)))
        of_suite = folder.name in PACKAGES and folder.parent == ROOT
        marked = any((folder / each).exists() for each in ("pyvenv.cfg", REPORT_MARKER))
        return not (known or of_suite or marked)


def _identity(found: os.stat_result) -> tuple[int, int]:
    return found.st_dev, found.st_ino


def _state(found: os.stat_result) -> tuple[int, ...]:
    return found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns


@lru_cache(maxsize=4 * MOST_FILES)
def _read(path: Path, *state: int) -> tuple[str, frozenset[str]] | None:
    """Return the digest of a file and the names that it may import; None where it is kvopt's."""
    del state
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
        file.seek(0)
        if _KVOPT.match(file.read(100)):
            return None
        file.seek(0)
        lines = _IMPORT.findall(file.read()) if is_python(path) else []
    return digest, frozenset(_WORD.findall(b"\n".join(lines).decode("utf-8", "replace")))


def _home(path: Path) -> Path:
    """Return the folder that counts for a file, or the file itself where that is all."""
    installed = _installed(path)
    if installed is not None:
        return installed
    home = path.parent
    while (home / "__init__.py").is_file() and (home.parent / "__init__.py").is_file():
        home = home.parent
    return home


def _homes(name: str) -> list[Path]:
    """Return where a module lies that is neither the suite's nor Python's; nothing is imported."""
    if name in PACKAGES or name in sys.stdlib_module_names:
        return []
    specs = (finder.find_spec(name, None) for finder in sys.meta_path)
    spec = next((each for each in specs if each is not None), None)
    if spec is None:
        return []
    files = spec.submodule_search_locations or [spec.origin or ""]
    found = [Path(os.path.realpath(each)) for each in files if os.path.exists(each)]
    # Any folder is a package without an origin.
    return found if spec.origin else [each for each in found if _installed(each)]


def _installed(path: Path) -> Path | None:
    """Return what is directly in ``site-packages`` and holds a path, None of one elsewhere."""
    parents = [path, *path.parents]
    return next((each for each in parents if each.parent.name in _INSTALLED), None)
