"""What the project's sources import, read without importing them."""

from __future__ import annotations

import ast
import contextlib
import hashlib
import importlib.util
import json
import re
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache, lru_cache
from pathlib import Path
from threading import Lock

from kvopt.places import is_own
from support.checkout import ROOT
from support.inputs import read_whole
from support.jsonfile import write_bytes


@dataclass(frozen=True)
class Source:
    """One Python file, or another one that is run, which has nothing but a digest.

    Attributes
    ----------
    digest
        Of its syntax tree without docstrings, so that comments and layout do not count.
    imports
        Dotted names that it imports anywhere, except for type checkers only or where it is run as
        a command; of ``from a import b`` both ``a`` and ``a.b``, since b may be a module.
    words
        The texts in it that are single words; a name by which a registry finds a file is one.
    names
        What it defines at its top level, or imports there, by name.
    """

    digest: str
    imports: frozenset[str]
    words: frozenset[str]
    names: frozenset[str] = frozenset()


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


def reachable(modules: Iterable[str], folder: Path | None = None) -> dict[str, Path]:
    """Return the files of modules and of all that they import, by dotted name.

    Parameters
    ----------
    folder
        Where modules are looked for that the project does not have.
    """
    found: dict[str, Path] = {}
    waiting, seen = list(modules), set[str]()
    while waiting:
        module = waiting.pop()
        if module in seen:
            continue
        seen.add(module)
        path = module_file(module, folder)
        if path is None:
            continue
        found[module] = path
        waiting += read_source(path).imports
        # Importing a.b runs a first.
        waiting += [module.rpartition(".")[0]] if "." in module else []
    return found


def foreign(paths: Iterable[Path], folder: Path | None = None) -> set[str]:
    """Return the top-level modules that files import from outside project and standard library."""
    names = {name.partition(".")[0] for path in paths for name in read_source(path).imports}
    return {
        name
        for name in names
        if name not in sys.stdlib_module_names and module_file(name, folder) is None
    }


def module_file(module: str, folder: Path | None = None) -> Path | None:
    """Return the file of a module of the project, or else of the folder; None without one."""
    own = [ROOT] if is_own(module.partition(".")[0]) else []
    for base in [*own, *([] if folder is None else [folder])]:
        stem = base.joinpath(*module.split("."))
        for path in (stem / "__init__.py", stem.with_name(f"{stem.name}.py")):
            if path.is_file():
                return path
    return None


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
    try:
        source = read_whole(path, _LARGEST)
        with _PARSING:
            return ast.parse(source, filename=path.name)
    except ValueError as error:  # a NUL byte, or too large
        raise SyntaxError(str(error)) from None


@lru_cache(maxsize=4096)
def _read(path: Path, changed: int, size: int) -> Source:
    """Return what a file says, for one of the project's as it was kept for the same bytes."""
    del changed, size
    if not is_python(path):
        content = hashlib.sha256(path.read_bytes()).hexdigest()
        return Source(content, frozenset(), frozenset())
    kept = _kept_in(path)
    if kept is None:
        return _analyse(path)
    key = hashlib.sha256(_reader() + path.read_bytes()).hexdigest()
    with contextlib.suppress(OSError, ValueError, KeyError, TypeError):
        stored = json.loads(kept.read_bytes())
        if stored["key"] == key:
            sets = (frozenset(stored[name]) for name in ("imports", "words", "names"))
            return Source(stored["digest"], *sets)
    source = _analyse(path)
    found = {name: sorted(getattr(source, name)) for name in ("imports", "words", "names")}
    document = {"key": key, "digest": source.digest, **found}
    with contextlib.suppress(OSError):
        kept.parent.mkdir(parents=True, exist_ok=True)
        write_bytes(kept, json.dumps(document).encode())
    return source


def _kept_in(path: Path) -> Path | None:
    """Return where what one of the project's files says is kept: where Python keeps it compiled.

    Reading all files that a method reaches takes a second otherwise, in every process.
    """
    if sys.dont_write_bytecode or not path.is_relative_to(ROOT):
        return None
    return Path(importlib.util.cache_from_source(str(path))).with_suffix(".source")


@cache
def _reader() -> bytes:
    """Return what this file is: what it finds in others may change with it."""
    return Path(__file__).read_bytes()


def _analyse(path: Path) -> Source:
    tree = parse_file(path)
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
    return Source(digest, frozenset(imports), frozenset(words), frozenset(_defined(tree)))


def _text_of(tree: ast.AST) -> str:
    """Return all that a tree holds, in the same words under every version of Python."""
    for node in ast.walk(tree):
        if not getattr(node, "type_params", True):  # a field since Python 3.12
            del node.type_params  # type: ignore[attr-defined]
    if sys.version_info >= (3, 13):  # which leaves out what is empty, unless told not to
        return ast.dump(tree, show_empty=True)
    return ast.dump(tree)


def _defined(tree: ast.Module) -> Iterator[str]:
    for node in tree.body:
        if isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            yield from (each.id for each in targets if isinstance(each, ast.Name))
        elif isinstance(node, ast.FunctionDef | ast.ClassDef):
            yield node.name
        elif isinstance(node, ast.ImportFrom):
            yield from (each.asname or each.name for each in node.names)


def _imports(node: ast.AST) -> Iterator[str]:
    if isinstance(node, ast.Import):
        yield from (each.name for each in node.names)
    elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
        yield node.module
        yield from (f"{node.module}.{each.name}" for each in node.names)
