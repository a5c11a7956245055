"""The declaration of an integer program, for every engine that takes one."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from formulations.valid.windows import Windows
from instances import Instance
from support.build_limit import check_build_time

#: A Pyomo model; Pyomo ships no types.
Model = Any


@dataclass(frozen=True)
class IntegerProgram:
    """A Pyomo model, for HiGHS, for every other solver that Pyomo knows, and for export.

    Users type its ``name``.  ``build`` returns the unsolved model of an instance on start windows.
    It has the start variables ``x[i, t]`` (request i starts at round t), the memory rows
    ``memory[t]``, whose duals are the prices of memory, and the objective ``tel``.  ``size`` is the
    number of matrix entries; ``set_starts`` gives every variable the value of a schedule.
    ``build`` takes an object of the dataclass ``options``, if any, whose fields have their meaning
    as an annotation.  ``source`` is paper and equations, empty if ours.

    ``strengthens`` is the program of the same name, which is built where no option is on.  It has a
    separate file, since a proof rests on the code: the plain program shares none with a CP-SAT
    model, the strengthened one does.
    """

    kind: ClassVar[Literal["mip"]] = "mip"

    name: str
    build: Callable[..., Model]
    size: Callable[[Instance, Windows], int]
    set_starts: Callable[[Model, Instance, Sequence[int]], None]
    options: type[Any] | None = None
    source: str = ""
    strengthens: IntegerProgram | None = None


def weighted(coefficients: Mapping[Any, float], variables: Any, *more: tuple[float, Any]) -> Any:
    """Return Σ coefficient · variable over the indices of the coefficients, and over ``more``.

    Every row is such a sum, so each looks at the clock.
    """
    check_build_time()
    from pyomo.core.expr.numeric_expr import LinearExpression

    # No tree of products, which takes half as long again; nor a sum of sums, which copies them.
    return LinearExpression(
        linear_coefs=[*coefficients.values(), *(coefficient for coefficient, _ in more)],
        linear_vars=[
            *(variables[index] for index in coefficients),
            *(variable for _, variable in more),
        ],
    )
