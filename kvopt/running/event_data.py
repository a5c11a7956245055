"""What the data of each kind of event must look like; nothing else comes through the pipe.

The kinds are described in ``kvopt.running.job``.  An event comes from a process that may run
anybody's code, so every field is checked before the parent looks at it.
"""

from __future__ import annotations

import json
from functools import cache
from typing import Annotated, Any, Literal, NotRequired

from pydantic import Field, TypeAdapter, ValidationError
from typing_extensions import TypedDict

Whole = Annotated[int, Field(strict=True)]
Count = Annotated[int, Field(strict=True, ge=0)]
#: NaN and the infinities are JSON to Python's reader, but no number of seconds or rounds.
Real = Annotated[float, Field(allow_inf_nan=False)]


class _Nothing(TypedDict):
    pass


class _Text(TypedDict):
    text: str


class _Error(_Text):
    # What an end without a result can be; what a result is worth is not for a process to say.
    outcome: NotRequired[Literal["no_solution", "time_limit", "memory_limit", "error"]]


class _Built(TypedDict):
    columns: Count
    rows: Count
    entries: Count


class _Schedule(TypedDict):
    starts: list[Whole]
    found_by: NotRequired[str]
    attempts: NotRequired[list[list[tuple[Whole, Whole]]]]
    kept: NotRequired[list[list[Whole]]]


class _Bound(TypedDict):
    value: Whole
    source: str
    certificate: NotRequired[dict[str, Any]]


class _Certificate(TypedDict):
    document: dict[str, Any]


class _Relaxation(TypedDict):
    value: Real
    expected_starts: NotRequired[list[Real]]


class _Advice(TypedDict):
    expected_starts: list[Real]


class _Done(TypedDict):
    solver: str
    nodes: Count | None
    outcome: NotRequired[str]
    solver_seconds: NotRequired[Real | None]
    ending: NotRequired[Literal["finished", "time_limit", "memory_limit", "crashed"]]


class _Peak(TypedDict):
    bytes: Count


_SHAPES: dict[str, Any] = {
    "compiling": _Nothing,
    "ready": _Nothing,
    "chosen": _Text,
    "built": _Built,
    "schedule": _Schedule,
    "bound": _Bound,
    "certificate": _Certificate,
    "relaxation": _Relaxation,
    "advice": _Advice,
    "note": _Text,
    "refused": _Text,
    "too_large": _Text,
    "unavailable": _Text,
    "error": _Error,
    "done": _Done,
    "peak": _Peak,
}
_SECONDS: TypeAdapter[float] = TypeAdapter(Real)


def read_event(line: bytes) -> tuple[str, float, dict[str, Any]] | None:
    """Return kind, seconds and data of an event, None where a line is none."""
    try:
        record = json.loads(line)
        kind = record["kind"]
        data = _adapter(kind).validate_python(record["data"])
        seconds = _SECONDS.validate_python(record["seconds"])
    except (ValueError, KeyError, TypeError, RecursionError, ValidationError):
        return None
    return kind, seconds, data


@cache
def _adapter(kind: str) -> TypeAdapter[Any]:
    return TypeAdapter(_SHAPES[kind])
