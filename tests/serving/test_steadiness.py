"""Steady runs and bursts, from timelines made by hand: one arrival a second unless said."""

from dataclasses import replace

import numpy as np
import pytest

from schedules.clock.timeline import Timeline
from serving.sustained_runs import behind_warm_up, steadiness
from tests.schedules.clock.test_timeline import with_kept_tokens

SECOND = 10**9


def _made(served: list[float], gap: float = 1.0) -> Timeline:
    """Return a timeline with a request a gap, each served at once and so long (seconds)."""
    n = len(served)
    arrivals = (np.arange(n) * gap * SECOND).astype(np.int64)
    ends = arrivals + (np.array(served) * SECOND).astype(np.int64)
    ones = np.ones(n, dtype=np.int64)
    made = replace(with_kept_tokens(), arrivals=arrivals, begins=arrivals)
    made = replace(made, first_tokens=ends, completions=ends, evictions=ones, recomputed=ones)
    return replace(made, prompts=ones, outputs=ones)


@pytest.mark.parametrize(
    ("served", "gap", "sustained"),
    [
        # A backlog of 4 in both halves of 100 s, 25 times in service.
        (300 * [4.0], 1.0, True),
        # The k-th is served k / 10 s: a request is completed every 1.1 s; 5 times in service.
        ([4 + k / 10 for k in range(300)], 1.0, None),
        # One every 1.03 s; halves of 1000 s, 20.4 times the mean time in service of 49 s.
        ([4 + 3 * k / 100 for k in range(3000)], 1.0, False),
        # Behind 2 %: a request every 1.01 s.
        ([4 + k / 100 for k in range(300)], 1.0, True),
        # Three seconds of arrivals, four in service.
        (300 * [4.0], 0.01, None),
        # A half of less than five times in service, 100 / 21.
        (300 * [21.0], 1.0, None),
        (2 * [1.0], 1.0, None),
        (300 * [4.0], 0.0, None),
    ],
)
def test_what_is_sustained(served: list[float], gap: float, sustained: bool | None) -> None:
    """Throughput follows the arrivals, the backlog does not grow, and the halves are long."""
    found = steadiness(_made(served, gap))
    assert found.sustained(1.0, 1.0) is sustained
    # Above a rate that is proved none is sustained; where no request waits there is no backlog.
    assert found.sustained(1.1, 1.0) is False
    assert found.sustained(1.0, 1.0, waits=False) is (True if found.lengths >= 5 else None)


def test_a_backlog_may_grow_while_throughput_follows() -> None:
    """In the second half are some 9 requests against 4, more than 2 and 2 by chance."""
    served = 200 * [4.0] + 100 * [9.0]
    found = steadiness(_made(served))
    assert found.grows
    # Those of seconds 97 to 199 and 200 to 290: 6 of 200 stay behind, 4 and 4 by chance may.
    assert found.throughput == pytest.approx((103 + 91) / 199)


def test_the_numbers_behind_the_warm_up() -> None:
    """The first third is left out of what is shown, whatever order the requests stand in."""
    served = 10 * [100.0] + 20 * [1.0]
    whole = _made(served)
    shuffled = np.random.default_rng(1).permutation(30)
    names = ("arrivals", "begins", "first_tokens", "completions")
    mixed = replace(whole, **{name: getattr(whole, name)[shuffled] for name in names})
    for each in (whole, mixed):
        assert set(behind_warm_up(each).latencies.tolist()) == {SECOND}
    # All that arrive by the 28th second are complete at the end of the 29th; two tokens of each.
    found = steadiness(replace(mixed, outputs=2 * mixed.outputs))
    assert found.output_throughput == 2 * found.throughput == pytest.approx(2 * 19 / 19)
