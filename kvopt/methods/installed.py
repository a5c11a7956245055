"""Methods of installed packages, by entry points of the group ``kvopt.methods``.

With ``longest = "my_package.longest"`` in that group, the name ``longest`` is the file
``my_package/longest.py``, which defines ``POLICY`` or ``solve``.  No package is imported for that.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from functools import cache
from importlib.metadata import entry_points
from itertools import accumulate
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
    for name in accumulate(module.split("."), "{}.{}".format):
        finders = (each.find_spec(name, where) for each in sys.meta_path)
        spec = next((each for each in finders if each is not None), None)
        if spec is None:
            return None
        origin, where = spec.origin, spec.submodule_search_locations
    path = Path(origin or "")
    return path if path.suffix == ".py" and path.is_file() else None
