"""Families of instances, found by looking into this folder: adding one is adding a file.

The file is named after the family, its docstring's first line is the summary, and its function
``generate(seed=0, ...)`` returns an instance.
"""

import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from operator import itemgetter

from instances.instance import Instance
from support.module_objects import find_module_objects

_HELPERS = frozenset({"shared", "draws", "fitted_lengths"})


@dataclass(frozen=True)
class Family:
    """A family: its name with hyphens, one line about it, and its generator."""

    name: str
    summary: str
    generate: Callable[..., Instance]


@cache
def families() -> dict[str, Family]:
    """Return all families by name, sorted, or raise TypeError for a file that is none."""
    found = find_module_objects(sys.modules[__name__], "generate", Callable, _HELPERS)
    return {each[0]: Family(*each) for each in sorted(found, key=itemgetter(0))}
