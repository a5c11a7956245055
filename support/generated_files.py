"""Files that are generated and committed: write them, or check that they are fresh."""

import os
from collections.abc import Iterable, Mapping
from pathlib import Path

from support.json_files import as_bytes, file_holds, write_bytes
from support.project_root import require_checkout
from support.usage_errors import complain


def regenerate(
    program: str, texts: Mapping[Path, str | bytes], present: Iterable[Path], *, check: bool
) -> int:
    """Write generated files, or compare them byte for byte; return the exit code.

    1 means that a check found a stale, missing or extra file (``present``, not in ``texts``), or
    that a file cannot be written.  Raises UsageError without a checkout to write into.
    """
    if not check:
        require_checkout("--check writes nothing")
    found = {
        "stale": [
            path for path, text in texts.items() if path.exists() and not file_holds(path, text)
        ],
        "missing": [path for path in texts if not path.exists()],
        # A file that nobody generates may be someone's work: it is named, never removed.
        "extra": [path for path in present if path not in texts],
    }
    if not check:
        try:
            for path in [*found["missing"], *found["stale"]]:
                path.parent.mkdir(parents=True, exist_ok=True)
                write_bytes(path, as_bytes(texts[path]))
        except OSError as error:
            complain(program, error)
            return 1
    for label, paths in found.items():
        for path in sorted(paths):
            shown = label if check or label == "extra" else "written"
            print(f"{shown}: {os.path.relpath(path)}")
    differed = sum(map(len, found.values()))
    print(f"{len(texts)} generated files, {differed or 'none'} of them differed")
    return 1 if check and differed else 0
