"""The rules of the pages of wang2025 and chen2025, on rows whose verdict is known by hand."""

from itertools import chain

import numpy as np
import pandas as pd
import pytest

from papers.curves import by_size
from papers.experiment import ExperimentPage, Finding
from papers.latency import latency_ratio, method_text
from papers.ledger.chen import geometric, hindsight, stated_ratio
from papers.pages import c_fig_1, c_fig_2, c_fig_3, c_fig_5_7, w_fig_8, w_phase_1, w_table_4
from papers.selected_rows import of_instances, parameter, ratios, restrict, share
from tests.oracles.lemma_2 import lemma_2


def rows_of(
    *runs: tuple[str, str, float], section: str, family: str = "", n: int = 10
) -> pd.DataFrame:
    """Return rows of (instance, method, TEL), each instance with a hash of its own."""
    return pd.DataFrame(
        {
            "section": section,
            "instance": [instance for instance, _, _ in runs],
            "family": family,
            "n": n,
            "memory": 1000,
            "instance_sha256": [instance for instance, _, _ in runs],
            "method": [method_text(method) for _, method, _ in runs],
            "tel": [tel for _, _, tel in runs],
            "lower_bound": [tel / 2 for _, _, tel in runs],
        }
    )


def repeated(
    name: str, ours: str, theirs: str, ratio: float, seeds: int = 2
) -> list[tuple[str, str, float]]:
    """Return runs of two methods on draws of an instance, of which one has 1.0 each time."""
    named_so = [name.format(seed=seed) for seed in range(seeds)]
    return [run for each in named_so for run in ((each, ours, ratio), (each, theirs, 1.0))]


def finding(page: ExperimentPage, start: str) -> Finding:
    """Return the one finding whose claim begins so."""
    every = [each for part in page.parts for each in part.findings]
    (found,) = (each for each in every if each.claim.startswith(start))
    return found


def test_parameters_come_from_names() -> None:
    """A column where there is one, else what the name says that was drawn."""
    rows = rows_of(
        ("two_point_n300_seed0_lower1_long_share0.002", "a-min", 6.0),
        ("two_point_n300_seed0_lower1_long_share0.002", "h-sf", 3.0),
        ("two_point_n300_seed0_lower25_long_share0.4", "a-min", 9.0),
        ("two_point_n300_seed0_lower25_long_share0.4", "h-sf", 9.0),
        section="two-point",
    )
    assert parameter(rows, "lower").tolist() == [1, 1, 25, 25]
    assert parameter(rows, "n").tolist() == [10] * 4
    found = ratios(rows, "a-min", "h-sf")
    assert sorted(found) == [1, 2]
    assert of_instances(rows, "long_share", found).to_dict() == {
        rows["instance"][0]: 0.002,
        rows["instance"][2]: 0.4,
    }
    half = share(lambda some: ratios(some, "a-min", "h-sf").le(1))
    spans = [half(rows), restrict(half, lower=25)(rows), restrict(half, lower=3)(rows)]
    assert [None if span is None else span.value for span in spans] == [0.5, 1, None]
    assert (
        restrict(latency_ratio("a-min", "h-sf"), lower=25)(rows) is None
    )  # one repeat has no mean


@pytest.mark.parametrize(("tel", "verdict"), [(1.54, "reproduced"), (1.56, "not reproduced")])
def test_c_figure_2_allows_u_over_m(tel: float, verdict: str) -> None:
    """α = 1/50 and u/M = 0.05: (3 − 0.02)/2 + 0.05 = 1.54; a second draw below changes nothing."""
    runs = [
        ("two_point_lower1_long_share0.02", "a-min", tel),
        ("two_point_lower1_long_share0.02", "h-sf", 1.0),
        ("two_point_lower25_long_share0.02", "a-min", 1.0),
        ("two_point_lower25_long_share0.02", "h-sf", 1.0),
    ]
    rows = rows_of(*runs, section="two-point")
    assert finding(c_fig_2.PAGE, "A_min keeps").judge(rows).verdict == verdict
    assert finding(c_fig_2.PAGE, "the bounds cross").judge(rows).verdict == "reproduced"


def test_c_figure_2_sides() -> None:
    """A_ℓ no worse at α = 0.02 and 0.3, worse at 0.5: both come out; turned, neither does."""
    lines = []
    for lower, better in ((1, "a-ell"), (15, "a-ell"), (25, "a-min")):
        name = f"two_point_lower{lower}_long_share0.1"
        lines += [(name, each, 1.0 + (each != better)) for each in ("a-min", "a-ell")]
    claims = [finding(c_fig_2.PAGE, text) for text in ("below 0.382", "above 0.382")]
    rows = rows_of(*lines, section="two-point")
    assert [each.judge(rows).verdict for each in claims] == ["reproduced"] * 2
    turned = rows.assign(tel=3 - rows["tel"])
    assert [each.judge(turned).verdict for each in claims] == ["not reproduced"] * 2


def test_the_quotient_is_lemma_2() -> None:
    """Two matrices against the sums that they stand for."""
    draws = np.random.default_rng(0)
    for upper in (1, 2, 7, 40):
        shares = draws.dirichlet(np.ones(upper))
        assert stated_ratio(shares) == pytest.approx(lemma_2(shares))
    # Of equal outputs u, n²/(2M)·u²: batches of M/u take u rounds.
    assert hindsight(np.array([0.0, 0.0, 1.0])) == 9


def test_geometric_shares_and_theorem_8() -> None:
    """Shares by hand at p = 1/2, u = 3; the closed form is the quotient; its limit is 14/9."""
    assert geometric(0.5, 3).tolist() == pytest.approx([4 / 7, 2 / 7, 1 / 7])
    assert geometric(0.5, 3, weighted=True).tolist() == pytest.approx([4 / 11, 4 / 11, 3 / 11])
    for p in (*c_fig_3.PS, 0.9):
        assert c_fig_3.theorem_8(p) == pytest.approx(c_fig_3.stated(p, "weighted"), rel=2e-5)
    assert c_fig_3.theorem_8(1e-9) == pytest.approx(14 / 9)
    assert c_fig_3.stated(0.02, "geometric") < 1.7


def test_c_figure_1_growth() -> None:
    """A ratio that adds the same for each doubling comes out, one in proportion to u does not."""
    claim = finding(c_fig_1.PAGE, "the ratio grows like log u")
    assert f"{c_fig_1.fit(2):.2f}" == "1.37"  # erratum E11

    def rows(law: dict[int, float]) -> pd.DataFrame:
        runs = (
            repeated(f"worst_mix_seed{{seed}}_upper{upper}_memory1000", "a-min", "h-sf", ratio)
            for upper, ratio in law.items()
        )
        return rows_of(*chain(*runs), section="worst-mix")

    uppers = (5, 10, 50, 100)
    assert claim.judge(rows({u: 1 + float(np.log(u)) for u in uppers})).verdict == "reproduced"
    assert claim.judge(rows({u: 1 + u / 10 for u in uppers})).verdict == "not reproduced"
    assert claim.judge(rows({u: 2.0 + u for u in uppers[:3]})).verdict == "not run"


def test_table_4_knows_what_is_impossible() -> None:
    """Bounds of 9,771.4 and less are possible; a mean bound above is not."""
    claim = finding(w_table_4.PAGE, "uniform: the printed totals are possible")
    for bound, verdict in ((9_000.0, "reproduced"), (11_000.0, "not reproduced")):
        runs = [(f"uniform_{seed}", "sorted-f-swap", 2 * bound + seed) for seed in range(4)]
        rows = rows_of(*runs, section="policies", family="uniform", n=100)
        assert claim.judge(rows).verdict == verdict


def test_figure_8_asks_for_every_size() -> None:
    """Worse at the largest size only is not worse."""
    claim = finding(w_fig_8.PAGE, "MC-SF is worse than Sorted-F (swap)")

    def rows(smallest: float) -> pd.DataFrame:
        frames = []
        for n in w_fig_8.SIZES:
            ratio = smallest if n == w_fig_8.SIZES[0] else 1.5
            runs = repeated(f"m{n}_{{seed}}", "mc-sf", "sorted-f-swap", ratio)
            frames.append(rows_of(*runs, section="seconds", n=n))
        return pd.concat(frames, ignore_index=True)

    assert claim.judge(rows(1.2)).verdict == "reproduced"
    assert claim.judge(rows(0.9)).verdict == "not reproduced"
    assert by_size(rows(0.9), "mc-sf").index.tolist() == list(w_fig_8.SIZES)


def test_figure_6_halves() -> None:
    """0.4 to 0.6 of A_max with one interval: 0.5 comes out, 0.29 does not."""
    claims = [
        each
        for part in c_fig_5_7.PAGE.parts
        for each in part.findings
        if each.claim.startswith("figure 6: bins nearly halve")
    ]
    assert len(claims) == 2
    for tel, verdict in ((0.5, "reproduced"), (0.29, "not reproduced")):
        runs = repeated("chat_{seed}", "a-max with bins(100)", "a-max with interval(1,1000)", tel)
        rows = rows_of(*runs, section="seconds", n=c_fig_5_7.MOST)
        assert claims[0].judge(rows).verdict == verdict
        assert claims[1].judge(rows).verdict == "not run"


def test_the_program_is_not_the_exact_one() -> None:
    """Two of three draws have another TEL: a share of 1/3, and quotients of 0.9, 1 and 1.1."""
    runs = [(f"u{k}", "sorted-f-dp", 100.0) for k in range(3)]
    runs += [(f"u{k}", "sorted-f-exact", tel) for k, tel in enumerate((90.0, 100.0, 110.0))]
    rows = rows_of(*runs, section="phase-1", n=25).assign(seconds=1.0)
    judged = finding(w_phase_1.PAGE, "it gives the TEL").judge(rows)
    assert judged.verdict == "not reproduced"
    assert judged.ours is not None
    assert judged.ours.value == pytest.approx(1 / 3)
    assert w_phase_1.table(rows).frame["exact batches"].tolist() == pytest.approx([1.0])


@pytest.mark.parametrize(("power", "verdict"), [(1.5, "reproduced"), (2.5, "not reproduced")])
def test_seconds_that_grow(power: float, verdict: str) -> None:
    """Seconds in proportion to a power of n have that slope; runs of 50 requests do not count."""
    frames = [
        rows_of((f"u{n}", "sorted-f-dp", 1.0), section="phase-1", n=n).assign(seconds=took)
        for n, took in ((50, 9.0), *((n, n**power) for n in (100, 200, 400)))
    ]
    claim = finding(w_phase_1.PAGE, "dynamic program: exponent")
    assert claim.judge(pd.concat(frames, ignore_index=True)).verdict == verdict
    assert claim.judge(pd.concat(frames[:3], ignore_index=True)).verdict == "not run"
