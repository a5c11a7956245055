"""The files of a report in their folder: written, and those of an earlier report removed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

from instances.jsonfile import write_text

#: Folders below that of a report in which only its own files stand, with what these end in.
_OWN = {"tables": (".md",), "figures": (".svg",), "instances": (".md", ".html", ".svg")}
#: What a report writes below its folder, for :func:`instances.outputs.check_folder`.
OWNED = ("README.md", "index.html", *(f"{folder}/" for folder in _OWN))


def write_files(root: Path, files: Mapping[str, str]) -> list[Path]:
    """Write the files of a report; pages and figures of an earlier one that it lacks are removed.

    Parameters
    ----------
    root
        The report's folder, made if it is not there.
    files
        Text by path below the folder.

    Raises
    ------
    OSError
        If a file cannot be written or removed.
    """
    written = []
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        write_text(path, text)
        written.append(path)
    for path in sorted(set(report_files(root)) - set(written)):
        path.unlink()
    return written


def report_files(root: Path) -> Iterator[Path]:
    """Yield the files in the folders that hold generated files only."""
    for folder, suffixes in _OWN.items():
        if (root / folder).is_dir():
            yield from (
                path
                for path in sorted((root / folder).iterdir())
                if path.suffix in suffixes and path.is_file()
            )
