"""Instances by name: a path, or what the library calls them, as ``uniform_100`` or ``am1_00``."""

import contextlib
import fnmatch
import glob
import os
from collections import Counter
from collections.abc import Iterable
from functools import cache
from itertools import islice
from pathlib import Path

from instances.instance_files import InstanceFileError
from instances.ladder import read_ladder, write_rung_file
from support.message_text import did_you_mean, printable
from support.progress import count_progress

#: The library, a JSON file an instance.
FOLDER = Path(__file__).parent

#: Folders whose name begins the names of their instances, and is left out of the file names.
SPOKEN_FOR = ("three_partition", "tiny")
#: Prefix of the instances that are drawn by name, as a folder would be.
LADDER = "ladder"
#: Files of a folder that are looked at for the name that was meant.
_MOST_FILES = 10_000
#: Least similarity of names: many share their suffix.
_ALIKE = 0.75
#: A folder with this file is a trace.
IN_FOLDER = "requests.jsonl"


def trace_file(path: str | Path) -> Path:
    """Return the file of a trace: of a folder the one with the requests, if there is one."""
    inside = Path(path, IN_FOLDER)
    return inside if os.path.isfile(inside) else Path(path)


def find_instance(name_or_path: str | Path) -> Path:
    """Return the file of an instance: a path, or where nothing is there a name of the library.

    That is its name (``tiny_handover``) or its file, with or without ``instances/``, its folder and
    ``.json`` (``tiny/handover``, ``handover``); or one of the ladder, which is drawn.  If it is
    none, an InstanceFileError ends with the nearest names.
    """
    if not isinstance(name_or_path, str | Path):  # of a caller from Python
        raise InstanceFileError(f"expected a name or a path, found {name_or_path!r}")
    path = trace_file(name_or_path)
    try:
        if path.exists() and not path.is_dir():
            return path
    except OSError:
        return path  # its reader names the fault
    found = _library().get(_below(path).removesuffix(".json"))
    if found is not None:
        return found
    shown = printable(str(name_or_path))
    if path.is_dir():
        raise InstanceFileError(f"{shown}: expected an instance file, found a folder")
    if (rung := _on_ladder(path)) in read_ladder():
        return write_rung_file(rung)
    raise InstanceFileError(
        f"{shown}: expected an instance file or a name of the library, "
        f"found neither{propose_names(path)}"
    )


def propose_names(path: Path, further: Iterable[str] = ()) -> str:
    """Return the end of a complaint that proposes files of that folder, or else known names."""
    files: list[str] = []
    with contextlib.suppress(OSError, ValueError):
        files += (each.name for each in islice(path.parent.iterdir(), _MOST_FILES))
    known = [*further, *library_files(), *read_ladder()]
    of_library = did_you_mean(path.name.removesuffix(".json"), known)
    return did_you_mean(path.name, files, _ALIKE) or of_library


def find_instances(name: str) -> list[Path]:
    """Return the instance files of a folder, of a glob, or of one instance; empty without any.

    The library is asked for names that are not there: for a folder (``am1``), an instance by name,
    or a glob below one of its folders (``am1/*``); and the ladder likewise.

    Raises an OSError or ValueError if there can be no such path, or the ladder's InstanceFileError.
    """
    path = trace_file(name)
    if path.is_dir():
        inside = sorted((*path.rglob("*.json"), *path.rglob("*.json.gz")))
        return [each for each in inside if each.is_file() and may_be_instance(each)]
    if path.exists():
        return [path]
    # Of a folder that is not there "folder/**" finds the folder itself.
    found = sorted(each for each in map(Path, glob.glob(name, recursive=True)) if each.exists())
    if found:
        return found
    below = _below(path)
    one = _library().get(below.removesuffix(".json"))
    if one is not None:
        return [one]
    if names := find_rungs(path):
        return [write_rung_file(each) for each in count_progress(names, "instances drawn")]
    files = [each.relative_to(FOLDER) for each in library_files().values()]
    if glob.has_magic(name):
        ours = not glob.has_magic(path.parts[0])
        matched = set(glob.glob(below, root_dir=FOLDER, recursive=True) if ours else ())
        return [FOLDER / file for file in files if str(file) in matched]
    return [FOLDER / file for file in files if Path(below) in file.parents]


def find_rungs(path: Path) -> list[str]:
    """Return the instances of the ladder that a name, its folder or a glob below that means."""
    if path.as_posix() == LADDER:
        return list(read_ladder())
    wanted = _on_ladder(path)
    if path.parent.as_posix() == LADDER and glob.has_magic(wanted):
        return fnmatch.filter(read_ladder(), wanted)
    return [wanted] if wanted in read_ladder() else []


def _on_ladder(path: Path) -> str:
    return path.as_posix().removeprefix(f"{LADDER}/").removesuffix(".json")


@cache
def library_files() -> dict[str, Path]:
    """Return the files of the library by the names of their instances, sorted by path."""
    # Whatever the folders above the library are called.
    below = (file.relative_to(FOLDER) for file in FOLDER.rglob("*.json"))
    files = sorted(FOLDER / file for file in below if may_be_instance(file))
    return {_name(file): file for file in files}


def may_be_instance(file: Path) -> bool:
    """Return whether a JSON file is neither a schema nor a best-known value or its proof."""
    best_known = any(part.startswith("best_known") for part in file.parts)
    return not file.name.endswith(".schema.json") and not best_known


def describe_hidden(name_or_path: str | Path) -> str:
    """Return which instance of the library a file of the same bare name hides, else nothing."""
    path = Path(name_or_path)
    file = _library().get(path.as_posix().removesuffix(".json"))
    if len(path.parts) > 1 or file is None or not path.is_file() or path.samefile(file):
        return ""
    spelled = f"instances/{file.relative_to(FOLDER).as_posix()}"
    return f"{path}: the file here, not {_name(file)} of the library ({spelled} names that)"


@cache
def _library() -> dict[str, Path]:
    """Return the files of the library by every name; the bare name where no two share it."""
    files = library_files()
    below = {file.relative_to(FOLDER).with_suffix("").as_posix(): file for file in files.values()}
    stems = Counter(file.stem for file in files.values())
    alone = {file.stem: file for file in files.values() if stems[file.stem] == 1}
    return alone | below | files


def _below(path: Path) -> str:
    """Return a path as it may stand below the library's folder."""
    return (path.relative_to("instances") if path.is_relative_to("instances") else path).as_posix()


def _name(file: Path) -> str:
    folder = file.parent.name
    return f"{folder}_{file.stem}" if folder in SPOKEN_FOR else file.stem
