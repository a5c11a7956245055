"""Time limit for building a model.

All models use it, so that models of two kinds still share no code.
"""

import math
import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_UNTIL: ContextVar[float] = ContextVar("until", default=math.inf)


class NotBuiltError(Exception):
    """The time for building a model is over."""


@contextmanager
def limit_building(moment: float) -> Iterator[None]:
    """Limit the building within to a moment (``time.monotonic``)."""
    token = _UNTIL.set(moment)
    try:
        yield
    finally:
        _UNTIL.reset(token)


def check_build_time() -> None:
    """Raise :class:`NotBuiltError` where the time for building is over."""
    if time.monotonic() > _UNTIL.get():
        raise NotBuiltError("the time was too short to build the model")
