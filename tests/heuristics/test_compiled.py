"""Kernels that only fill arrays: compiled without the runtime that counts references."""

import inspect
import types
from typing import Any

import numpy as np
import pytest
from numba import njit
from numba.core.errors import TypingError

import heuristics.kernel_compiler
from heuristics import annealing, gap_filling
from heuristics.kernel_compiler import compiled, filling_kernel, kernel

PAIR = (np.arange(5), np.arange(5, 10))


def parts(pair: Any) -> int:
    """A kernel: the products of all parts of two arrays that go to their ends."""
    one, other = pair
    total = 0
    for k in range(len(one)):
        mine, its = one[k:], other[k:]
        for j in range(len(mine)):
            total += mine[j] * its[j]
    return total


@pytest.mark.parametrize(("mark", "counts"), [(kernel, True), (filling_kernel, False)])
def test_filling_kernels_count_no_references(mark: Any, counts: bool) -> None:
    """The same function with and without the runtime, and the same numbers."""
    marked = mark(types.FunctionType(parts.__code__, globals()))
    found = njit(**heuristics.kernel_compiler._options(marked))(marked)
    assert found(PAIR) == parts(PAIR) == sum(int(PAIR[0][k:] @ PAIR[1][k:]) for k in range(5))
    assert ("NRT_decref" in "".join(found.inspect_asm().values())) == counts


def test_all_kernels_of_the_local_search_are_such() -> None:
    """One that is not would bring the counting back into those that call it."""
    both = [*vars(annealing).values(), *vars(gap_filling).values()]
    names = (annealing.__name__, gap_filling.__name__)
    own = [each for each in both if inspect.isfunction(each) and each.__module__ in names]
    assert len(own) > 20
    assert set(own) <= heuristics.kernel_compiler._filling


def test_a_filling_kernel_that_makes_an_array_does_not_compile() -> None:
    """As it stands it runs."""

    @filling_kernel
    def doubled(values: Any) -> int:
        both = np.zeros(len(values), np.int64)
        both[:] = 2 * values
        return int(both.sum())

    assert doubled(PAIR[0]) == 20
    with pytest.raises(TypingError, match="pipeline"):
        compiled(doubled)(PAIR[0])
