"""Files that are generated and committed all the same: write them, or check that they are fresh."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path

from support.checkout import require_checkout
from support.jsonfile import as_bytes, holds, write_bytes
from support.usage import complain


def regenerate(
    program: str, texts: Mapping[Path, str | bytes], present: Iterable[Path], *, check: bool
) -> int:
    """Write generated files, or compare them byte for byte; return the exit code.

    It is 1 if a check found a file that is stale, missing or extra (``present``, but not in
    ``texts``), or if a file cannot be written.  Raises UsageError without a checkout to write into.
    """
    if not check:
        require_checkout("--check writes nothing")
    stale = [path for path, text in texts.items() if path.exists() and not holds(path, text)]
    missing = [path for path in texts if not path.exists()]
    # A file that nobody generates may be someone's work: it is named, never removed.
    extra = [path for path in present if path not in texts]
    if not check:
        try:
            for path in [*missing, *stale]:
                path.parent.mkdir(parents=True, exist_ok=True)
                write_bytes(path, as_bytes(texts[path]))
        except OSError as error:
            complain(program, error)
            return 1
    written = None if check else "written"
    for label, paths in ((written or "stale", stale), (written or "missing", missing)):
        _print_lines(label, paths)
    _print_lines("extra", extra)
    found = len(stale) + len(missing) + len(extra)
    print(f"{len(texts)} generated files, {found or 'none'} of them differed")
    return 1 if check and found else 0


def _print_lines(label: str, paths: list[Path]) -> None:
    for path in sorted(paths):
        print(f"{label}: {os.path.relpath(path)}")
