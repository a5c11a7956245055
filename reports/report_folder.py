"""The files of a report in their folder: written, and files of an earlier report removed.

A list in it, ``.kvopt-report``, names the report's files: a title, then a path a line. Every other
file is the user's: it is neither written over nor removed.
"""

import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from kvopt.project_paths import REPORT_MARKER
from support.input_files import describe_special
from support.json_files import TEMPORARY, as_bytes, write_text
from support.output_checks import OutputError, check_folder

MARKER = REPORT_MARKER
#: Longest list that is read (bytes).
_LONGEST = 10**7


@dataclass(frozen=True)
class FolderKind:
    """Contents of a folder that a command writes: files at its top, and folders by ending."""

    name: str
    files: tuple[str, ...]
    folders: Mapping[str, tuple[str, ...]]


REPORT = FolderKind(
    name="report",
    files=("README.md", "index.html"),
    folders={
        "tables": (".md", ".tex", ".csv"),
        "figures": (".svg", ".pdf"),
        "instances": (".html", ".svg"),
    },
)


def check_place(
    option: str, folder: str | Path, kind: FolderKind = REPORT, inputs: Iterable[str | Path] = ()
) -> None:
    """Find out before a run that a folder can hold a report: it is empty, or holds an earlier one.

    Raises OutputError if it holds anything else, or as :func:`support.output_checks.check_folder`
    says.
    """
    owned = (MARKER, *kind.files, *(f"{name}/" for name in kind.folders))
    # Its complaint about an input, or a file in the place of a folder, is the better one.
    check_folder(option, folder, owned, list(inputs))
    _refuse_foreign(option, Path(folder), kind)


def _refuse_foreign(option: str, root: Path, kind: FolderKind) -> frozenset[str]:
    """Refuse a folder that is neither empty nor an earlier report's; return the listed files."""
    try:
        found = sorted(path.name for path in root.iterdir()) if root.is_dir() else []
    except (OSError, ValueError) as error:
        raise OutputError(f"{option} {root}: {getattr(error, 'strerror', None) or error}") from None
    # Leftovers of a write that was killed are nobody's.
    present = [name for name in found if name == MARKER or not name.startswith(TEMPORARY)]
    listed = _listed(root, kind)
    if present and listed is None:
        raise OutputError(
            f"{option} {root}: expected an empty folder or that of an earlier {kind.name}, "
            f"found {present[0]!r} in it"
        )
    return listed or frozenset()


def write_files(
    root: Path, files: Mapping[str, str | bytes], kind: FolderKind = REPORT
) -> list[Path]:
    """Write the files of a report, by path; further files of an earlier one are removed.

    Raises OutputError if the folder holds something else, or one of the files is the user's;
    nothing is written then.  Raises OSError if a file cannot be written or removed.
    """
    listed = _refuse_foreign("the report's folder", root, kind)
    for name in files:
        if name not in listed and (root / name).exists():
            raise OutputError(f"{root / name}: expected a file of a {kind.name}, found another")
    root.mkdir(parents=True, exist_ok=True)
    # The list comes first and names the old and the new: after any end it can be resumed.
    write_text(root / MARKER, list_text({*files, *listed}, kind))
    for name, held in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        _write(root / name, as_bytes(held))
    for path in report_files(root, kind):
        name = path.relative_to(root).as_posix()
        if name in listed and name not in files:
            path.unlink()
    write_text(root / MARKER, list_text(files, kind))
    return [root / name for name in files]


def _write(path: Path, data: bytes) -> None:
    """Write a file whole or not at all; a report is made again, so no disk is waited for."""
    temporary = path.with_name(f"{TEMPORARY}{os.getpid()}")
    try:
        temporary.write_bytes(data)
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def list_text(names: Iterable[str], kind: FolderKind) -> str:
    """Return the list of a folder with these files."""
    return "\n".join([f"files of a kvopt {kind.name}", *sorted(names), ""])


def report_files(root: Path, kind: FolderKind = REPORT) -> Iterator[Path]:
    """Yield the files in the folders of a report."""
    for folder, suffixes in kind.folders.items():
        for path in sorted((root / folder).glob("*")):
            if path.suffix in suffixes and path.is_file():
                yield path


def _listed(root: Path, kind: FolderKind) -> frozenset[str] | None:
    """Return the names in the list of a folder; None without one of that kind."""
    path = root / MARKER
    if describe_special(path):
        return None
    try:
        with path.open("rb") as file:
            title, *names = file.read(_LONGEST).decode(errors="replace").split("\n")
    except (OSError, ValueError):
        return None
    return frozenset(filter(None, names)) if f"{title}\n" == list_text((), kind) else None
