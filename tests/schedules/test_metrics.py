"""The metrics of a schedule by hand and by adding up every token, and the one formula of gaps."""

import dataclasses
import re

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from instances import Instance, Request
from kvopt.project_paths import PACKAGES
from schedules import Schedule, make_schedule
from schedules.gap import gap, gaps
from schedules.schedule_metrics import makespan, mean_memory, memory_profile
from tests.docs.pages import ROOT

# Request 0 holds 3, 4, 5 at times 1, 2, 3; request 1, started at 4, holds 2, 3 at times 5, 6; its
# attempt (1, 1) holds 2 at time 2.
PAIR = Instance(name="pair", memory=8, requests=(Request(0, 0, 2, 3), Request(1, 1, 1, 2)))
SCHEDULE = make_schedule(PAIR, [0, 4], "test", attempts=[[], [(1, 1)]])


def test_metrics_by_hand() -> None:
    """Each number of a two-request schedule with one cancelled attempt."""
    assert makespan(PAIR, SCHEDULE) == 6
    # Held at times 1..6: 3, 4 + 2, 5, 0, 2, 3.
    assert max(memory_profile(PAIR, SCHEDULE).tokens) == 6
    assert mean_memory(PAIR, SCHEDULE) == pytest.approx(19 / 6)


def test_breakpoints_do_not_grow_with_the_horizon() -> None:
    """A request of a billion tokens has four breakpoints, idle time before it included."""
    instance = Instance(name="long", memory=10**9, requests=(Request(0, 10**6, 7, 10**8),))
    profile = memory_profile(instance, make_schedule(instance, [10**12], "test"))
    assert profile.times == (0, 10**12, 10**12 + 1, 10**12 + 10**8)
    assert profile.tokens == (0, 0, 8, 7 + 10**8)


def test_a_schedule_of_another_shape_is_refused() -> None:
    """A count that differs raises ValueError instead of a number."""
    single = dataclasses.replace(SCHEDULE, starts=(0,))
    for metric in (makespan, mean_memory, memory_profile):
        with pytest.raises(ValueError, match="expected 2 starts, one per request, found 1"):
            metric(PAIR, single)


@st.composite
def schedules(draw: st.DrawFn) -> tuple[Instance, Schedule]:
    """Draw requests with random starts and attempts; whether they fit does not matter."""
    requests, starts, attempts = [], [], []
    for k in range(draw(st.integers(1, 6))):
        output = draw(st.integers(1, 9))
        requests.append(Request(k, 0, draw(st.integers(0, 5)), output))
        tried = st.tuples(st.integers(0, 5), st.integers(1, max(1, output - 1)))
        mine = draw(st.lists(tried, max_size=2)) if output > 1 else []
        attempts.append(mine)
        starts.append(max([b + g for b, g in mine], default=0) + draw(st.integers(0, 20)))
    instance = Instance(name="drawn", memory=100, requests=tuple(requests))
    return instance, make_schedule(instance, starts, "random", attempts=attempts)


@settings(max_examples=200, deadline=None)
@given(schedules())
def test_profile_peak_and_mean_equal_brute_force(drawn: tuple[Instance, Schedule]) -> None:
    """Interpolation between the breakpoints gives the tokens held at every integer time."""
    instance, schedule = drawn
    end = makespan(instance, schedule)
    held = [0] * (end + 1)
    for k, request in enumerate(instance.requests):
        tried = schedule.attempts[k] if schedule.attempts else ()
        for start, tokens in (*tried, (schedule.starts[k], request.output)):
            for j in range(1, tokens + 1):
                held[start + j] += request.prompt + j
    profile = memory_profile(instance, schedule)
    assert (list(profile.times), profile.times[-1]) == (sorted(set(profile.times)), end)
    assert np.interp(range(end + 1), profile.times, profile.tokens).tolist() == held
    assert max(profile.tokens) == max(held)
    assert mean_memory(instance, schedule) == pytest.approx(sum(held) / end)


#: (a - b) / a in the code, whatever a and b are.
_FORMULA = re.compile(r"\(\s*([\w.]+) - [^()]{1,40}\) / \1\b")


def test_numbers_and_columns_agree() -> None:
    """(200 − 150) / 200 = 1/4; none; −1/2 below the reference; 0 has none; what is missing, too."""
    values, references = [200, 100, 100, 0], [150, 100, 150, 0]
    assert list(map(gap, values, references)) == [0.25, 0, -0.5, 0]
    found = gaps(pd.Series(values), pd.Series(references))
    assert found[:3].tolist() == pytest.approx([0.25, 0, -0.5])
    assert found[3:].isna().all()
    assert gaps(pd.Series([None, 5], dtype="Int64"), pd.Series([1, None])).isna().all()


def test_the_formula_stands_in_one_place() -> None:
    """No other source of the project divides a difference by its first term."""
    places = [
        path.relative_to(ROOT).as_posix()
        for name in PACKAGES
        for path in (ROOT / name).rglob("*.py")
        if _FORMULA.search(path.read_text(encoding="utf-8"))
    ]
    assert sorted(places) == ["reports/formulas.py", "schedules/gap.py"]
    assert _FORMULA.search("100 * (row.tel - bound) / row.tel")
