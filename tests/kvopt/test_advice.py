"""The relaxation that some policies are advised by, on a short grid first."""

from __future__ import annotations

import json

import pytest

from formulations.mip import lp_bucketed
from instances import Instance, Request
from tests.kvopt.sweep_tools import in_python

#: Of 114 rounds for the double volume; buckets of two rounds, with 55 columns for each request.
MIXED = Instance(
    "mixed", 12, tuple(Request(i, i // 6, 1 + i % 4, 2 + i % 5) for i in range(30)), family="test"
)


#: Run in a process of its own, which loads HiGHS: the settings that were tried, objectives and
#: starts, where the grid holds the volume, where it holds a third of it, and where it is whole.
_THREE_WAYS = """
import json, math
from functools import partial
from formulations.mip import lp_bucketed
from kvopt.running import advice
from tests.kvopt.sweep_tools import task_of
from tests.kvopt.test_advice import MIXED

lp_bucketed.COLUMNS = 1650
advice.FULL_RELAXATION_UP_TO = 0
grid, solved, tried = lp_bucketed.grid, advice._solved, []

def noting(name, settings, *more):
    starts, objective = solved(name, settings, *more)
    tried.append([settings, objective])
    return starts, objective

def too_short(instance, *, short=False):
    length, buckets = grid(instance, short=short)
    return length, buckets // 4 if short else buckets

def whole(instance, *, short=False):
    return grid(instance)

advice._solved = noting
found = []
for lp_bucketed.grid in (grid, too_short, whole):
    tried.clear()
    starts = advice.expected_starts(task_of(MIXED, "sorted-lp"), math.inf)
    found.append([list(tried), starts.tolist()])
print(json.dumps(found))
"""


def test_a_short_grid_has_the_optimum_of_the_whole_one() -> None:
    """Where all completes on it, its optimum is that of the whole; else the whole is solved."""
    short, too_short, whole = json.loads(in_python(_THREE_WAYS).splitlines()[-1])
    (whole_try,) = whole[0]
    assert whole_try[0] == {"short": True}
    (short_try,) = short[0]
    assert short_try[1] == pytest.approx(whole_try[1], rel=1e-6)
    assert sum(short[1]) == pytest.approx(sum(whole[1]), rel=1e-5)
    first, second = too_short[0]
    # A relaxation is no dearer, and here it is cheaper: so it was not taken.
    assert first[1] < 0.999 * whole_try[1]
    assert (second[0], second[1]) == ({}, pytest.approx(whole_try[1], rel=1e-6))
    assert sum(too_short[1]) == pytest.approx(sum(whole[1]), rel=1e-5)


def test_a_short_grid_is_shorter_in_the_same_buckets() -> None:
    """The last arrival, 4, the longest output, 6, and the volume once in place of twice."""
    volume = sum(request.volume for request in MIXED.requests)
    length, buckets = lp_bucketed.grid(MIXED)
    assert buckets - 1 == -(-(10 + 2 * volume // 12) // length)
    assert lp_bucketed.grid(MIXED, short=True) == (length, -(-(10 + volume // 12) // length) + 1)
