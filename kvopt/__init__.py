"""Distance of a scheduler from the best possible one; functions are loaded at their first use."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

if sys.platform == "win32":
    raise ImportError(
        "kvopt runs on Linux and macOS, not on Windows, which lacks what limits a run's process: "
        "use the Windows Subsystem for Linux"
    )

if TYPE_CHECKING:
    from instances import Instance
    from kvopt.api import bound, check, compare, read, read_trace, run, solve
    from kvopt.result import Result
    from schedules import Schedule

    __version__: str

__all__ = [
    "Instance",
    "Result",
    "Schedule",
    "__version__",
    "bound",
    "check",
    "compare",
    "read",
    "read_trace",
    "run",
    "solve",
]

#: Modules of the names that :mod:`kvopt.api` does not define.
_HOMES = {"Instance": "instances", "Result": "kvopt.result", "Schedule": "schedules"}


def __getattr__(name: str) -> object:
    from importlib import import_module

    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    if name == "__version__":
        value: object = _version()
    else:
        value = getattr(import_module(_HOMES.get(name, "kvopt.api")), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__


def _version() -> str:
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version("kvopt")
    except PackageNotFoundError:
        return "unknown"  # a checkout that is not installed
