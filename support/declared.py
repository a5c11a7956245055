"""What the modules of a package declare, found by looking into its folder."""

from __future__ import annotations

import importlib
import pkgutil
import sys
from collections.abc import Collection, Iterator
from types import ModuleType
from typing import Any


def declared(
    package: ModuleType, attribute: str, kind: Any, without: Collection[str] = ()
) -> Iterator[tuple[str, str, Any]]:
    """Yield the name of each module with hyphens, its docstring's first line, and its object.

    The object has the name of the attribute, and is of a kind as ``isinstance`` takes it; what is
    named as ``without`` declares none.

    Raises TypeError if a module has no docstring or no such object.
    """
    for info in pkgutil.iter_modules(package.__path__):
        if info.name in without:
            continue
        module = importlib.import_module(f"{package.__name__}.{info.name}")
        found = getattr(module, attribute, None)
        if not isinstance(found, kind):
            raise TypeError(f"{module.__name__}: expected a {attribute}")
        yield info.name.replace("_", "-"), summary_of(module), found


def summary_of(module: ModuleType) -> str:
    """Return the first line of a module's docstring, nothing where ``python -OO`` leaves it out.

    Raises TypeError if it has none.
    """
    if not module.__doc__ and sys.flags.optimize < 2:
        raise TypeError(f"{module.__name__}: expected a docstring")
    return (module.__doc__ or "").strip().partition("\n")[0]
