"""What the project's sources import, read without importing them."""

from __future__ import annotations

import ast
import contextlib
import hashlib
import json
import re
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache, lru_cache
from pathlib import Path
from threading import Lock
from typing import Any

from kvopt.places import is_own
from support.checkout import ROOT, cache_folder
from support.inputs import read_whole


@dataclass(frozen=True)
class Source:
    """One Python file.

    Attributes
    ----------
    digest
        Of its syntax tree without docstrings, so that comments and layout do not count.
    imports
        Dotted names that it imports anywhere, except for type checkers only or where it is run as
        a command; of ``from a import b`` both ``a`` and ``a.b``, since b may be a module.
    words
        The texts in it that are single words; a name by which a registry finds a file is one.
    """

    digest: str
    imports: frozenset[str]
    words: frozenset[str]


def import_closure(module: str) -> set[str]:
    """Return the modules of the project that importing a module can run, itself included.

    Only ``import`` statements are followed, also those inside functions: what a registry imports
    by name is not.

    Raises
    ------
    FileNotFoundError
        If the project has no such module.
    """
    if module_file(module) is None:
        raise FileNotFoundError(f"{module}: no such module in {ROOT}")
    return set(reachable([module]))


def reachable(modules: Iterable[str]) -> dict[str, Path]:
    """Return the files of modules of the project and of all that they import, by dotted name."""
    found: dict[str, Path] = {}
    waiting, seen = list(modules), set[str]()
    while waiting:
        module = waiting.pop()
        if module in seen:
            continue
        seen.add(module)
        path = module_file(module)
        if path is None:
            continue
        found[module] = path
        waiting += read_source(path).imports
        # Importing a.b runs a first.
        waiting += [module.rpartition(".")[0]] if "." in module else []
    return found


def foreign(paths: Iterable[Path]) -> set[str]:
    """Return the top-level modules that files import from outside project and standard library."""
    names = {name.partition(".")[0] for path in paths for name in read_source(path).imports}
    return {
        name for name in names if name not in sys.stdlib_module_names and module_file(name) is None
    }


def module_file(module: str) -> Path | None:
    """Return the file of a module of the project; None without one."""
    if not is_own(module.partition(".")[0]):
        return None
    stem = ROOT.joinpath(*module.split("."))
    paths = (stem / "__init__.py", stem.with_name(f"{stem.name}.py"))
    return next((path for path in paths if path.is_file()), None)


def package_files(packages: Iterable[str]) -> dict[str, Path]:
    """Return all Python files of packages of the project, by their paths there."""
    return {
        path.relative_to(ROOT).as_posix(): path
        for package in packages
        for path in (ROOT / package).rglob("*.py")
    }


def is_python(path: Path) -> bool:
    """Tell whether a file that is run is Python; any other is a program."""
    return path.suffix == ".py"


def read_source(path: Path) -> Source:
    """Read a file, again only if it has changed.

    Raises
    ------
    OSError
        If it cannot be read.
    SyntaxError
        If it is not Python.
    """
    state = path.stat()
    return _read(path, state.st_mtime_ns, state.st_size)


#: Bytes of a file of Python.
_LARGEST = 10**8
#: Under these conditions an import does nothing: for type checkers only, or where run as a command.
_NOT_IMPORTED = re.compile(r"(\w+\.)?TYPE_CHECKING|__name__ == '__main__'")
#: What a source has beside its digest.
_SETS = ("imports", "words")
_WITH_DOCSTRING = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
#: CPython 3.11 counts the depth of all threads that parse as one (its issue 106905).
_PARSING = Lock()


def parse_file(path: Path) -> ast.Module:
    """Return what a file of Python says; threads may call it side by side.

    Raises
    ------
    OSError
        If it cannot be read.
    SyntaxError
        If it is not Python.
    """
    return _parsed(_content(path), path)


def _content(path: Path) -> bytes:
    try:
        return read_whole(path, _LARGEST)
    except ValueError as error:  # too large
        raise SyntaxError(str(error)) from None


def _parsed(content: bytes, path: Path) -> ast.Module:
    try:
        with _PARSING:
            return ast.parse(content, filename=path.name)
    except ValueError as error:  # a NUL byte
        raise SyntaxError(str(error)) from None


@lru_cache(maxsize=4096)
def _read(path: Path, changed: int, size: int) -> Source:
    """Return what a file says, for one of the project's as it was kept for the same bytes."""
    del changed, size
    content = _content(path)
    return _kept(content, path) if path.is_relative_to(ROOT) else _analyse(content, path)


def _kept(content: bytes, path: Path) -> Source:
    """Return what a file of the project says, from the user's cache folder where it is there.

    Reading all files that a method reaches takes a second otherwise, in every process.
    """
    key = hashlib.sha256(_reader() + content).hexdigest()
    with contextlib.suppress(OSError, ValueError, KeyError, TypeError, RuntimeError):
        return _stored(json.loads((cache_folder("sources") / key).read_bytes()))
    source = _analyse(content, path)
    document = {"digest": source.digest} | {name: sorted(getattr(source, name)) for name in _SETS}
    with contextlib.suppress(OSError, RuntimeError):
        folder = cache_folder("sources")
        folder.mkdir(parents=True, exist_ok=True)
        # Not waited for until it is on the disk, a thousand times: what is torn is read past.
        (folder / key).write_text(json.dumps(document), encoding="ascii")
    return source


def _stored(document: dict[str, Any]) -> Source:
    """Return what a document says, or raise."""
    sets = [document[name] for name in _SETS]
    words = [document["digest"], *(word for each in sets for word in each)]
    if not all(isinstance(each, list) for each in sets):
        raise TypeError("expected lists")
    if not all(isinstance(word, str) for word in words):
        raise TypeError("expected text")
    return Source(document["digest"], *map(frozenset, sets))


@cache
def _reader() -> bytes:
    """Return what this file and Python are: what is found in others may change with them."""
    return sys.version.encode() + Path(__file__).read_bytes()


def _analyse(content: bytes, path: Path) -> Source:
    tree = _parsed(content, path)
    imports: set[str] = set()
    words: set[str] = set()
    waiting: list[ast.AST] = [tree]
    while waiting:
        node = waiting.pop()
        if isinstance(node, _WITH_DOCSTRING) and ast.get_docstring(node, clean=False) is not None:
            del node.body[0]
        if isinstance(node, ast.If) and _NOT_IMPORTED.fullmatch(ast.unparse(node.test)):
            waiting += node.orelse
            continue
        waiting += ast.iter_child_nodes(node)
        imports.update(_imports(node))
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and " " not in node.value:
            words.add(node.value)
    digest = hashlib.sha256(_text_of(tree).encode("utf-8", "backslashreplace")).hexdigest()
    return Source(digest, frozenset(imports), frozenset(words))


def _text_of(tree: ast.AST) -> str:
    """Return all that a tree holds, in the same words under every version of Python."""
    for node in ast.walk(tree):
        if not getattr(node, "type_params", True):  # a field since Python 3.12
            del node.type_params  # type: ignore[attr-defined]
    if sys.version_info >= (3, 13):  # which leaves out what is empty, unless told not to
        return ast.dump(tree, show_empty=True)
    return ast.dump(tree)


def _imports(node: ast.AST) -> Iterator[str]:
    if isinstance(node, ast.Import):
        yield from (each.name for each in node.names)
    elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
        yield node.module
        yield from (f"{node.module}.{each.name}" for each in node.names)
