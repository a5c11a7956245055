"""Kernels that numba compiles: the folder that keeps them, and the time that compiling takes.

One folder holds all kernels of one digest of their files, of the versions and of the processor;
``NUMBA_CACHE_DIR`` names another place than the user's cache folder.  A kernel that cannot be read
is compiled again, and one that cannot be kept is compiled by each process.
"""

import contextlib
import hashlib
import os
import platform
import re
import stat
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from importlib.metadata import version
from itertools import islice
from pathlib import Path
from typing import Any

from support.project_root import ROOT, cache_folder

#: Files of these packages that hold kernels, or the tuples that kernels take.
_PACKAGES = ("formulations", "heuristics", "support")
_HOLDS_KERNELS = re.compile(rb"kernel_cache|kernel_compiler|import compiled|NamedTuple")
#: More than the file of any kernel takes.
_KERNEL_BYTES = 500_000
#: The numba whose classes are known to do so.
_JOINED_BY = "0.68."


class _CompileClock:
    """Seconds of compiling; ``listen`` is called at every beginning (True) and end (False)."""

    def __init__(self) -> None:
        self.total = 0.0
        self.listen: Callable[[bool], object] = lambda _: None
        self.stopped = False
        self._depth = 0

    @contextmanager
    def running(self) -> Iterator[None]:
        """Count the time within, once where one kernel has another compiled."""
        if self.stopped:
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


CLOCK = _CompileClock()


def kernel_folder() -> Path | None:
    """Return the folder of today's kernels, which need not exist; None without a home."""
    with contextlib.suppress(RuntimeError):
        named = os.environ.get("NUMBA_CACHE_DIR")
        return (Path(named) if named else cache_folder("kernels")) / kernel_digest()
    return None


@cache
def kernel_digest() -> str:
    """Return the digest of all that decides the code of the kernels."""
    versions = (*map(version, ("numba", "numpy", "llvmlite")), platform.python_version())
    whole = hashlib.sha256("\n".join((*versions, platform.machine(), _processor())).encode())
    for file in sorted(file for each in _PACKAGES for file in (ROOT / each).rglob("*.py")):
        if _HOLDS_KERNELS.search(text := file.read_bytes()):
            whole.update(hashlib.sha256(text).digest())
    return whole.hexdigest()[:16]


def _processor() -> str:
    """Return the model and the abilities of the processor."""
    with contextlib.suppress(OSError), Path("/proc/cpuinfo").open(errors="replace") as lines:
        about = (line for line in lines if line.startswith(("model name", "flags", "Features")))
        return "".join(islice(about, 2))
    return platform.processor()


def take_temporary_folder() -> None:
    """Have this process and those below it keep kernels in the user's temporary folder.

    One that another user has made is not taken, nor one behind a link: kernels are run.
    """
    folder = Path(tempfile.gettempdir()) / f"kvopt-{os.getuid()}"
    with contextlib.suppress(OSError):
        with contextlib.suppress(FileExistsError):
            folder.mkdir(mode=0o700)
        found = folder.lstat()
        ours = stat.S_ISDIR(found.st_mode) and found.st_uid == os.getuid()
        if ours and not found.st_mode & 0o077:
            os.environ["NUMBA_CACHE_DIR"] = str(folder)


def is_writable(folder: Path | None) -> bool:
    """Make a folder, and return whether it takes a file of the size of a kernel."""
    try:
        assert folder is not None
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder) as file:
            file.write(bytes(_KERNEL_BYTES))
    except (OSError, AssertionError):
        return False
    return True


def compile_kernel(**options: Any) -> Any:
    """Return ``numba.njit`` with these options for a kernel that Python calls; it is kept."""
    import numba  # here: most importers compile nothing

    def decorate(function: Callable[..., Any]) -> Any:
        compiled = numba.njit(nogil=True, no_cfunc_wrapper=True, **options)(function)
        compiled._cache = _keeper()(function)
        _ours.add(compiled)
        return compiled

    return decorate


def compile_part(**options: Any) -> Any:
    """Return ``numba.njit`` for a function that only kernels call, and that is compiled in them."""
    import numba

    return numba.njit(no_cpython_wrapper=True, no_cfunc_wrapper=True, **options)


def compile_filling_part() -> Any:
    """Return a part that makes no array: put into its callers, without counted references."""
    return compile_part(_nrt=False, forceinline=True)


#: Kernels that Python calls.
_ours: set[Any] = set()


@cache
def _join_parts() -> None:
    """Make numba translate a part within the kernels that call it, and report its compiling."""
    import numba
    from numba.core import codegen, event, typed_passes

    class PartCode(codegen.JITCodeLibrary):  # type: ignore[misc]
        """Code that only others call: LLVM optimises and translates it within theirs, once."""

        def _optimize_final_module(self) -> None:
            pass

        def _finalize_final_module(self) -> None:
            self._finalize_dynamic_globals()
            self._finalized = True

        def get_pointer_to_function(self, _: str) -> int:
            return 0

        @property
        def codegen(self) -> Any:
            return self

        def set_env(self, *_: Any) -> None:
            pass

    open_: list[tuple[bool, contextlib.ExitStack]] = []

    class Listener(event.Listener):  # type: ignore[misc]
        """Counts the time of compiling, not of finding a kernel compiled."""

        def on_start(self, event: Any) -> None:
            stack = contextlib.ExitStack()
            stack.enter_context(CLOCK.running())
            open_.append((event.data["dispatcher"] in _ours, stack))

        def on_end(self, _: Any) -> None:
            open_.pop()[1].close()

    lower = typed_passes.BaseNativeLowering.run_pass

    def run_pass(self: Any, state: Any) -> Any:
        """Lower a function; of one without a wrapper for Python within a kernel, a part."""
        if open_ and open_[0][0] and state.flags.no_cpython_wrapper and state.library is None:
            state.library = PartCode(state.targetctx.codegen(), state.func_id.func_qualname)
            state.library.enable_object_caching()
        return lower(self, state)

    # Another numba gives each function separate code: twice the compiling, the same results.
    if numba.__version__.startswith(_JOINED_BY):
        typed_passes.BaseNativeLowering.run_pass = run_pass
    event.register("numba:compile", Listener())


def _keeper() -> Callable[[Any], Any]:
    """Return the class that keeps one kernel in the folder; set numba up."""
    from numba.core import caching, compiler

    class Keeper(caching.NullCache):  # type: ignore[misc]
        """Reads and keeps one kernel, as far as the folder lets it."""

        def __init__(self, function: Any) -> None:
            self._name = f"{function.__qualname__}-{function.__code__.co_firstlineno}"
            self._module = function.__module__

        def load_overload(self, sig: Any, context: Any) -> Any:
            try:
                context.refresh()
                found = self._files().load((sig, context.codegen().magic_tuple()))
                return None if found is None else compiler.CompileResult._rebuild(context, *found)
            except Exception:  # of a damaged file, whatever unpickling raises
                with contextlib.suppress(OSError):
                    self._files().flush()
            return None

        def save_overload(self, sig: Any, data: Any) -> None:
            with contextlib.suppress(Exception):  # of a full disk
                files = self._files()
                Path(files._cache_path).mkdir(parents=True, exist_ok=True)
                files.save((sig, data.codegen.magic_tuple()), data._reduce())

        def _files(self) -> Any:
            folder = str(Path(str(kernel_folder()), self._module))
            return caching.IndexDataCacheFile(folder, self._name, kernel_digest())

    _join_parts()
    return Keeper


def load_compiler() -> None:
    """Load numba and all that it knows, in half a second, so that forks have it."""
    from numba.core.registry import cpu_target

    cpu_target.typing_context.refresh()
    cpu_target.target_context.refresh()
