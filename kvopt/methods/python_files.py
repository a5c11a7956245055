"""Python files: their modules, their syntax trees and their digests."""

import ast
import hashlib
import re
from functools import lru_cache
from pathlib import Path
from threading import Lock

from kvopt.project_paths import is_own
from support.input_files import read_whole
from support.project_root import ROOT

#: Bytes of a file of Python.
_LARGEST = 10**8
#: Begins the first function or class.
_FIRST = re.compile(rb"^(?=@|(?:class|def) \w+[(:])", re.MULTILINE)
#: CPython 3.11 counts the depth of all threads that parse as one (its issue 106905).
_PARSING = Lock()


def module_file(module: str) -> Path | None:
    """Return the file of a module of the project; None without one."""
    if not is_own(module.partition(".")[0]):
        return None
    stem = ROOT.joinpath(*module.split("."))
    paths = (stem / "__init__.py", stem.with_name(f"{stem.name}.py"))
    return next((path for path in paths if path.is_file()), None)


def is_python(path: Path) -> bool:
    """Return whether a custom method is Python; any other file is a program."""
    return path.suffix == ".py"


def file_digest(path: Path) -> str:
    """Return the digest of a file; an unchanged one is not read again."""
    state = path.stat()
    return _digest(path, state.st_mtime_ns, state.st_size)


@lru_cache(maxsize=4096)
def _digest(path: Path, *_: int) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def parse_file(path: Path, *, head: bool = False) -> ast.Module:
    """Parse a file of Python, or its ``head`` above all functions; threads may call it together.

    Raises OSError if it cannot be read; SyntaxError if it is not Python.
    """
    try:
        content = read_whole(path, _LARGEST)
        if head:
            content = _FIRST.split(content, maxsplit=1)[0]
        with _PARSING:
            return ast.parse(content, filename=path.name)
    except ValueError as error:  # too large, or a NUL byte
        raise SyntaxError(str(error)) from None
