"""Kernels that numba compiles: where they are kept, and how long compiling has taken.

They are kept in the user's cache folder, below a name made from their sources and the versions of
what compiles them, so that all environments and checkouts with the same of both share them; numba
tells processors apart within.  ``NUMBA_CACHE_DIR`` names another folder.  That folder alone counts.
Where it takes no files, being read-only or full, its kernels are read all the same, and those that
it lacks are kept in a private temporary folder.  What is damaged is dropped and compiled again; and
where nothing can be kept a kernel is compiled by each process that needs it.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import platform
import stat
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from support.checkout import cache_folder


class _Clock:
    """How long this process has compiled so far, or waited for another that compiles.

    Attributes
    ----------
    total
        Seconds, without what goes on.
    listen
        Told of every beginning (True) and end (False).
    """

    def __init__(self) -> None:
        self.total = 0.0
        self.listen: Callable[[bool], object] = lambda _: None
        self._depth = 0
        self._stopped = False

    def stop(self) -> None:
        """Count no more."""
        self._stopped = True

    def go_on(self) -> None:
        """Count again."""
        self._stopped = False

    @contextmanager
    def running(self) -> Iterator[None]:
        """Count what is done within, once where one kernel has another compiled."""
        if self._stopped:
            yield
            return
        self._depth += 1
        began = time.monotonic()
        if self._depth == 1:
            self.listen(True)
        try:
            yield
        finally:
            self._depth -= 1
            if not self._depth:
                self.total += time.monotonic() - began
                self.listen(False)


CLOCK = _Clock()
#: The kernels that are kept, as modules and names, and whether each has been compiled or found.
_declared: dict[tuple[str, str], bool] = {}
_listen: list[Callable[[], object]] = []
#: Where this process has found kernels, or put them.
_used: list[Any] = []
#: What has kept this process from putting a kernel where kernels are put.
_faults: list[Exception] = []
#: No file of a kernel takes as much.
_KERNEL_BYTES = 500_000
#: Types of what a kernel may read of its module, beside functions.
_CONSTANTS = (int, float, str, tuple, np.generic)


def njit(**options: Any) -> Any:
    """Return ``numba.njit`` with these options, whose ``cache`` never fails a kernel."""
    import numba  # here: most of what reads this compiles nothing

    keep = options.pop("cache", False)
    _count_compiling()

    def decorate(function: Callable[..., Any]) -> Any:
        compiled = numba.njit(**options)(function)
        if keep:
            compiled._cache = _keeper()(function)
            _declared.setdefault(_named(function), False)
        return compiled

    return decorate


def at_each_kernel(listen: Callable[[], object]) -> None:
    """Have a function called whenever a kernel has been compiled, or found compiled, once each."""
    _listen.append(listen)


def kernels() -> dict[tuple[str, str], bool]:
    """Return the kept kernels that were declared so far, and whether each is there."""
    return dict(_declared)


def _named(function: Callable[..., Any]) -> tuple[str, str]:
    return function.__module__, function.__qualname__


def _is_there(function: Callable[..., Any]) -> None:
    """Take note of a kernel that has been compiled or found."""
    if not _declared.get(_named(function)):
        _declared[_named(function)] = True
        for listen in _listen:
            listen()


@cache
def _count_compiling() -> None:
    """Have numba tell of each kernel that it compiles, not of one that it finds compiled."""
    from numba.core import event

    class Counter(event.Listener):  # type: ignore[misc]
        def __init__(self) -> None:
            self._open: list[contextlib.ExitStack] = []

        def on_start(self, event: Any) -> None:
            del event
            stack = contextlib.ExitStack()
            stack.enter_context(CLOCK.running())
            self._open.append(stack)

        def on_end(self, event: Any) -> None:
            del event
            self._open.pop().close()

    event.register("numba:compile", Counter())


def kept_files() -> list[Path]:
    """Return the files of the kernels that this process has found, or put there, sorted.

    There are none where a kernel could not be kept.
    """
    found = {file for place in _used for file in _files(place) if file.is_file()}
    return [] if _faults else sorted(found)


def private_folder() -> Path | None:
    """Return a temporary folder that nobody else can write to, None if there is none.

    What is read from it is run, so a folder that another user has made is not taken, nor one that a
    link leads to.
    """
    folder = Path(tempfile.gettempdir()) / f"kvopt-{os.getuid()}"
    try:
        with contextlib.suppress(FileExistsError):
            folder.mkdir(mode=0o700)
        found = folder.lstat()
    except OSError:
        return None
    ours = stat.S_ISDIR(found.st_mode) and found.st_uid == os.getuid()
    return folder if ours and not found.st_mode & 0o077 else None


def is_writable(folder: Path) -> bool:
    """Tell whether a folder, which is made if need be, takes a file of the size of a kernel."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder) as file:
            file.write(bytes(_KERNEL_BYTES))
    except OSError:
        return False
    return True


def kernel_folder() -> Path | None:
    """Return the folder where kernels are put; None without one."""
    folder = _preferred()
    return folder if folder is not None and is_writable(folder) else private_folder()


def kernel_folders() -> list[Path]:
    """Return the folders where kernels are looked for; the last is that where they are put."""
    return list(dict.fromkeys(each for each in (_preferred(), kernel_folder()) if each is not None))


def _preferred() -> Path | None:
    """Return the folder that the user names, or else that below the user's cache folder."""
    if named := os.environ.get("NUMBA_CACHE_DIR"):
        return Path(named)
    try:
        return cache_folder("kernels")
    except RuntimeError:  # a user without a home
        return None


@cache
def compilers() -> tuple[str, ...]:
    """Return the versions of what compiles kernels, and of what they are compiled against."""
    return (*map(version, ("numba", "numpy", "llvmlite")), platform.python_version())


def _digest(function: Callable[..., Any]) -> str:
    """Return a digest of a kernel's file, of those whose kernels it calls, and of what it reads.

    numba itself looks at the first of them alone, and of two environments with another numba each
    would write over the kernels of the other.
    """
    files: dict[str, bytes] = {}
    told, waiting = [], [function]
    while waiting:
        each = waiting.pop()
        file = each.__code__.co_filename
        if file in files:
            continue
        files[file] = Path(file).read_bytes()
        for name, value in sorted(each.__globals__.items()):
            inner = getattr(value, "py_func", value)
            if inner is not value or getattr(value, "is_kernel", False):
                waiting.append(inner)
            elif not name.startswith("__") and isinstance(value, _CONSTANTS):
                told.append(f"{name} {value!r}")
    whole = hashlib.sha256(b"\0".join(files[file] for file in sorted(files)))
    whole.update("\n".join((*sorted(told), *compilers())).encode())
    return whole.hexdigest()[:16]


@cache
def _place_in(folder: Path) -> Callable[[Any], Any]:
    """Return the class of numba's cache in a folder; numba is imported here."""
    from numba.core import caching, config

    class Locator(caching._CacheLocator):  # type: ignore[misc]
        """Where the kernels of one file are kept: equal sources share them, wherever they lie."""

        def __init__(self, function: Any) -> None:
            module = function.__module__.rpartition(".")[2]
            self._path = folder / f"{module}-{_digest(function)}"
            self._line = function.__code__.co_firstlineno

        def get_cache_path(self) -> str:
            return str(self._path)

        def get_source_stamp(self) -> str:
            return self._path.name

        def get_disambiguator(self) -> str:
            return str(self._line)

        @classmethod
        def from_function(cls, function: Any, file: str) -> Any:
            del file
            return cls(function)

    class Impl(caching.CompileResultCacheImpl):  # type: ignore[misc]
        _locator_classes = (Locator,)

        def __init__(self, function: Any) -> None:
            named, config.CACHE_LOCATOR_CLASSES = config.CACHE_LOCATOR_CLASSES, ""
            try:
                super().__init__(function)
            finally:
                config.CACHE_LOCATOR_CLASSES = named

    class Place(caching.FunctionCache):  # type: ignore[misc]
        _impl_class = Impl

        def _index_key(self, sig: Any, codegen: Any) -> Any:
            return *super()._index_key(sig, codegen), _fields(getattr(sig, "args", sig))

    return Place


def _fields(types: Iterable[Any]) -> tuple[Any, ...]:
    """Return the names of the fields of named tuples, which a kernel reads by their places.

    Their class may lie in a file that no kernel does, so no digest tells of its change.
    """
    return tuple(
        (getattr(each, "fields", ()), _fields(each.types))
        for each in types
        if hasattr(each, "types")
    )


@cache
def _keeper() -> Callable[[Any], Any]:
    """Return the class of what keeps a kernel; numba is imported here."""
    from numba.core import caching

    places = [_place_in(folder) for folder in kernel_folders()]

    class Keeper(caching.NullCache):  # type: ignore[misc]
        """Keeps one kernel."""

        def __init__(self, function: Any) -> None:
            self._function = function
            self._places = [place(function) for place in places]

        @property
        def cache_path(self) -> str | None:
            return self._places[-1].cache_path if self._places else None

        def load_overload(self, sig: Any, target_context: Any) -> Any:
            for place in self._places:
                try:
                    found = place.load_overload(sig, target_context)
                except Exception:  # whatever unpickling stumbles over
                    _drop(place)
                    continue
                if found is not None:
                    _used.append(place)
                    _is_there(self._function)
                    return found
            return None

        def save_overload(self, sig: Any, data: Any) -> None:
            _is_there(self._function)
            for place in self._places[-1:]:
                try:
                    place.save_overload(sig, data)
                    _used.append(place)
                except Exception as fault:  # a disk that has become full, an index not to be read
                    _faults.append(fault)

    return Keeper


def _files(place: Any) -> Iterator[Path]:
    index = Path(place._cache_file._index_path)
    yield index
    with contextlib.suppress(OSError):
        yield from index.parent.glob(f"{index.stem}.*.nbc")


def _drop(place: Any) -> None:
    for file in _files(place):
        with contextlib.suppress(OSError):
            file.unlink()
