"""What integer programs share: sums as Pyomo builds them fastest."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def weighted(coefficients: Mapping[Any, float], variables: Any) -> Any:
    """Return Σ coefficient · variable over the indices of the coefficients."""
    from pyomo.core.expr.numeric_expr import LinearExpression

    # No tree of products, which takes half as long again.
    return LinearExpression(
        linear_coefs=list(coefficients.values()),
        linear_vars=[variables[index] for index in coefficients],
    )
