"""Methods of installed packages: entry points of the group ``kvopt.methods``, each a file by name.

A package says in its ``pyproject.toml``::

    [project.entry-points."kvopt.methods"]
    longest = "my_package.longest"

Then ``longest`` stands for ``file:.../my_package/longest.py``, which defines ``POLICY`` or
``solve``.  Nothing of a package is imported where it is looked for.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from functools import cache
from importlib.metadata import entry_points
from pathlib import Path

GROUP = "kvopt.methods"


@cache
def installed_methods() -> dict[str, Path]:
    """Return the Python files of the methods of installed packages, by name, sorted."""
    found = {each.name: _file(each.module) for each in entry_points(group=GROUP)}
    return {name: path for name, path in sorted(found.items()) if path is not None}


def _file(module: str) -> Path | None:
    """Return the file of a module; its packages are found as Python finds them, not run."""
    where: Sequence[str] | None = None
    origin = None
    parts = module.split(".")
    for count in range(1, len(parts) + 1):
        name = ".".join(parts[:count])
        finders = (each.find_spec(name, where) for each in sys.meta_path)
        spec = next((each for each in finders if each is not None), None)
        if spec is None:
            return None
        origin, where = spec.origin, spec.submodule_search_locations
    path = Path(origin or "")
    return path if path.suffix == ".py" and path.is_file() else None
