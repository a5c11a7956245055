"""Kernels that numba compiles: kept where there is a place for them, and how long that has taken.

numba keeps what it has compiled beside the sources, where ``NUMBA_CACHE_DIR`` says, or in a folder
of the user's, and gives up where it can write to none of them, where the disk is full, and at a
torn file, for ever.  Here a private temporary folder is the last resort, what is damaged is dropped
and compiled again, and where nothing can be kept a kernel is compiled by each process that needs
it.
"""

from __future__ import annotations

import contextlib
import os
import stat
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any


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
#: Where this process has found kernels, or put them.
_used: list[Any] = []


def njit(**options: Any) -> Any:
    """Return ``numba.njit`` with these options, whose ``cache`` never fails a kernel."""
    import numba  # here: most of what reads this compiles nothing

    keep = options.pop("cache", False)
    _count_compiling()

    def decorate(function: Callable[..., Any]) -> Any:
        compiled = numba.njit(**options)(function)
        if keep:
            compiled._cache = _keeper()(function)
        return compiled

    return decorate


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
    """Return the files of the kernels that this process has found, or put there, sorted."""
    return sorted({file for place in _used for file in _files(place) if file.is_file()})


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
    """Tell whether files can be made in a folder, which is made if need be."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        tempfile.TemporaryFile(dir=folder).close()
    except OSError:
        return False
    return True


@cache
def _last_resort() -> Callable[[Any], Any]:
    """Return the class of numba's cache in the private folder; numba is imported here."""
    from numba.core import caching, config

    class Temporary(caching._SourceFileBackedLocatorMixin, caching._CacheLocator):  # type: ignore[misc]
        """Where kernels are kept if nowhere else, whatever the environment names."""

        def __init__(self, function: Any, file: str) -> None:
            self._py_file, self._lineno = file, function.__code__.co_firstlineno

        def get_cache_path(self) -> str:
            folder = private_folder()
            if folder is None:
                raise OSError("no temporary folder")
            return os.path.join(folder, self.get_suitable_cache_subpath(self._py_file))

    class Impl(caching.CompileResultCacheImpl):  # type: ignore[misc]
        _locator_classes = (Temporary,)

        def __init__(self, function: Any) -> None:
            named, config.CACHE_LOCATOR_CLASSES = config.CACHE_LOCATOR_CLASSES, ""
            try:
                super().__init__(function)
            finally:
                config.CACHE_LOCATOR_CLASSES = named

    class LastResort(caching.FunctionCache):  # type: ignore[misc]
        _impl_class = Impl

    return LastResort


@cache
def _keeper() -> Callable[[Any], Any]:
    """Return the class of what keeps a kernel; numba is imported here."""
    from numba.core import caching

    class Keeper(caching.NullCache):  # type: ignore[misc]
        """Keeps one kernel in the first place that takes it."""

        def __init__(self, function: Any) -> None:
            self._places: list[Any] = []
            for place in (caching.FunctionCache, _last_resort()):
                # No such place, or one that vanishes.
                with contextlib.suppress(RuntimeError, OSError):
                    self._places.append(place(function))

        @property
        def cache_path(self) -> str | None:
            return self._places[0].cache_path if self._places else None

        def load_overload(self, sig: Any, target_context: Any) -> Any:
            for place in self._places:
                try:
                    found = place.load_overload(sig, target_context)
                except Exception:  # whatever unpickling stumbles over
                    _drop(place)
                    continue
                if found is not None:
                    _used.append(place)
                    return found
            return None

        def save_overload(self, sig: Any, data: Any) -> None:
            for place in self._places:
                try:
                    place.save_overload(sig, data)
                except Exception:  # a full disk, a torn index that cannot be removed
                    continue
                _used.append(place)
                return

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
