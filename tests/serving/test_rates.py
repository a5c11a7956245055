"""The rate sweep: arrivals that are scaled, resumption, the table, the figure, and the bound."""

import re
import xml.etree.ElementTree as ElementTree
from contextlib import closing
from dataclasses import replace
from functools import partial
from pathlib import Path

import pandas as pd
import pytest
from matplotlib.collections import LineCollection

import kvopt
from instances import Instance, Request, write_instance
from instances.arrivals import redraw_arrivals
from kvopt.methods.grammar import read_method
from kvopt.store import Store
from kvopt.sweeps.sweep_inputs import Wishes
from reports.figures.rate_figures import rates_figure
from serving.batch_time import read_batch_time
from serving.bounds.goodput import goodput_bound
from serving.capacity_search import ceiling
from serving.commands.rates_command import main as rates
from serving.commands.rates_command import table_text
from serving.rate_sweep import rate_sweep
from serving.slo import read_slo
from serving.traces import TraceOptions
from serving.traces.read_trace import read_trace
from tests.kvopt.conftest import Refused
from tests.serving.traces.cases import BY_NAME

VIDUR = BY_NAME["vidur.csv"].path
SIX = Instance("six", 12, tuple(Request(i, 0, 2, 1 + i % 3) for i in range(6)), family="hand")
BATCH = "affine(base=100,token=10)"
NO_RATES = ("", "x", "1,,2", "0,1", "2,1", "1,1", "nan", "inf", "-1")
WISHES = Wishes(batch_time=read_batch_time(BATCH), time_limit=1.0)


@pytest.fixture
def six(tmp_path: Path) -> Path:
    """The instance as a file; its arrivals, at round 0, are replaced."""
    path = tmp_path / "six.json"
    write_instance(SIX, path)
    return path


def test_the_arrivals_of_all_rates_are_the_same_scaled() -> None:
    """At twice the rate every request arrives in half the time, to the nanosecond of rounding."""
    slow, fast = redraw_arrivals(SIX, 2.0, seed=7), redraw_arrivals(SIX, 4.0, seed=7)
    assert (slow.name, fast.name) == ("six_rate2_seed7", "six_rate4_seed7")
    assert slow.time_unit == "second"
    times = zip(slow.arrival_times.tolist(), fast.arrival_times.tolist(), strict=True)
    assert all(abs(late - 2 * early) <= 1 for late, early in times)
    assert slow.arrival_times.tolist() != redraw_arrivals(SIX, 2.0, seed=8).arrival_times.tolist()
    plain = [replace(each, arrival=0) for each in slow.requests]
    assert tuple(plain) == SIX.requests


def test_they_are_those_of_a_trace_with_that_rate() -> None:
    """So a point of the sweep is what solve.py shows with ``--rate``."""
    base, _ = read_trace(VIDUR, TraceOptions(memory=2000))
    drawn, _ = read_trace(VIDUR, TraceOptions(memory=2000, rate=3.0, arrival_seed=5))
    assert redraw_arrivals(base, 3.0, seed=5).requests == drawn.requests


@pytest.mark.slow("walks")
def test_a_sweep_is_resumed(six: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Rows, table and figure; the second time nothing is run; the bound is below every method."""
    table, figure = tmp_path / "rates.csv", tmp_path / "rates.svg"
    named = [str(six), "--rates", "2,8", "--methods", "svf,fcfs", "--batch-time", BATCH]
    named += ["--slo", "e2el:0.4s", "--store", str(tmp_path / "runs.sqlite"), "--time-limit", "2"]
    assert rates([*named, "--export", str(table), "--plot", str(figure)]) == 0
    first = capsys.readouterr().out
    with closing(Store(tmp_path / "runs.sqlite")) as store:
        stored = store.rows()["finished_utc"].tolist()
    assert len(stored) == 6
    rows = pd.read_csv(table)
    assert rows["method"].tolist() == ["svf", "fcfs", "bound"] * 2
    assert (rows["bound_ael_s"] <= rows["ael_s"] + 1e-12).all()
    svf = rows[(rows["rate"] == 8) & (rows["method"] == "svf")].iloc[0]
    alone = kvopt.run(redraw_arrivals(SIX, 8.0), "svf", batch_time=BATCH)
    assert alone.tel_seconds == pytest.approx(svf["tel_s"])
    assert alone.serving.mean_ttft_ms == pytest.approx(svf["mean_ttft_ms"])
    assert alone.goodput("e2el:0.4s") == pytest.approx(svf["goodput"])
    most = goodput_bound(redraw_arrivals(SIX, 8.0), read_batch_time(BATCH), read_slo("e2el:0.4s"))
    assert svf["bound_goodput"] == pytest.approx(most)
    assert svf["goodput"] <= svf["bound_goodput"]
    assert svf["left"] == pytest.approx(1 - svf["bound_ael_s"] / svf["ael_s"])
    assert ElementTree.parse(figure).getroot().tag.endswith("svg")

    assert rates([*named, "--quiet"]) == 0
    again = capsys.readouterr().out
    with closing(Store(tmp_path / "runs.sqlite")) as store:
        assert store.rows()["finished_utc"].tolist() == stored
    # Below it stand the sources of two bounds, what they cover, the objective, the arrivals.
    assert again.splitlines() == first.splitlines()[-10:-5]
    assert first.endswith("a second that keep e2el:400ms\narrivals are drawn (Poisson, seed 0)\n")
    assert again.split()[:3] == ["rate", "method", "E2EL"]
    assert len(again.splitlines()) == 5


def test_a_burst_is_called_one(tmp_path: Path) -> None:
    """Ninety requests of 0.24 s arrive in three minutes, eight or two seconds; three may run."""
    many = Instance("many", 12, tuple(Request(i, 0, 2, 2) for i in range(90)))
    asked = (many, (0.5, 12.0, 50.0), [read_method("svf")], WISHES)
    most = ceiling(many, WISHES.batch_time)
    assert 12 < most < 50
    slo = read_slo("e2el:1s")
    table, *_ = rate_sweep(*asked, store=tmp_path / "runs.sqlite", most=most, slo=slo)
    lines = [re.split(" {2,}", line.strip()) for line in table_text(table).splitlines()]
    shown = pd.DataFrame(lines[1:], columns=lines[0])
    assert shown["sustained"].tolist() == ["yes", "too short", "burst"]
    assert [float(each) < 100 for each in shown["kept %"]] == [False, True, True]
    # Bounds are rounded outwards.
    told = table_text(table.assign(bound_ael_s=3.88077, bound_goodput=1.0002))
    assert {"3.880", "1.001"} < {*told.split()}


def test_the_figure_has_a_title_and_bars_over_seeds() -> None:
    """What was served on what; the standard deviation at a rate, of 1 and 3 sqrt(2)."""
    lines = [
        {"method": "a-max", "rate": 2.0, "ael_s": value, "bound_ael_s": 0.5, "mean_ttft_ms": value}
        for value in (1.0, 3.0)
    ]
    table = pd.DataFrame(lines).assign(sustained=[False, True])
    figure = rates_figure(table, None, "conv: Llama-3.1-8B on 1 H100").figure
    assert "burst" in [each.get_label() for each in figure.axes[1].get_lines()]
    assert figure.get_suptitle() == "conv: Llama-3.1-8B on 1 H100"
    (bar,) = [each for each in figure.axes[0].collections if isinstance(each, LineCollection)]
    ends = bar.get_segments()[0][:, 1]
    assert ends.tolist() == pytest.approx([2 - 2**0.5, 2 + 2**0.5])


def test_a_goodput_above_the_bound_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As a wrong result, for one of the two is; the table has the bound, too."""
    store = tmp_path / "runs.sqlite"
    asked = partial(rate_sweep, SIX, (2.0,), [read_method("svf")], WISHES, store=store)
    table, _, wrong = asked(slo=read_slo("e2el:9s"))
    assert wrong == []
    assert (table["goodput"] <= table["bound_goodput"]).all()
    monkeypatch.setattr("serving.rate_sweep.goodput_bound", lambda *_: 0.5)
    table, _, wrong = asked(slo=read_slo("e2el:9s"))
    runs = {line.partition(": goodput ")[0] for line in wrong}
    assert runs == {f"{method} on six_rate2" for method in table["method"]}
    assert "svf on six_rate2" in runs
    assert table["bound_goodput"].tolist() == [0.5, 0.5]
    plain = asked().table
    assert "bound_goodput" not in plain
    assert plain["goodput"].tolist() == plain["request_throughput"].tolist()


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        *((["--rates", text], "expected rates above 0, ascending") for text in NO_RATES),
        (["--rates", "1", "--plot", "x.jpg"], "expected a name with .svg or .png or .pdf"),
        (["--rates", "1", "--export", "x.parquet"], "expected a name with .csv"),
        (["--rates", "1", "--methods", "highs"], "highs solves models in rounds"),
        (["--rates", "1", "--rate", "3"], "leave out --rate"),
        (["--rates", "1", "--arrival-seed", "3"], "--arrivals is the seed of the arrivals here"),
        (["--rates", "1", "--set", "n=3"], "goes with a family"),
        (["--rates", "1e-12"], "expected arrivals within 146 years"),
    ],
)
def test_what_is_refused(
    arguments: list[str], expected: str, six: Path, tmp_path: Path, refused: Refused
) -> None:
    """One line, exit code 2, before anything is run."""
    named = [six, "--store", tmp_path / "runs.sqlite", "--quiet"]
    assert expected in refused(rates, *named, *arguments)


def test_a_family_is_drawn_at_a_rate(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    named = ["chat", "--set", "n=5", "--rates", "5", "--methods", "svf", "--time-limit", "2"]
    assert rates([*named, "--store", str(tmp_path / "runs.sqlite"), "--quiet"]) == 0
    _, line = capsys.readouterr().out.splitlines()
    assert line.split()[:2] == ["5", "svf"]


def test_what_never_fits_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """On standard error, also where only the table is wanted."""
    named = [str(VIDUR), "--memory", "60", "--rates", "5", "--methods", "svf", "--time-limit", "2"]
    assert rates([*named, "--store", str(tmp_path / "runs.sqlite"), "--quiet"]) == 0
    (line,) = capsys.readouterr().err.splitlines()
    assert line.endswith("1 row skipped: prompt and output exceed the memory (first in row 4)")


def test_one_request_is_the_same_at_every_rate(tmp_path: Path) -> None:
    """It arrives at 0 at each rate; the lines stand in the order of the rates."""
    one = replace(SIX, requests=SIX.requests[:1])
    asked = (one, (1.0, 3.0), [read_method("mc-sf")], WISHES)
    table, *_ = rate_sweep(*asked, store=tmp_path / "runs.sqlite")
    assert table["rate"].tolist() == [1.0, 1.0, 3.0, 3.0]
    assert table["method"].tolist() == 2 * table["method"].tolist()[:2]
    assert table["tel_s"].tolist() == [0.12] * 4
