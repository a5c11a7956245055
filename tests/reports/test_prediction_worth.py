"""Predictions: gaps at both ends of their quality, the break-even value, and its interval."""

import numpy as np
import pytest

from reports.build import make_report
from reports.figures.parameter import parameter_figure
from reports.parameter_curves import Panel, panels
from reports.tables.prediction_worth import _with_interval, break_even, prediction_table
from tests.reports.synthetic import measured_of, record, results_of, texts_of

#: TEL of ``a-min`` by sigma; OPT is 100, so gaps are 0, 1/2 and 3/4.
_TELS = {0: 100, 1: 200, 2: 400}


def _panel(blind: int = 250, **changed: object) -> Panel:
    """Return the panel of two draws of a family; the gap of ``alpha-greedy`` is 1 - 100 / blind."""
    runs = []
    for draw in (0, 1):
        drawn = {"instance": f"uniform_n4_seed{draw}", "known_optimum": 100} | changed
        for value, tel in _TELS.items():
            method = f"a-min with noise(sigma={value})"
            runs += [record(method=method, tel=tel, seed=seed, **drawn) for seed in (0, 1)]
        others = {"alpha-greedy": blind, "vllm-v1": 1000, "svf": 110, "alpha-beta": 900}
        runs += [record(method=name, tel=tel, **drawn) for name, tel in others.items()]
    (panel,) = panels(measured_of(*runs))
    return panel


def _line(panel: Panel) -> dict[str, object]:
    (line,) = prediction_table([panel]).frame.to_dict("records")
    return {str(key): value for key, value in line.items()}


def test_the_line_of_a_policy() -> None:
    """The gap of alpha-greedy is 0.6: between 1/2 and 3/4 it is met after 0.4 of a step, at 1.4."""
    assert _line(_panel()) == {
        "family": "uniform",
        "parameter": "noise(sigma)",
        "policy": "a-min",
        "exact": "0.0 %",
        "other": "75.0 %",
        "even": "1.4",
        "base": "always",
        "saved": "90.0 %",  # 1 - 100 / 1000
        "rest": "60.0 %",  # 1 - 400 / 1000
        "blind": "alpha-greedy, 60.0 %",
        "clairvoyant": "svf, 9.1 %",
    }


@pytest.mark.parametrize(("blind", "end"), [(1000, "always"), (100, 0), (99, "never")])
def test_curves_that_do_not_cross(blind: int, end: object) -> None:
    """A gap of 0.9 is above all, a gap of 0 is met at the exact end; a lower OPT is below it."""
    # With TEL 99 as the optimum a-min begins with a gap of 1/100, and alpha-greedy has none.
    even = _line(_panel(blind=blind, known_optimum=min(blind, 100)))["even"]
    assert even == f"{end}"


def test_the_exact_end_is_found() -> None:
    """The estimates decide: of ranks the largest share is exact, so the values run downwards."""
    runs = [
        record(method=f"a-min with rank(accuracy={share})", tel=tel, known_optimum=100)
        for share, tel in ((0.5, 400), (0.75, 200), (1, 100))
    ]
    (panel,) = panels(measured_of(*runs, record(method="alpha-greedy", tel=200, known_optimum=100)))
    assert panel.values == [1, 0.75, 0.5]
    # At 0.75 the gaps are equal, and a policy as good as another does not exceed it.
    assert _line(panel)["even"] == "0.75"


def test_the_interval_holds_the_crossing() -> None:
    """Two kinds of runs cross at 1 and at 3, their mean at 2; values may run downwards."""
    assert _with_interval("", "never", "never", "0.45") == "never [never, 0.45]"
    rises = np.array([[-1.0, 0, 1, 2, 3], [-3, -2, -1, 0, 1]])
    value, low, high = break_even(range(5), np.repeat(rises, 5, axis=0))
    assert value == 2
    assert 1 < low < 2 < high < 3
    assert break_even(range(5), rises)[1:] == (1, 3)
    assert break_even([1, 0.5], np.array([[-1.0, 1.0]])) == (0.75, 0.75, 0.75)


def test_seconds_have_three_panels() -> None:
    """Latency, TTFT and goodput, each with the lines of both other classes."""
    panel = _panel(batch_time="llama2-70b-2xa100", p99_ttft_ms=1500.0, goodput=2.0)
    assert panel.level("non-clairvoyant", "p99_ttft_ms") == 1500
    drawn = parameter_figure([panel])
    assert drawn is not None
    shown = texts_of(drawn.svg)
    assert {"mean gap", "p99 TTFT (s)", "goodput (requests/s)"} <= set(shown)
    assert shown.count("alpha-greedy") == shown.count("svf") == shown.count("vllm-v1 *") == 3
    # A title a row, and bars at the points of the gaps.
    assert shown.count("uniform") == 1
    assert "LineCollection" in drawn.svg


def test_the_legend_names_what_is_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    """All three horizontal lines; in seconds the objective of goodput, too."""
    notes: list[str] = []
    monkeypatch.setattr("reports.build._figure", lambda *given: notes.append(given[2]))
    for batch_time in ("", "llama2-70b-2xa100"):
        make_report(results_of(record(tel=5, batch_time=batch_time)), pages=0)
        told = next(note for note in notes if "Horizontal" in note)
        assert all(f"({dashes})" in told for dashes in ("dashed", "dotted", "dash-dotted"))
        assert ("requests/s that keep ttft:2s,tpot:200ms." in told) == bool(batch_time)
        notes.clear()
