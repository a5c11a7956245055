"""Declaration of an exact search."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from instances import Instance
from schedules.evidence import Argument

if TYPE_CHECKING:
    # A search without windows rests on none of their code (a contract of pyproject.toml).
    from formulations.valid.windows import Windows


@dataclass(frozen=True)
class ExactSearch:
    """An exact search, which ``kvopt.engines.search`` drives.

    Users ask for it by ``name``.  ``size`` is the number of table entries, ``entry_bytes`` what one
    takes with all tables, ``argument`` by what it proves an optimum.  ``options`` is a dataclass of
    what can be set, each field with its meaning as an annotation; ``source`` is paper and
    equations, empty for one of our own.
    """

    kind: ClassVar[Literal["search"]] = "search"

    name: str
    size: Callable[[Instance, Windows], int]
    entry_bytes: int
    requests_up_to: int
    argument: Argument
    options: type[Any] | None = None
    source: str = ""
