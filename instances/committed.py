"""Files that are generated and committed all the same: write them, or check that they are fresh."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from instances.checkout import require_checkout
from instances.jsonfile import write_text
from instances.usage import Parser, UsageError, complain


def regenerate(
    program: str,
    texts: Mapping[Path, str],
    present: Iterable[Path],
    arguments: Sequence[str] | None,
) -> int:
    """Run a command that writes generated files, or with ``--check`` compares them byte for byte.

    Parameters
    ----------
    program : str
        What the user typed, for the help.
    texts : mapping from Path to str
        What each file shall hold.
    present : iterable of Path
        Files that stand where only generated files belong.
    arguments : sequence of str, optional
        Command line; by default that of the process.

    Returns
    -------
    int
        Exit code: 0 if everything is fresh now, 1 if ``--check`` found a file that is stale,
        missing or extra, or if a file cannot be written; 2 for bad usage, as where there is no
        checkout to write into.
    """
    parser = Parser(prog=program, description="Write the generated files that are committed.")
    parser.add_argument(
        "--check",
        action="store_true",
        help="write nothing; name stale, missing and extra files and exit with 1 if there are any",
    )
    try:
        options = parser.parse_args(arguments)
        if not options.check:
            require_checkout("--check writes nothing")
    except UsageError as error:
        complain(program, error)
        return 2
    stale = [path for path, text in texts.items() if path.exists() and not _holds(path, text)]
    missing = [path for path in texts if not path.exists()]
    # A file that nobody generates may be someone's work: it is named, never removed.
    extra = [path for path in present if path not in texts]
    if not options.check:
        try:
            for path in [*missing, *stale]:
                path.parent.mkdir(parents=True, exist_ok=True)
                write_text(path, texts[path])
        except OSError as error:
            complain(program, error)
            return 1
    written = None if options.check else "written"
    for label, paths in ((written or "stale", stale), (written or "missing", missing)):
        _print_lines(label, paths)
    _print_lines("extra", extra)
    found = len(stale) + len(missing) + len(extra)
    print(f"{len(texts)} generated files, {found or 'none'} of them differed")
    return 1 if options.check and found else 0


def _holds(path: Path, text: str) -> bool:
    return path.is_file() and path.read_bytes() == text.encode()


def _print_lines(label: str, paths: list[Path]) -> None:
    for path in sorted(paths):
        print(f"{label}: {os.path.relpath(path)}")
