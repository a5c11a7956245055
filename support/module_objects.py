"""Declarations of the modules of a package, found by looking into its folder."""

import importlib
import pkgutil
from collections.abc import Collection, Iterator
from types import ModuleType
from typing import Any


def find_module_objects(
    package: ModuleType, attribute: str, kind: Any, without: Collection[str] = ()
) -> Iterator[tuple[str, str, Any]]:
    """Yield each module's name with hyphens, its docstring's first line, and its object.

    Raises TypeError if a module that ``without`` does not name lacks such an object.
    """
    for info in pkgutil.iter_modules(package.__path__):
        if info.name not in without:
            module = importlib.import_module(f"{package.__name__}.{info.name}")
            found = getattr(module, attribute, None)
            if not isinstance(found, kind):
                raise TypeError(f"{module.__name__}: expected a {attribute}")
            yield info.name.replace("_", "-"), read_summary(module), found


def read_summary(module: ModuleType) -> str:
    """Return a module's first line; ``python -OO`` leaves none."""
    return (module.__doc__ or "").strip().partition("\n")[0]
