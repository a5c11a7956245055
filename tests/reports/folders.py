"""Folders of a test: what is put into one, and what one holds."""

from collections.abc import Mapping
from pathlib import Path


def fill(root: Path, files: Mapping[str, str]) -> None:
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text, encoding="utf-8")


def held(root: Path) -> dict[str, str]:
    files = (path for path in root.rglob("*") if path.is_file())
    return {path.relative_to(root).as_posix(): path.read_text(encoding="utf-8") for path in files}
