"""Files of the project, their names in rows, and the place of results."""

import os
import site
from pathlib import Path

from support.project_root import CHECKOUT, ROOT

#: The packages that are installed.
PACKAGES = (
    "formulations", "heuristics", "instances", "kvopt", "reports", "schedules", "serving",
    "support",
)  # fmt: skip
#: List of a report's files, in its folder.
REPORT_MARKER = ".kvopt-report"
#: Store in the current folder.
DEFAULT_STORE = Path("results") / "runs.sqlite"


def shown_path(file: Path) -> str:
    """Return the path of a file; for a project file the path below its packages."""
    whole = Path(os.path.abspath(file))
    there = Path(os.path.realpath(whole.parent)) / whole.name
    if not there.is_relative_to(ROOT):
        return str(whole)
    below = there.relative_to(ROOT)
    return below.as_posix() if is_own(below.parts[0]) else str(whole)


def is_own_file(file: Path) -> bool:
    """Return whether a file is the project's."""
    return not os.path.isabs(shown_path(file))


def is_own(name: str) -> bool:
    """Return whether a file, folder or module of ``ROOT`` is the project's, as in a checkout."""
    return CHECKOUT or name in PACKAGES


def python_path() -> str:
    """Return the ``PYTHONPATH`` of a process of the project."""
    searched_anyway = {*site.getsitepackages(), site.getusersitepackages()}
    own = [] if str(ROOT) in map(os.path.realpath, searched_anyway) else [str(ROOT)]
    return os.pathsep.join([*own, *filter(None, [os.environ.get("PYTHONPATH")])])
