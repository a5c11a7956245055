"""Every serving metric by its definition, from numbers worked out by hand."""

import numpy as np
import pytest

from schedules.clock.timeline import make_timeline
from schedules.schedule import Clock
from serving.metrics import METRICS, good, goodput, latencies, percentile, serving, tpots
from serving.slo import SERVER_SLO, Slo, SloError, read_slo
from support.project_root import ROOT
from tests.schedules.clock.test_timeline import in_seconds, scheduled, with_kept_tokens

MS = 10**6


def _spread(name: str, *values: float) -> dict[str, float]:
    """Return the mean, p50, p90 and p99 of a latency (ms) by their names."""
    shares = ("mean", "p50", "p90", "p99")
    return {f"{share}_{name}_ms": value for share, value in zip(shares, values, strict=True)}


#: Metric and value; with the arithmetic.
EXPECTED = {
    # First tokens after 12 and 23 ms.
    **_spread("ttft", 17.5, 17.5, 12 + 0.9 * 11, 12 + 0.99 * 11),
    # (57 − 12) / 3 = 15 and (47 − 23) / 2 = 12.
    **_spread("tpot", 13.5, 13.5, 12 + 0.9 * 3, 12 + 0.99 * 3),
    # 10, 10, 11, 14, 24: places 2, 3.6 and 3.96.
    **_spread("itl", 69 / 5, 11.0, 14 + 0.6 * 10, 14 + 0.96 * 10),
    # 57 and 47.
    **_spread("e2el", 52.0, 52.0, 47 + 0.9 * 10, 47 + 0.99 * 10),
    # 57 / 4 and 47 / 3.
    "mean_normalized_ms": (57 / 4 + 47 / 3) / 2,
    # They first run at 0 and at 12 ms.
    "mean_delay_ms": 6.0,
    "duration_s": 0.057,
    "request_throughput": 2 / 0.057,
    # Both keep 2 s and 200 ms.
    "goodput": 2 / 0.057,
    # 4 + 3 output tokens, 2 + 1 prompt tokens.
    "output_throughput": 7 / 0.057,
    "total_token_throughput": 10 / 0.057,
    # Rounds of 12, 11, 10, 14, 10 ms; the first runs in all but the third.
    "mean_running": (12 + 22 + 10 + 28 + 10) / 57,
    "mean_waiting": (12 + 10) / 57,
    # Held at their ends: 3, 6, 3, 9, 6.
    "mean_tokens": (36 + 66 + 30 + 126 + 60) / 57,
    "peak_waiting": 1,
    "peak_tokens": 9,
    "evictions": 1,
    # The prompt of 2 and both kept tokens.
    "recomputed_tokens": 4,
}


def test_every_metric_by_hand() -> None:
    """Of the two requests above, as plain numbers, which can stand in a row or in JSON."""
    found = serving(with_kept_tokens())
    values = {name: getattr(found, name) for name in METRICS}
    assert values == pytest.approx(EXPECTED, rel=1e-12)
    assert {type(value) for value in values.values()} <= {int, float}


def test_the_duration_begins_with_the_first_arrival() -> None:
    """Arrival at 5 s, one token of 10 ms: 0.01 s, so 100 requests a second."""
    instance = in_seconds((5.0, 1, 1))
    clock = Clock("affine(base=10,token=0)", ((0, 5 * 10**9),))
    found = serving(make_timeline(instance, scheduled(instance, clock, (0,))))
    assert (found.duration_s, found.request_throughput) == (0.01, 100.0)
    # One token: there is nothing between tokens.
    spread = {name: getattr(found, name) for name in METRICS if "tpot" in name or "itl" in name}
    assert set(spread.values()) == {None}
    assert len(spread) == 8


def test_requests_of_one_token_have_no_tpot() -> None:
    """They are left out of its mean and percentiles, and keep every limit on it."""
    instance = in_seconds((0, 1, 1), (0, 1, 3))
    clock = Clock("affine(base=10,token=0)")
    found = make_timeline(instance, scheduled(instance, clock, (0, 0)))
    assert np.isnan(tpots(latencies(found))).tolist() == [True, False]
    assert serving(found).mean_tpot_ms == 10.0
    assert good(found, Slo(tpot=10 * MS - 1)).tolist() == [True, False]
    assert good(found, Slo(tpot=10 * MS)).tolist() == [True, True]
    # Times the tokens after the first it is more than 64 bits hold.
    assert good(found, Slo(tpot=5 * 10**18)).tolist() == [True, True]
    assert good(found, Slo(tpot=10**21)).tolist() == [True, True]


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("ttft:12ms", [True, False]),
        ("ttft:0.0119s", [False, False]),
        ("ttft:0.023s", [True, True]),
        ("tpot:12ms", [False, True]),
        ("tpot:15ms", [True, True]),
        ("e2el:0.047s", [False, True]),
        ("ttft:1s, e2el:57ms", [True, True]),
        ("ttft:12ms,tpot:12ms", [False, False]),
    ],
)
def test_goodput_by_hand(text: str, kept: list[bool]) -> None:
    """TTFT 12 and 23, TPOT 15 and 12, E2EL 57 and 47 ms in 57 ms; a limit met exactly is kept."""
    found = with_kept_tokens()
    assert good(found, read_slo(text)).tolist() == kept
    assert goodput(found, read_slo(text)) == pytest.approx(sum(kept) / 0.057)
    assert serving(found, read_slo(text)).goodput == goodput(found, read_slo(text))


@pytest.mark.parametrize(
    ("milliseconds", "tokens", "kept"), [(200, 2, 1), (201, 2, 0), (2000, 1, 1), (2001, 1, 0)]
)
def test_the_default_objective(milliseconds: int, tokens: int, kept: int) -> None:
    """A second token after 200 ms, or a first one after 2 s, keeps it; a millisecond more not."""
    instance = in_seconds((0, 1, tokens))
    clock = Clock(f"affine(base={milliseconds},token=0)")
    found = serving(make_timeline(instance, scheduled(instance, clock, (0,))))
    assert found.goodput == pytest.approx(1000 * kept / milliseconds / tokens)
    assert f"`{SERVER_SLO}`" in (ROOT / "docs" / "metrics.md").read_text()


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("ttft:0.5s,tpot:50ms", Slo(ttft=500 * MS, tpot=50 * MS)),
        (" E2EL : 30 s ", Slo(e2el=30_000 * MS)),
        ("e2el:1.5s,ttft:2s", Slo(ttft=2000 * MS, e2el=1500 * MS)),
        ("tpot:0.000001ms,e2el:999999999999s", Slo(tpot=1, e2el=999_999_999_999_000 * MS)),
    ],
)
def test_an_objective_is_read(text: str, found: Slo) -> None:
    """In seconds or milliseconds; what it prints is read again."""
    assert read_slo(text) == found
    assert read_slo(str(found)) == found


@pytest.mark.parametrize(
    "text",
    [
        *("", "ttft", "ttft:", "ttft:-1", "ttft:nan", "ttft:0s", "ttft:1h", "itl:1", "ttft:1s,"),
        *("ttft:1s,ttft:2s", "ttft=1", "ttft:1e3", "ttft:" + "9" * 400),
    ],
)
def test_what_is_no_objective(text: str) -> None:
    """One line that says what was expected; a limit needs its unit."""
    with pytest.raises(SloError, match=r"^expected [^\n]{1,300}$"):
        read_slo(text)
    with pytest.raises(SloError, match=r"^ttft:500 has no unit: ttft:500ms or ttft:500s$"):
        read_slo("e2el:30s,ttft:500")


@pytest.mark.parametrize("seed", range(20))
def test_percentiles_are_those_of_numpy(seed: int) -> None:
    """Of values with counts, as of the list in which each stands so often."""
    draw = np.random.default_rng(seed)
    values = draw.integers(0, 30, size=draw.integers(1, 12))
    counts = draw.integers(1, 6, size=len(values))
    for percent in (0, 1, 50, 90, 99, 100):
        expected = np.percentile(np.repeat(values, counts), percent)
        assert percentile(values, counts, percent) == pytest.approx(expected, abs=1e-12)
