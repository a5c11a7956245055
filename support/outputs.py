"""What a command writes replaces neither what it reads nor its other outputs; looked at first."""

from __future__ import annotations

import contextlib
import os
import re
import tempfile
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

from support.inputs import files_read
from support.jsonfile import TEMPORARY, no_output
from support.usage import complain

#: What names of pictures end in.
PICTURES = (".svg", ".png", ".pdf")
_URL = re.compile(r"\s*[A-Za-z][\w+.-]+:/")


class OutputError(ValueError):
    """An output cannot be written, or would replace an input; the message is one line."""


def check_outputs(
    outputs: Mapping[str, str | Path | None], inputs: Iterable[str | Path] = ()
) -> None:
    """Find out before a run, not after it, that a file cannot be written or must not be.

    Parameters
    ----------
    outputs
        File by option, as in ``--out``; None where the option was not given.
    inputs
        Files that the command reads, besides those that it has read so far.

    Raises
    ------
    OutputError
        If there is no such folder or no permission, or as :func:`check_apart` says.
    """
    for option, path in outputs.items():
        if path is not None:
            _refuse_url(option, path)
            _check_writable(option, Path(path))
    check_apart(outputs, inputs)


def check_apart(
    outputs: Mapping[str, str | Path | None], inputs: Iterable[str | Path] = ()
) -> None:
    """Refuse an output that is an input or another output, by whatever name or link.

    Inputs are those given and all that the command has read so far (``support.inputs``), so this
    is asked again when everything has been read and nothing has been written.

    Raises
    ------
    OutputError
        Naming both.
    """
    given = [(option, Path(path)) for option, path in outputs.items() if path is not None]
    # Writing to a device or a pipe replaces nothing.
    given = [(option, path) for option, path in given if not _is_special(path)]
    if not given:
        return
    for source in (*map(Path, inputs), *files_read()):
        for option, path in given:
            if same_file(path, source):
                raise OutputError(f"{option} {path}: is the input {source}, which it would replace")
    for position, (option, path) in enumerate(given):
        for other, before in given[:position]:
            if same_file(path, before):
                raise OutputError(f"{option} {path}: is the same file as {other} {before}")


def written_paths(outputs: Iterable[str | Path]) -> tuple[str, ...]:
    """Return absolute paths of outputs, and of the files that the standard streams go to."""
    streams = (path for path in map("/dev/fd/{}".format, (1, 2)) if os.path.isfile(path))
    return tuple(map(os.path.realpath, (*outputs, *streams)))


def write_outputs(program: str, writers: Mapping[str, Callable[[], object]]) -> bool:
    """Write what options name; tell each that fails in one line and go on with the others.

    Parameters
    ----------
    writers
        By option and file, as in ``--plot x.svg``.  Whatever they raise is told: a picture may
        fail within a library.

    Returns
    -------
    bool
        Whether all is written.
    """
    failed = False
    for name, write in writers.items():
        try:
            write()
        except Exception as error:
            complain(program, f"{name}: could not be written: {fault(error)}")
            failed = True
    return not failed


def fault(error: Exception) -> str:
    """Return what is told of an error, with its kind where that is not known from its text."""
    if isinstance(error, OSError | ValueError):
        return str(getattr(error, "strerror", None) or error)
    return f"{type(error).__name__}: {error}"


def check_folder(
    option: str, folder: str | Path, owned: Iterable[str], inputs: Iterable[str | Path] = ()
) -> None:
    """Make a folder for outputs, find out that they can be written there and replace no input.

    Parameters
    ----------
    owned
        What the command writes or removes below the folder: files, as in ``README.md``, and whole
        folders, as in ``tables/``.
    inputs
        Files that the command reads, besides those that it has read so far.

    Raises
    ------
    OutputError
        If the folder is a file or cannot be made, nothing can be written into it, a file stands
        where a folder belongs or the other way round, or an input is among what is owned.
    """
    _refuse_url(option, folder)
    root = Path(folder)
    check_apart({option: root}, inputs)
    places = {root / name: name.endswith("/") for name in owned}
    try:
        root.mkdir(parents=True, exist_ok=True)
        _probe(root)
        for place, whole in places.items():
            if place.exists() and place.is_dir() != whole:
                expected = "a folder" if whole else "a file"
                raise OutputError(f"{option} {root}: expected {expected} at {place}")
            if whole and place.exists():
                _probe(place)
    except OutputError:
        raise
    except (OSError, ValueError) as error:
        raise OutputError(f"{option} {root}: {_reason(error)}") from None
    for source in (*map(Path, inputs), *files_read()):
        for place, whole in places.items():
            if _within(source, place) if whole else same_file(source, place):
                raise OutputError(
                    f"{option} {root}: {source} is an input and would stand among the outputs"
                )


def _within(path: Path, folder: Path) -> bool:
    return any(same_file(parent, folder) for parent in Path(os.path.realpath(path)).parents)


def same_file(one: Path, other: Path) -> bool:
    """Tell whether two paths name one file, also by links, or would if there were one."""
    try:
        there = os.path.lexists(one), os.path.lexists(other)
        if os.path.exists(one) and os.path.exists(other):
            return os.path.samefile(one, other)
        one, other = Path(os.path.realpath(one)), Path(os.path.realpath(other))
    except (OSError, ValueError):
        return False
    if one == other:
        return True
    # Of files that are not there yet, some disks tell by case and some do not.
    return not any(there) and one.parent == other.parent and _folded(one) == _folded(other)


def _folded(path: Path) -> str:
    return path.name.casefold()


def _refuse_url(option: str, path: str | Path) -> None:
    """Refuse what was meant for a server; it may hold a password, so that it is not quoted."""
    # ``Path`` makes one slash of two.
    if "://" in str(path) or _URL.match(str(path)):
        raise OutputError(f"{option}: expected a file or folder, found a URL (SCHEME:/...)")


def _is_special(path: Path) -> bool:
    with contextlib.suppress(OSError, ValueError):
        return path.exists() and not path.is_file()
    return False


def _check_writable(option: str, path: Path) -> None:
    try:
        # A name that is too long or holds a NUL fails here.
        with contextlib.suppress(FileNotFoundError):
            os.stat(path)
        if path.is_dir():
            raise OutputError(f"{option} {path}: expected a file to write, found a directory")
        if what := no_output(path):
            raise OutputError(f"{option} {path}: {what}")
        folder = Path(os.path.realpath(path)).parent
        if not folder.is_dir():
            raise OutputError(f"{option} {path}: there is no such folder to write to")
        if path.exists() and not os.access(path, os.W_OK):
            raise OutputError(f"{option} {path}: no permission to write")
        if not _is_special(path):
            _probe(folder)
    except OutputError:
        raise
    except (OSError, ValueError) as error:
        raise OutputError(f"{option} {path}: {_reason(error)}") from None


def _probe(folder: Path) -> None:
    """Write an empty file: permissions alone do not tell of a disk that is read-only."""
    handle, name = tempfile.mkstemp(dir=folder, prefix=TEMPORARY)
    os.close(handle)
    os.unlink(name)


def _reason(error: OSError | ValueError) -> str:
    return getattr(error, "strerror", None) or str(error)
