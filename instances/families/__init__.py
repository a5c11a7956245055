"""Families of instances, found by looking into this folder: adding one is adding a file.

The file is named after the family, its docstring's first line is the summary, and its function
``generate(seed=0, ...)`` returns an instance.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

from instances.model import Instance

_HELPERS = frozenset({"build", "draws", "fitted"})


@dataclass(frozen=True)
class Family:
    """A family: its name with hyphens, one line about it, and its generator."""

    name: str
    summary: str
    generate: Callable[..., Instance]


@cache
def families() -> dict[str, Family]:
    """Return all families by name, sorted.

    Raises
    ------
    TypeError
        If a file of this folder holds no docstring or no ``generate``.
    """
    found: dict[str, Family] = {}
    for module_info in pkgutil.iter_modules(__path__):
        if module_info.name in _HELPERS:
            continue
        module = importlib.import_module(f"{__name__}.{module_info.name}")
        generate = getattr(module, "generate", None)
        if not callable(generate) or not module.__doc__:
            raise TypeError(f"{module.__name__}: expected a docstring and a function generate")
        name = module_info.name.replace("_", "-")
        found[name] = Family(name, module.__doc__.strip().splitlines()[0], generate)
    return dict(sorted(found.items()))
