"""Readers of traces, found by looking into this folder: adding one is adding a file.

The file is named after the format, its docstring's first line is the summary, and its ``READER`` is
a :class:`instances.traces.reader.Reader`.
"""

from __future__ import annotations

import importlib
import pkgutil
from dataclasses import dataclass
from functools import cache

from instances.traces.reader import Reader


@dataclass(frozen=True)
class Format:
    """A format: its name with hyphens, one line about it, and its reader."""

    name: str
    summary: str
    reader: Reader


@cache
def formats() -> dict[str, Format]:
    """Return all formats by name, sorted.

    Raises
    ------
    TypeError
        If a file of this folder holds no docstring or no ``READER``.
    """
    found: dict[str, Format] = {}
    for module_info in pkgutil.iter_modules(__path__):
        module = importlib.import_module(f"{__name__}.{module_info.name}")
        reader = getattr(module, "READER", None)
        if reader is None or not module.__doc__:
            raise TypeError(f"{module.__name__}: expected a docstring and a READER")
        name = module_info.name.replace("_", "-")
        found[name] = Format(name, module.__doc__.strip().splitlines()[0], reader)
    return dict(sorted(found.items()))
