"""Checks of outputs before a run: they can be written and replace no file of the command line."""

import contextlib
import os
import re
import tempfile
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from itertools import pairwise
from pathlib import Path

from support.current_command import current_command
from support.json_files import refuse_output
from support.usage_errors import complain

#: Suffixes of pictures.
PICTURES = (".svg", ".png", ".pdf")
#: ``Path`` makes one slash of two.
_URL = re.compile(r"\s*[A-Za-z][\w+.-]+:/|.*://")
#: Signs between names of files within an argument, as in ``fitted(m.csv)`` and ``file:own.py``.
_SIGNS = re.compile(r"[:(),=]")


class OutputError(ValueError):
    """An output cannot be written, or would replace an input; the message is one line."""


def check_outputs(
    outputs: Mapping[str, str | Path | None], inputs: Iterable[str | Path] = ()
) -> None:
    """Raise an OutputError before a run if a file cannot be written or would replace another.

    ``outputs`` are files by option, None where not given; ``inputs`` are files that the command
    reads and its command line does not name.
    """
    given = {option: path for option, path in outputs.items() if path is not None}
    for option, path in given.items():
        with _naming(option, path):
            _check_writable(Path(path))
    check_apart({option: Path(path) for option, path in given.items()}, inputs)


def check_apart(outputs: Mapping[str, Path], inputs: Iterable[str | Path] = ()) -> None:
    """Raise OutputError for an output that is an input or another output, by any name or link."""
    # Writing to a device or a pipe replaces nothing.
    files = [(option, path) for option, path in outputs.items() if not _is_special(path)]
    sources = [*map(Path, inputs), *_named_files(outputs)]
    for place, (option, path) in enumerate(files):
        _refuse_input(option, path, sources)
        for other, before in files[:place]:
            if _same_file(path, before):
                raise OutputError(f"{option} {path}: is the same file as {other} {before}")


def check_folder(
    option: str, folder: str | Path, owned: Iterable[str], inputs: Iterable[str | Path] = ()
) -> None:
    """Make a folder for outputs; raise an OutputError if they cannot be written there.

    ``owned`` are the names that the command writes or removes below it: files, and whole folders,
    as ``tables/``.  No input may be among them.
    """
    root = Path(folder)
    sources = [*map(Path, inputs), *_named_files([option])]
    with _naming(option, folder):
        _refuse_input(option, root, [each for each in sources if not each.is_dir()])
        root.mkdir(parents=True, exist_ok=True)
        _probe(root)
        for name in owned:
            place, whole = root / name, name.endswith("/")
            if place.exists() and place.is_dir() != whole:
                raise ValueError(f"expected {'a folder' if whole else 'a file'} at {place}")
            if whole and place.exists():
                _probe(place)
            for source in sources:
                above = Path(os.path.realpath(source)).parents if whole else [source]
                if any(_same_file(each, place) for each in above):
                    raise ValueError(f"{source} is an input and would stand among the outputs")


def _refuse_input(option: str, path: Path, sources: Iterable[Path]) -> None:
    for source in sources:
        if _same_file(path, source):
            raise OutputError(f"{option} {path}: is the input {source}, which it would replace")


def _named_files(options: Collection[str]) -> list[Path]:
    """Return the files that the command line names, but for the values of these options."""
    named: dict[str, None] = {}
    for before, argument in pairwise(current_command()):
        if before not in options and argument.partition("=")[0] not in options:
            named |= dict.fromkeys((argument, *_SIGNS.split(argument)))
    return [Path(name) for name in named if "\0" not in name and os.path.isfile(name)]


def written_paths(outputs: Iterable[str | Path]) -> tuple[str, ...]:
    """Return absolute paths of outputs, and of the files that the standard streams go to."""
    streams = (path for path in map("/dev/fd/{}".format, (1, 2)) if os.path.isfile(path))
    return tuple(map(os.path.realpath, (*outputs, *streams)))


def write_outputs(program: str, writers: Mapping[str, Callable[[], object]]) -> bool:
    """Write each output, report each failure in one line; return whether all is written."""
    failed = False
    for name, write in writers.items():
        try:
            write()
        except Exception as error:
            complain(program, f"{name}: could not be written: {describe_error(error)}")
            failed = True
    return not failed


def describe_error(error: Exception) -> str:
    """Return the text of an error, with its kind where the text does not show it."""
    if isinstance(error, OSError | ValueError):
        return str(getattr(error, "strerror", None) or error)
    return f"{type(error).__name__}: {error}"


def _same_file(one: Path, other: Path) -> bool:
    """Return whether two paths name one file, also by links, or would if there were one."""
    try:
        if os.path.exists(one) and os.path.exists(other):
            return os.path.samefile(one, other)
        return os.path.realpath(one) == os.path.realpath(other)
    except (OSError, ValueError):
        return False


@contextlib.contextmanager
def _naming(option: str, path: str | Path) -> Iterator[None]:
    """Raise errors within as an OutputError; a URL may hold a password and is not quoted."""
    if _URL.match(str(path)):
        raise OutputError(f"{option}: expected a file or folder, found a URL (SCHEME:/...)")
    try:
        yield
    except OutputError:
        raise
    except (OSError, ValueError) as error:
        raise OutputError(f"{option} {Path(path)}: {describe_error(error)}") from None


def _is_special(path: Path) -> bool:
    return path.exists() and not path.is_file()


def _check_writable(path: Path) -> None:
    # A name that is too long or holds a NUL fails here.
    with contextlib.suppress(FileNotFoundError):
        os.stat(path)
    if path.is_dir():
        raise ValueError("expected a file to write, found a directory")
    if what := refuse_output(path):
        raise ValueError(what)
    folder = Path(os.path.realpath(path)).parent
    if not folder.is_dir():
        raise ValueError("there is no such folder to write to")
    if path.exists() and not os.access(path, os.W_OK):
        raise ValueError("no permission to write")
    if not _is_special(path):
        _probe(folder)


def _probe(folder: Path) -> None:
    """Open an empty file: permissions do not show a disk that is read-only."""
    tempfile.TemporaryFile(dir=folder).close()
