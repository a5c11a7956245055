"""Sums of integer programs, as Pyomo builds them fastest."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from support.clock import look_at_the_clock


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
