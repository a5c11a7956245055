"""The formulas of the reports against arithmetic by hand."""

import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reports.formulas import (
    counted_seconds,
    integrate,
    performance_ratios,
    primal_dual_steps,
    primal_steps,
    profile,
    ratio_interval,
    shifted_geometric_mean,
)


def _points(*points: tuple[int, float, float]) -> pd.DataFrame:
    return pd.DataFrame(points, columns=["run", "seconds", "value"])


def test_ratio_interval() -> None:
    """The interval is [TEL / UB, TEL / LB]; an unknown or zero bound leaves an end open."""
    tel = pd.Series([300, 300, 300], dtype="Int64")
    found = ratio_interval(
        tel, pd.Series([100, None, 0], dtype="Int64"), pd.Series([200, 150, None], dtype="Int64")
    )
    # 300 / 200 and 300 / 100; then 300 / 150 and no LB; then no UB, and an LB of 0 says nothing.
    assert found.iloc[0].to_list() == [1.5, 3.0]
    assert found.loc[1, "low"] == 2.0
    assert found.isna().to_numpy().tolist() == [[False, False], [False, True], [True, True]]


def test_shifted_geometric_mean() -> None:
    """The mean of 0, 3 and 15 with shift 1 is the cube root of 1 · 4 · 16 = 64, less 1."""
    assert shifted_geometric_mean(pd.Series([0.0, 3.0, 15.0]), shift=1) == pytest.approx(3.0)
    assert math.isnan(shifted_geometric_mean(pd.Series([], dtype=float)))


def test_unsolved_runs_count_with_their_limit() -> None:
    """A crash after 0.1 s and a run that was stopped late both count as 10 s; a proof as it is."""
    seconds = pd.Series([0.1, 10.4, 2.0, 10.2])
    solved = pd.Series([False, False, True, True])
    assert counted_seconds(seconds, solved, pd.Series([10.0] * 4)).tolist() == [10, 10, 2, 10]


def test_primal_integral() -> None:
    """Runs are integrated apart; one without a schedule has gap 1 throughout."""
    points = _points((1, 1.0, 100), (3, 0.0, 200), (7, 6.0, 100), (7, 2.0, 200))
    steps = primal_steps(points, pd.Series(100, [1, 2, 3, 7]))
    found = integrate(steps, pd.Series({1: 10.0, 2: 5.0, 3: 4.0, 7: 10.0}))
    # 1 s without schedule, then optimal; 5 s without; gap (200 - 100) / 200 for 4 s; and 2 s
    # without, 1/2 for 4 s, then optimal.
    assert found.to_dict() == pytest.approx({1: 1.0, 2: 5.0, 3: 2.0, 7: 4.0})


def test_primal_dual_integral() -> None:
    """Gap 1 until both sides are there, then (UB - LB) / UB of the run itself."""
    incumbents = _points((1, 1.0, 200), (1, 5.0, 100))
    bounds = _points((1, 2.0, 50), (1, 8.0, 100))
    found = integrate(primal_dual_steps(incumbents, bounds), pd.Series({1: 10.0}))
    # 2 s of 1; 3 s of 150/200; 3 s of 50/100; closed for 2 s.
    assert found[1] == pytest.approx(2 + 3 * 0.75 + 3 * 0.5)


def test_profile() -> None:
    """Ratios to the best and ρ(τ) of two methods on three instances, one of them failed."""
    costs = pd.DataFrame({"a": [10.0, 20.0, np.nan], "b": [20.0, 10.0, 5.0]})
    ratios = performance_ratios(costs)
    assert ratios["a"].tolist() == [1.0, 2.0, np.inf]
    found = profile(ratios, (1.0, 2.0, 1000.0))
    # a is the best on one of three, within a factor of 2 on two, and never on the third.
    assert found["a"].tolist() == pytest.approx([1 / 3, 2 / 3, 2 / 3])
    assert found["b"].tolist() == pytest.approx([2 / 3, 1.0, 1.0])


@settings(deadline=None, max_examples=50)
@given(st.lists(st.floats(0, 1e6), min_size=1, max_size=30), st.floats(0.01, 100))
def test_shifted_mean_is_between_least_and_largest(values: list[float], shift: float) -> None:
    """It is a mean: within the range of its values, whatever the shift."""
    found = shifted_geometric_mean(pd.Series(values), shift)
    assert min(values) - 1e-6 <= found <= max(values) * (1 + 1e-9) + 1e-6


@settings(deadline=None, max_examples=50)
@given(st.lists(st.tuples(st.floats(0, 20), st.integers(100, 1000)), max_size=12))
def test_primal_integral_is_between_zero_and_the_limit(trace: list[tuple[float, int]]) -> None:
    """It is at least the time to the first schedule and at most T; it ignores the order given."""
    points = pd.DataFrame(
        [(1, *point) for point in trace], columns=["run", "seconds", "value"]
    ).astype({"run": int, "seconds": float, "value": float})
    horizon = pd.Series({1: 10.0})
    found = integrate(primal_steps(points, pd.Series({1: 100})), horizon)[1]
    first = min((seconds for seconds, _ in trace), default=10.0)
    assert min(first, 10.0) - 1e-9 <= found <= 10.0 + 1e-9
    turned = integrate(primal_steps(points.iloc[::-1], pd.Series({1: 100})), horizon)[1]
    assert turned == pytest.approx(found)


@settings(deadline=None, max_examples=50)
@given(
    st.lists(st.tuples(*[st.one_of(st.none(), st.floats(0.1, 1e3))] * 3), min_size=1, max_size=8)
)
def test_profiles_rise_to_the_share_that_was_solved(costs: list[tuple[float | None, ...]]) -> None:
    """ρ never falls, ends at the solved share, and at τ = 1 somebody is the best somewhere."""
    table = pd.DataFrame(costs, columns=["a", "b", "c"], dtype=float)
    found = profile(performance_ratios(table), (1.0, 1.5, 3.0, 1e9))
    assert (found.diff().dropna() >= 0).all(axis=None)
    assert np.allclose(found.iloc[-1], table.notna().mean())
    assert found.iloc[0].sum() >= table.notna().any(axis=1).mean() - 1e-12


def test_worse_schedules_and_points_after_the_limit_change_nothing() -> None:
    """Only improvements within the limit count."""
    steps = primal_steps(_points((1, 1.0, 100), (1, 2.0, 400), (1, 11.0, 50)), pd.Series({1: 100}))
    assert integrate(steps, pd.Series({1: 10.0}))[1] == pytest.approx(1.0)


def test_instances_on_which_all_failed_stay_in_the_profile() -> None:
    """Dolan and Moré count over all problems: one of two solved by nobody leaves 1/2."""
    ratios = performance_ratios(pd.DataFrame({"a": [1.0, np.nan]}))
    assert profile(ratios, (1.0, 10.0))["a"].tolist() == [0.5, 0.5]
