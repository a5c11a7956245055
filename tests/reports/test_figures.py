"""The figures of the page: small, the same to look at, and places that say what stands there."""

from __future__ import annotations

import re
from xml.etree import ElementTree

import pandas as pd
import pytest

from reports.figures.bounds import bounds_figure
from reports.figures.heat import heat_figure
from reports.figures.profiles import profile_figure
from reports.figures.slim import slimmed
from reports.figures.spots import Caption, step_places
from reports.figures.style import drawing, log_axis, with_base
from reports.figures.sweeps import pareto_figure
from reports.per_instance import per_instance
from reports.pictures.__main__ import main as pictures
from reports.rows import prepare
from reports.tables.profiles import common_costs
from tests.pins import as_pinned
from tests.reports.synthetic import frame, measured_of, record

_SVG = "{http://www.w3.org/2000/svg}"


def _texts(svg: str) -> list[str]:
    return [each.text or "" for each in ElementTree.fromstring(svg).iter(f"{_SVG}text")]


def test_slim_drawings_lose_no_mark_and_no_letter() -> None:
    """As many paths, uses and texts as before, with the same words and looks; a name's digits."""
    names = ["0.123456", 'x="1.23456"', "<b>&", "am1 "]
    made = {}
    for slim in (False, True):
        with drawing(4, 3, slim=slim) as each:
            axes = each.figure.subplots()
            axes.plot([0, 1, 2, 3], [1 / 3, 2 / 3, 1, 2], marker="o", color="#2f7fc1", alpha=0.25)
            axes.set_xticks(range(4), names)
        made[slim] = each.svg
    # Letters are uses of glyphs in the one and text in the other.
    marks = [len(re.findall(r'href="#m\w+"', svg)) for svg in made.values()]
    assert marks[0] == marks[1] > 4
    assert [each for each in _texts(made[True]) if each in names] == names
    assert len(made[True]) < len(made[False]) / 3
    for look in ("#2f7fc1", "opacity: 0.25", "currentColor", "prefers-color-scheme"):
        assert look in made[True]
    # What is referred to is there.
    for name in re.findall(r'(?:url\(|href=")#([\w-]+)', made[True]):
        assert f'id="{name}"' in made[True]


def test_slim_drawings_round_hundredths_of_a_point() -> None:
    """Positions only: neither scales nor what a text says."""
    svg = (
        '<svg xmlns="http://www.w3.org/2000/svg" width="1pt" height="1pt"><g id="a"><g>'
        '<path d="M 1.23456 2 \nL 3 4.0001 \nz\n" style="fill: none"/></g></g>'
        '<text transform="rotate(-0 1.5 2)" style="fill: none">1.23456</text>'
        '<g transform="scale(0.015625)"/></svg>'
    )
    short = slimmed(svg)
    assert 'd="M1.23 2L3 4z"' in short
    assert ">1.23456<" in short
    assert "scale(0.015625)" in short
    assert "rotate" not in short
    assert short.count("fill: none") == 1
    assert 'id="a"' not in short


def test_places_follow_the_axes() -> None:
    """The middle of the data is the middle of the axes' box; what lies outside is left out."""
    with drawing(4, 2) as made:
        made.figure.set_layout_engine("none")
        axes = made.figure.add_axes((0.25, 0.5, 0.5, 0.25))
        axes.set_xscale("log")
        axes.set(xlim=(1, 100), ylim=(0, 1))
        for x, y in ((10, 0.5), (1000, 0.5), (10, float("nan"))):
            made.tell(axes, x, y, Caption("m", "v", "id", "name"))
    (spot,) = made.spots
    # From the left 0.25 + 0.25; from above 1 - (0.5 + 0.125).
    assert spot.x == pytest.approx(0.5, abs=2e-3)
    assert spot.y == pytest.approx(0.375, abs=2e-3)


def test_steps_say_how_many_are_at_most_that() -> None:
    """Two of four at 0, one at 0.1, one without a value: half, and three quarters."""
    values = pd.Series({"b": 0.0, "a": 0.0, "c": 0.1, "d": None})
    names = {each: each.upper() for each in "abcd"}
    found = list(step_places(values, names, 4, "svf", lambda value: f"gap {value:g}"))
    assert [(x, y) for x, y, _ in found] == [(0.0, 0.5), (0.1, 0.75)]
    assert [caption.instance for *_, caption in found] == ["A", "C"]
    assert found[0][2].value == "gap 0, as 1 more; 50.0 % at most that"
    assert found[1][2].value == "gap 0.1; 75.0 % at most that"


def test_the_map_tells_means_and_the_largest_gap() -> None:
    """Gaps 0 and 1/2 of svf; a policy that lacks a family stands below all that have both."""
    runs = [
        record(instance="a", tel=100, known_optimum=100),
        record(instance="b", tel=200, known_optimum=100),
        record(instance="c", family="other", tel=300, known_optimum=100),
        record(instance="a", method="fcfs", tel=100, known_optimum=100),
    ]
    drawn = heat_figure(per_instance(measured_of(*runs)))
    assert drawn is not None
    told = {(spot.caption.method, spot.caption.where): spot for spot in drawn.spots}
    cell = told["svf", "uniform"].caption
    assert cell.value == "mean gap 25.0 % over 2 instances"
    assert (cell.opens, cell.instance) == ("largest on", "b")
    assert told["svf", "other"].caption.value == "gap 66.7 %"
    # fcfs has the lower mean, over one family only.
    assert told["fcfs", "uniform"].y > told["svf", "uniform"].y
    # Half a cell of two across five inches at most, and of two lines.
    assert 0 < drawn.reach[0] < 120
    assert drawn.reach[1] > 8


@pytest.mark.parametrize(
    ("batch_times", "columns"),
    [(["linear"], {"uniform"}), (["linear", "affine"], {"uniform, linear", "uniform, affine"})],
)
def test_the_map_names_a_batch_time_that_is_not_everybodys(
    batch_times: list[str], columns: set[str]
) -> None:
    """What all columns share is in the title."""
    runs = [record(tel=100, known_optimum=100, batch_time=each) for each in batch_times]
    drawn = heat_figure(per_instance(measured_of(*runs)))
    assert drawn is not None
    shown = {text for text in (*columns, "uniform, linear") if f">{text}</text>" in drawn.svg}
    assert shown == columns


def test_the_map_leaves_all_open_where_one_instance_has_no_bound() -> None:
    """OPT of a is 100, of b nothing is known from below: the mean's upper end is unknown."""
    runs = [
        record(instance="a", tel=100, known_optimum=100),
        record(instance="b", tel=200),
    ]
    drawn = heat_figure(per_instance(measured_of(*runs)))
    assert drawn is not None
    assert drawn.spots[0].caption.value == "mean gap [0.0, ?] % over 2 instances"
    # The bar is as wide as the cell, less a margin on both sides.
    bar = re.findall(r'd="M(\S+) \S+L(\S+) [^"]*"', drawn.svg)
    widths = {round(float(right) - float(left), 1) for left, right in bar}
    assert any(0.9 * 1.5 * drawn.reach[0] < width < 1.5 * drawn.reach[0] for width in widths)


def test_profiles_tell_their_instances() -> None:
    """svf is best on a and 1.5 times the best on b."""
    runs = [
        record(instance="a", tel=100),
        record(instance="b", tel=150),
        record(instance="a", method="fcfs", tel=120),
        record(instance="b", method="fcfs", tel=100),
    ]
    averaged = per_instance(measured_of(*runs))
    names = dict(zip(averaged["id"], averaged["instance"], strict=True))
    drawn = profile_figure(common_costs(averaged, "tel"), names, "TEL", least_range=2)
    assert drawn is not None
    told = [spot.caption for spot in drawn.spots if spot.caption.method == "svf"]
    assert [(each.instance, each.value) for each in told] == [
        ("a", "τ = 1.000; 50.0 % at most that"),
        ("b", "τ = 1.500; 100.0 % at most that"),
    ]


def test_bounds_over_time_follow_the_best_of_all_runs() -> None:
    """UB 300, 250, 200 and LB 50, 120; what keeps tokens or is not believed is in neither."""
    runs = [
        record(method="svf", tel=300, seconds=0.1),
        record(
            method="cpsat:cpsat",
            tel=200,
            lower_bound=120,
            seconds=5.0,
            incumbents=[(1.0, 250), (4.0, 200)],
            bounds=[(0.5, 50), (5.0, 120)],
        ),
        record(method="vllm-v1", tel=10, seconds=0.2),
    ]
    drawn = bounds_figure(prepare(frame(*runs)), 190, 120)
    assert drawn is not None
    told = [text for text in _texts(drawn.svg) if ":" in text]
    # LB is as good as the best known one, which has no line of its own then.
    assert told == ["UB: 200", "LB: 120", "best known UB: 190"]


@pytest.mark.parametrize(
    "runs",
    [[], [record(tel=5)], [record(status="no_solution"), record(method="bound", lower_bound=3)]],
    ids=["none", "one point", "no schedule"],
)
def test_bounds_over_time_need_something_to_follow(runs: list[object]) -> None:
    """One point, or no schedule at all, is no picture."""
    assert bounds_figure(prepare(frame(*runs)), 5, 3) is None  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("values", "scale"),
    [([0.055, 0.095], "linear"), ([0.05, 0.2], "log"), ([0.5, 60.0], "log"), ([], "linear")],
)
def test_latencies_have_plain_numbers(values: list[float], scale: str) -> None:
    """On a logarithmic axis of few decades the numbers between them, too; no markup."""
    with drawing(4, 3) as made:
        axes = made.figure.subplots()
        axes.plot(range(len(values)), values)
        log_axis(axes)
        made.figure.draw_without_rendering()
        told = [label.get_text() for label in axes.get_yticklabels(which="both")]
    assert axes.get_yscale() == scale
    assert sum(map(bool, told)) >= 2
    assert all(re.fullmatch(r"[\d.−]*", each) for each in told)


def test_no_figure_has_markup_of_powers() -> None:
    """Whatever sets a logarithmic scale; three labels at least where the values are close."""
    with drawing(4, 3) as made:
        axes = made.figure.subplots()
        axes.plot([1, 1000], [0.97, 1.6])
        axes.set_xscale("log")
        axes.set_yscale("log")
    told = [
        [label.get_text() for label in axis.get_ticklabels(which="both")]
        for axis in (axes.xaxis, axes.yaxis)
    ]
    assert {"1", "10", "1000"} <= set(told[0])
    assert sum(map(bool, told[1])) >= 3
    assert all(re.fullmatch(r"[\d.]*", each) for labels in told for each in labels)


def test_who_is_drawn_in_grey() -> None:
    """Of twelve policies the last two, in both panels, but vLLM's scheduler; nobody of ten."""
    table = [
        {"method": f"p{k}", "rate": rate, "output_throughput": rate, "p99_ttft_ms": 1e3 * k}
        for k in range(12)
        for rate in (1.0, 2.0)
    ]
    runs = pd.DataFrame(table).assign(p99_tpot_ms=50.0)
    svgs = [pareto_figure(each, "").svg for each in (runs, runs[:20])]
    drawn = [svg.count("stroke-opacity: 0.16") for svg in svgs]
    assert drawn == [4, 0]
    last = with_base([*(f"p{k}" for k in range(11)), "vllm-v1"])
    assert last == ["vllm-v1", *(f"p{k}" for k in range(9))]


@as_pinned("matplotlib")
def test_the_committed_picture_of_the_readme_is_fresh() -> None:
    """Drawn again from instance, best schedule and policy it is the same, byte for byte."""
    assert pictures(["--check"]) == 0
