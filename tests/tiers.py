"""Two tiers of tests: the quick one, which README's command runs, and the one of ``-m slow``."""

from collections.abc import Callable, Iterable
from typing import Any

import pytest
from _pytest.mark.structures import ParameterSet

#: Why a test is slow, as ``pytest.mark.slow`` and the helpers below take it.
KINDS = {
    "compiles": "kernels are compiled anew, for up to a minute",
    "repeats": "more draws, formulations or damages of what a quick test has a few of",
    "waits": "a limit on time, a kill or a loss has to be waited for",
    "walks": "a whole session: sweep and report, pages in a browser, wheel, notebook, cluster",
}


def a_few(values: Iterable[Any], quick: int, kind: str = "repeats") -> list[ParameterSet]:
    """Return parameters of which the first are quick; a tuple is one value for each argument."""
    return _marked(values, lambda position: position < quick, kind)


def spread(values: Iterable[Any], every: int) -> list[ParameterSet]:
    """Return parameters of which every so many is quick; a tuple is one value for each argument."""
    return _marked(values, lambda position: position % every == 0, "repeats")


def _marked(
    values: Iterable[Any], is_quick: Callable[[int], bool], kind: str
) -> list[ParameterSet]:
    return [
        pytest.param(
            *(value if isinstance(value, tuple) else (value,)),
            marks=() if is_quick(position) else pytest.mark.slow(kind),
        )
        for position, value in enumerate(values)
    ]


def in_two(values: Iterable[Any], every: int) -> list[ParameterSet]:
    """Return two parameters for what is solved in one batch: every so many values, and the rest."""
    listed = list(values)
    rest = [value for position, value in enumerate(listed) if position % every]
    return [
        pytest.param(listed[::every], id="some"),
        pytest.param(rest, id="rest", marks=pytest.mark.slow("repeats")),
    ]


def unknown_kinds(items: Iterable[pytest.Item]) -> list[str]:
    """Return the tests that are slow for no reason that is listed."""
    return [
        item.nodeid
        for item in items
        for mark in item.iter_markers("slow")
        if mark.kwargs or len(mark.args) != 1 or mark.args[0] not in KINDS
    ]
