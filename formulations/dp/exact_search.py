"""Declaration of an exact search."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from instances import Instance
from schedules.evidence import ProofArgument

if TYPE_CHECKING:
    # A search without windows rests on none of their code (a contract of pyproject.toml).
    from formulations.valid.windows import Windows


@dataclass(frozen=True)
class ExactSearch:
    """An exact search, which ``kvopt.engines.search`` drives; users type its ``name``.

    ``size`` is the number of table entries, ``entry_bytes`` the bytes of one with all tables,
    ``argument`` its proof of an optimum.  Fields of the dataclass ``options`` have their meaning as
    an annotation; ``source`` is paper and equations, empty if ours.
    """

    kind: ClassVar[Literal["search"]] = "search"

    name: str
    size: Callable[[Instance, Windows], int]
    entry_bytes: int
    requests_up_to: int
    argument: ProofArgument
    options: type[Any] | None = None
    source: str = ""
