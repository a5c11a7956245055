"""Numbers of a trace are exact: whole lengths and whole nanoseconds, against fractions."""

import itertools
from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from instances.arrivals import as_rounds, as_seconds, draw_times
from instances.batch_time import NANOSECONDS
from instances.families.draws import Draws
from instances.instance import MAX_TOKENS
from serving.traces.exact_times import TOO_LONG, exact, nanoseconds, whole


@given(st.integers(-10, 10**12))
def test_whole_lengths_however_written(length: int) -> None:
    """As an integer, with a point, and with an exponent; cut at the ends of the range."""
    expected = -1 if length < 0 else min(length, TOO_LONG)
    written = (length, str(length), f"{length}.0", f"{length}e0", float(length), f" {length} ")
    assert {whole(each) for each in written} == {expected}


@pytest.mark.parametrize(
    "value",
    [
        *("", "x", "2.5", "1_0", "0x10", "nan", "inf", "1e", "١", "5" * 101),
        *(None, True, [], 2.5, float("nan"), float("inf")),
    ],
)
def test_no_whole_lengths(value: object) -> None:
    """Among them what Python itself would take for a number."""
    assert whole(value) is None


def test_huge_lengths_fit_nowhere() -> None:
    """Whatever their digits, they become one value above every memory."""
    for value in ("9" * 16, "9" * 99, "1e9999", 10**30, 1e300):
        assert whole(value) == TOO_LONG > MAX_TOKENS


# A tie in the first thirteen digits that the twenty-eighth decides.
@example(Decimal("772.4737503965000000000000000001"))
@given(st.decimals(0, 4 * 10**9, allow_nan=False, places=12))
def test_times_are_the_nearest_nanosecond(time: Decimal) -> None:
    """By the decimal digits, where a double would be off by a ten-millionth of a second."""
    # Python rounds fractions exactly, ties to even.
    assert nanoseconds(format(time, "f"), NANOSECONDS) == round(Fraction(time) * NANOSECONDS)


@given(st.lists(st.integers(0, 2**22 * NANOSECONDS)))
def test_seconds_give_the_nanosecond_back(times: list[int]) -> None:
    """Up to 48 days, and whole seconds are integers."""
    seconds = as_seconds(times)
    assert [round(each * NANOSECONDS) for each in seconds] == times
    for each, time in zip(seconds, times, strict=True):
        assert isinstance(each, int) == (time % NANOSECONDS == 0)


@given(st.lists(st.integers(0, 10**15)), st.integers(1, 10**12))
def test_rounds_begin_at_or_after(times: list[int], length: int) -> None:
    """The first such round: it begins no earlier than the time, the one before it does."""
    for time, found in zip(times, as_rounds(times, length), strict=True):
        assert found * length >= time > (found - 1) * length


@pytest.mark.parametrize("value", ["-1", -1, -0.5, "4000000001", 10**30, "1e9999"])
def test_times_out_of_range(value: object) -> None:
    with pytest.raises(OverflowError):
        nanoseconds(value, NANOSECONDS)


def test_exact_is_what_is_written() -> None:
    """A float is the shortest text that gives it."""
    assert exact(0.1) == Decimal("0.1")
    assert exact("1e-3") == Decimal("0.001")
    assert exact("1e99999") is None


@pytest.mark.parametrize("cv", [0.5, 1.0, 3.0])
def test_gaps_have_mean_and_variation(cv: float) -> None:
    """Of 20,000 gaps at 4 a second: mean 0.25 s, deviation cv times that, within 5 deviations."""
    # The mean's deviation is 0.25·cv/√n; of the variance of a gamma with excess kurtosis 6·cv² the
    # relative deviation is √((2 + 6·cv²)/n).
    n = 20_001
    times = draw_times(Draws(1), n, 4.0, cv)
    gaps = [(late - early) / NANOSECONDS for early, late in itertools.pairwise(times)]
    assert (times[0], len(times)) == (0, n)
    assert min(gaps) >= 0
    mean = sum(gaps) / len(gaps)
    variance = sum((gap - mean) ** 2 for gap in gaps) / len(gaps)
    assert mean == pytest.approx(0.25, abs=5 * 0.25 * cv / n**0.5)
    assert variance == pytest.approx((0.25 * cv) ** 2, rel=5 * ((2 + 6 * cv**2) / n) ** 0.5)


def test_times_end_within_the_range() -> None:
    """A hundred arrivals that come once in thirty years."""
    with pytest.raises(ValueError, match="rate: expected arrivals within 146 years, found 1e-09"):
        draw_times(Draws(0), 100, 1e-9)
