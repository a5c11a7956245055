"""The figures of the page: what they show, and in which letters."""

import re

import pandas as pd
import pytest

from reports.figures.bounds import bounds_figure
from reports.figures.figure_parts import drawing, log_axis, with_base
from reports.figures.rate_figures import pareto_figure
from reports.pictures.__main__ import main as pictures
from reports.prepared_rows import prepare_rows
from tests.pins import as_pinned
from tests.reports.synthetic import frame, record, texts_of


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
    drawn = bounds_figure(prepare_rows(frame(*runs)), 190, 120)
    assert drawn is not None
    told = [text for text in texts_of(drawn.svg) if ":" in text]
    # LB is as good as the best known one, which has no line of its own then.
    assert told == ["UB: 200", "LB: 120", "best known UB: 190"]


@pytest.mark.parametrize(
    "runs",
    [[], [record(tel=5)], [record(status="no_solution"), record(method="bound", lower_bound=3)]],
    ids=["none", "one point", "no schedule"],
)
def test_bounds_over_time_need_something_to_follow(runs: list[object]) -> None:
    assert bounds_figure(prepare_rows(frame(*runs)), 5, 3) is None  # type: ignore[arg-type]


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


def test_who_is_drawn_in_grey() -> None:
    """Of twelve policies the last two, in both panels, but vLLM's scheduler; nobody of ten."""
    table = [
        {"method": f"p{k}", "rate": rate, "output_throughput": rate, "p99_ttft_ms": 1e3 * k}
        for k in range(12)
        for rate in (1.0, 2.0)
    ]
    runs = pd.DataFrame(table).assign(p99_tpot_ms=50.0, sustained=True)
    svgs = [pareto_figure(each, "").svg for each in (runs, runs[:20])]
    drawn = [svg.count("stroke-opacity: 0.16") for svg in svgs]
    assert drawn == [4, 0]
    lines = pareto_figure(runs.assign(sustained=runs["rate"] < 2), "").figure.axes[0].get_lines()
    hollow, rates = lines[-2], pd.Series(lines[-2].get_xdata())
    assert (hollow.get_label(), list(rates)) == ("burst", [2.0] * 12)
    last = with_base([*(f"p{k}" for k in range(11)), "vllm-v1"])
    assert last == ["vllm-v1", *(f"p{k}" for k in range(9))]


@as_pinned("matplotlib")
def test_the_committed_picture_of_the_readme_is_fresh() -> None:
    """Drawn again from instance, best schedule and policy it is the same, byte for byte."""
    assert pictures(["--check"]) == 0
