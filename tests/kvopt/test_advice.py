"""The LP relaxation that some policies are advised by, listed or by column generation."""

import json

import pytest

from instances import Instance, Request
from instances.families import mix80_20_lognormal
from kvopt.runs.advice import choose_relaxation_method
from kvopt.runs.execute import execute
from tests.kvopt.sweep_tools import in_fork, task_of

MIXED = Instance(
    "mixed", 12, tuple(Request(i, i // 6, 1 + i % 4, 2 + i % 5) for i in range(30)), family="test"
)

#: Run in a process of its own, which loads HiGHS: starts of all columns listed, and generated.
_TWO_WAYS = """
import json, math
from kvopt.runs import advice
from tests.kvopt.sweep_tools import task_of
from tests.kvopt.test_advice import MIXED

found = []
for advice.LISTED_UP_TO in (10**9, 0):
    found.append(advice.expected_starts(task_of(MIXED, "sorted-lp"), math.inf).tolist())
print(json.dumps(found))
"""


def test_column_generation_has_nearly_the_optimum_of_the_listed_relaxation() -> None:
    """On a grid with a knot in each round sums of starts nearly agree; none is too early."""
    listed, generated = json.loads(in_fork(_TWO_WAYS))
    assert sum(generated) == pytest.approx(sum(listed), rel=5e-3)
    for starts in (listed, generated):
        for start, request in zip(starts, MIXED.requests, strict=True):
            assert start >= request.arrival - 1e-6


@pytest.mark.slow("waits")
def test_a_large_instance_is_advised_in_time() -> None:
    """1,000 requests like those of a trace: their LP has too many columns to list them."""
    instance = mix80_20_lognormal.generate(n=1_000)
    assert choose_relaxation_method(instance).text == "bound:bound-lp"
    assert choose_relaxation_method(MIXED).text == "highs:ilp-sparse(relaxed=yes)"
    record = execute(task_of(instance, "sorted-lp", time_limit=60)).record
    assert (record.status, record.detail) == ("feasible", "")
    # In the order of their volumes 654,271.
    assert record.tel is not None
    assert record.tel < 650_000
