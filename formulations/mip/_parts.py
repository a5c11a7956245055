"""What integer programs share: sums as Pyomo builds them fastest, and a look at the clock."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

_UNTIL: ContextVar[float] = ContextVar("until", default=math.inf)


class NotBuiltError(Exception):
    """The time for building a model is over."""


@contextmanager
def built_until(moment: float) -> Iterator[None]:
    """Have rows that are built here after a moment (``time.monotonic``) raise `NotBuiltError`."""
    token = _UNTIL.set(moment)
    try:
        yield
    finally:
        _UNTIL.reset(token)


def look_at_the_clock() -> None:
    """Give up where the time for building is over.

    Raises
    ------
    NotBuiltError
        Then.
    """
    if time.monotonic() > _UNTIL.get():
        raise NotBuiltError


def weighted(coefficients: Mapping[Any, float], variables: Any, *more: tuple[float, Any]) -> Any:
    """Return Σ coefficient · variable over the indices of the coefficients, and over ``more``.

    Every row is such a sum, so each looks at the clock.
    """
    look_at_the_clock()
    from pyomo.core.expr.numeric_expr import LinearExpression

    # No tree of products, which takes half as long again; nor a sum of sums, which copies them.
    return LinearExpression(
        linear_coefs=[*coefficients.values(), *(coefficient for coefficient, _ in more)],
        linear_vars=[
            *(variables[index] for index in coefficients),
            *(variable for _, variable in more),
        ],
    )
