"""Instances by name: a path, or what the library calls them, as ``uniform_100`` or ``am1_00``."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from instances.files import InstanceFileError
from instances.telling import did_you_mean, printable

#: The library, a JSON file an instance.
FOLDER = Path(__file__).parent

#: Folders whose name begins the names of their instances, and is left out of the file names.
SPOKEN_FOR = ("three_partition", "tiny")


def find_instance(name_or_path: str | Path) -> Path:
    """Return the file of an instance.

    Parameters
    ----------
    name_or_path
        A path; or, where nothing is there, an instance of the library by name (``tiny_handover``),
        or by its file with or without ``instances/`` and ``.json`` (``tiny/handover``).

    Raises
    ------
    InstanceFileError
        If it is neither; the line ends with the nearest names.
    """
    path = Path(name_or_path)
    try:
        if path.exists():
            return path
    except OSError:
        return path  # what is wrong with it, its reader tells
    text = path.as_posix()
    found = _library().get(text.removeprefix("instances/").removesuffix(".json"))
    if found is None:
        near = did_you_mean(path.name.removesuffix(".json"), library_files())
        raise InstanceFileError(
            f"{printable(text)}: expected an instance file or a name of the library, found neither"
            f"{near}"
        )
    return found


@cache
def library_files() -> dict[str, Path]:
    """Return the files of the library by the names of their instances, sorted by path."""
    files = sorted(file for file in FOLDER.rglob("*.json") if _is_own(file))
    return {_name(file): file for file in files}


def may_be_instance(file: Path) -> bool:
    """Tell whether a JSON file is neither a schema nor a best-known value or its proof."""
    beside = any(part.startswith("best_known") for part in file.parts)
    return not file.name.endswith(".schema.json") and not beside


def _is_own(file: Path) -> bool:
    # Whatever the folders above the library are called.
    return may_be_instance(file.relative_to(FOLDER))


@cache
def _library() -> dict[str, Path]:
    """Return the files of the library by every name that they have."""
    files = library_files()
    below = {file.relative_to(FOLDER).with_suffix("").as_posix(): file for file in files.values()}
    return below | files


def _name(file: Path) -> str:
    folder = file.parent.name
    return f"{folder}_{file.stem}" if folder in SPOKEN_FOR else file.stem
