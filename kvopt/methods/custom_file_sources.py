"""Files that can decide what a custom file does, as one digest.

These are all files of its folder, or of the outermost package that holds it, and all files of the
modules that they import by name.  Modules of the suite, of Python and of ``site-packages`` do not
count.  A file below ``site-packages`` has the top folder there.

Not counted are hidden files, ``__pycache__``, virtual environments, reports, stores
(``*.sqlite``), exported rows (CSV), instance files, logs (``*.log``, ``*.out``, ``*.err`` that
cannot be executed), outputs of the command, and the suite's packages.
"""

import hashlib
import os
import re
import stat
import sys
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from kvopt.methods.python_files import is_python
from kvopt.project_paths import PACKAGES, REPORT_MARKER
from support.project_root import ROOT

#: Limits of what is read.
MOST_FILES, MOST_BYTES = 10_000, 10**9
_HIDDEN = re.compile(r"\.|__pycache__$|.*\.sqlite(-wal|-shm|-journal)?$")
_INSTALLED = ("site-packages", "dist-packages")
_LOGS = (".log", ".out", ".err")
#: The first bytes of instance files and exported rows.
_KVOPT = re.compile(rb'\s*\{\s*"schema":\s*"kvopt\.instance/|key,instance,instance_sha256,')
#: A line that may import something, and the names on it.
_IMPORT, _WORD = re.compile(rb"^.*import.*$", re.MULTILINE), re.compile(r"[^\W\d]\w*")


class TooMuchError(Exception):
    """There are more files, or more bytes, than are read."""


@dataclass(frozen=True)
class ImportedFiles:
    """A digest of the files, and the installed modules that they import by name."""

    digest: str
    modules: frozenset[str]


def neighbours(path: Path, outputs: Collection[str] = ()) -> ImportedFiles:
    """Return the files that can decide what a file does; unchanged files are not read again.

    ``outputs`` are absolute paths of files and folders that the command writes.  Raises
    TooMuchError for more than ``MOST_FILES`` files and folders, or ``MOST_BYTES`` bytes.
    """
    digest, names = _read_file(path, path.stat())
    lines, modules, waiting, seen = [digest], set[str](), [_own_folder(path)], list[Path]()
    walk = _Walk(outputs)
    while waiting:
        home = waiting.pop()
        if any(home.is_relative_to(each) for each in seen):
            continue
        seen.append(home)
        found = set(names)
        # All are counted before one is read.
        for file, state in list(walk.files(home)):
            digest, names = _read_file(file, state)
            if digest:
                may_run = bool(state.st_mode & stat.S_IXUSR)
                lines.append(f"{os.path.relpath(file, home)} {may_run} {digest}")
            found |= names
        lines += [f"{os.path.relpath(link, home)} -> {target}" for link, target in walk.links]
        for name in found - modules:
            homes = _module_places(name)
            waiting += [each for each in homes if _installed(each) is None]
            modules |= {name} if any(map(_installed, homes)) else set()
        names = frozenset()
    text = "\n".join(sorted(lines)).encode("utf-8", "surrogateescape")
    return ImportedFiles(hashlib.sha256(text).hexdigest(), frozenset(modules))


class _Walk:
    """Finds files, and counts them over all folders."""

    def __init__(self, outputs: Collection[str]) -> None:
        self._outputs = outputs
        self._count = self._bytes = 0
        self._seen: set[tuple[int, int]] = set()
        #: Links to folders, whose files may have been counted already.
        self.links: list[tuple[str, str]] = []

    def files(self, home: Path) -> Iterator[tuple[Path, os.stat_result]]:
        """Yield the files below a folder, each with its state; links are followed."""
        if home.is_file():
            yield home, home.stat()
        self._enters(home)
        for folder, folders, names in os.walk(home, followlinks=True):
            self._count += len(folders) + len(names)
            folders[:] = [name for name in folders if self._enters(Path(folder, name))]
            for path in (Path(folder, name) for name in names if not _HIDDEN.match(name)):
                try:
                    state = path.stat()
                except OSError:  # a link to nothing
                    continue
                is_log = path.name.endswith(_LOGS) and not state.st_mode & stat.S_IXUSR
                if stat.S_ISREG(state.st_mode) and not is_log and str(path) not in self._outputs:
                    self._bytes += state.st_size
                    yield path, state
            if self._count > MOST_FILES or self._bytes > MOST_BYTES:
                raise TooMuchError

    def _enters(self, folder: Path) -> bool:
        if _HIDDEN.match(folder.name) or str(folder) in self._outputs:
            return False
        state = folder.stat()
        identity = state.st_dev, state.st_ino
        known = identity in self._seen
        self._seen.add(identity)
        if folder.is_symlink():
            self.links.append((str(folder), os.path.realpath(folder)))
        of_suite = folder.name in PACKAGES and folder.parent == ROOT
        marked = any((folder / each).exists() for each in ("pyvenv.cfg", REPORT_MARKER))
        return not (known or of_suite or marked)


def _read_file(path: Path, state: os.stat_result) -> tuple[str, frozenset[str]]:
    """Return the digest of a file, empty for kvopt's, and the names that it may import."""
    try:
        return _read_changed(
            path, state.st_ino, state.st_size, state.st_mtime_ns, state.st_ctime_ns
        )
    except OSError as error:  # the method cannot read it either
        return str(error.errno), frozenset()


@lru_cache(maxsize=4 * MOST_FILES)
def _read_changed(path: Path, *_: int) -> tuple[str, frozenset[str]]:
    with path.open("rb") as file:
        if _KVOPT.match(file.read(100)):
            return "", frozenset()
        file.seek(0)
        digest = hashlib.file_digest(file, "sha256").hexdigest()
        file.seek(0)
        lines = _IMPORT.findall(file.read()) if is_python(path) else []
    return digest, frozenset(_WORD.findall(b"\n".join(lines).decode("utf-8", "replace")))


def _own_folder(path: Path) -> Path:
    installed = _installed(path)
    if installed is not None:
        return installed
    home = path.parent
    while (home / "__init__.py").is_file() and (home.parent / "__init__.py").is_file():
        home = home.parent
    return home


def _module_places(name: str) -> list[Path]:
    """Return the places of a module that is neither the suite's nor Python's."""
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
    """Return the top folder or file in ``site-packages`` that holds a path, or None."""
    places = (path, *path.parents)
    return next((each for each in places if each.parent.name in _INSTALLED), None)
