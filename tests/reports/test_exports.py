"""What a paper takes of a report: tables as LaTeX and CSV, spread over seeds, curves, PDF."""

import csv
import io
import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from reports.build import build_report, make_report
from reports.figures.parameter import parameter_figure
from reports.figures.ranking import ranking_figure
from reports.paper_exports import csv_table, latex, latex_table
from reports.parameter_curves import panels
from reports.per_instance import spread
from reports.report_folder import MARKER
from reports.stored_results import Results
from reports.table import Column, Table
from tests.reports.hostile import hostile_records
from tests.reports.synthetic import frame, measured_of, record, results_of, texts_of

_HOSTILE = r"\input{x} $a_1^2$ 5 % #1 & ~ [b]* <|>"


def _table(**changed: object) -> Table:
    lines = pd.DataFrame(
        {
            "label": [_HOSTILE, "[svf]"],
            "gap": ["[1.0, 2.5] %", "4.0 %"],
            "gap_low": [0.01, 0.04],
            "gap_high": [0.025, 0.04],
            "spread": [0.003, None],
            "tel": [1_500_000_000, None],
        }
    )
    columns = (
        Column("label", "policy", "name"),
        Column("gap", "mean gap", "share", sort="gap_low", spread="spread"),
        Column("tel", "TEL, s", "nanoseconds"),
    )
    return replace(Table("a-table", "Gap & more", "Gap ≥ 0 − 1.", columns, lines), **changed)  # type: ignore[arg-type]


def test_no_name_is_a_command_of_latex() -> None:
    """Every sign that LaTeX reads as something else is written out, in cells, title and note."""
    text = latex_table(_table())
    assert r"\textbackslash{}input\{x\} \$a\_1\textasciicircum{}2\$ 5 \% \#1 \&" in text
    assert r"\textasciitilde{} {[}b{]}{*} \textless{}\textbar{}\textgreater{}" in text
    assert r"\caption[Gap \& more]{Gap $\ge$ 0 $-$ 1.}" in text
    assert r"\label{tab:a-table}" in text
    assert all(rule in text for rule in (r"\toprule", r"\midrule", r"\bottomrule"))
    assert r"{[}1.0, 2.5{]} \% $\pm$ 0.30 \%" in text
    assert text.count(r"\\") == 3  # the head and two lines; none is followed by a bracket
    assert not re.search(r"\\\\\s*[\[*]", text)
    assert latex("a\nb\x00\N{NO-BREAK SPACE}¹") == "a?b?~$^1$"


def test_a_long_table_breaks_over_pages() -> None:
    lines = pd.concat([_table().frame] * 30, ignore_index=True)
    text = latex_table(_table(frame=lines))
    assert r"\begin{longtable}{lrr}" in text
    assert text.count("{[}svf{]}") == 30
    # With as many columns as no page has room for, it is turned, and its heads are broken.
    turned = latex_table(_table(frame=lines, columns=(Column("tel", "mean & rest", "count"),) * 9))
    assert turned.count("landscape}") == 2
    assert r"\tiny" in turned
    assert turned.count(r"\shortstack{mean \&\\rest}") == 18
    assert "landscape}" not in text


def test_csv_has_numbers() -> None:
    """Shares as fractions, ends of intervals and the spread apart, seconds as the title says."""
    rows = list(csv.DictReader(io.StringIO(csv_table(_table()))))
    assert rows[0] == {
        "policy": _HOSTILE,
        "mean gap": "[1.0, 2.5] %",
        "mean gap, from": "0.01",
        "mean gap, to": "0.025",
        "mean gap, ±": "0.003",
        "TEL, s": "1.5",
    }
    assert (rows[1]["mean gap, ±"], rows[1]["TEL, s"]) == ("", "")


def test_a_report_has_them_beside_its_tables(tmp_path: Path) -> None:
    """One of each for every table, with columns of different names, and a PDF for every figure."""
    rows = frame(*hostile_records("svf"), *hostile_records("mc-sf"))
    build_report(Results(rows), tmp_path, pages=0, pictures=0)
    names = (tmp_path / MARKER).read_text().split("\n")
    stems = {name[:-3] for name in names if name.startswith("tables/") and name.endswith(".md")}
    assert len(stems) > 3
    for stem in stems:
        assert (tmp_path / f"{stem}.tex").stat().st_size > 200
        header = next(csv.reader((tmp_path / f"{stem}.csv").open()))
        assert len(header) == len(set(header))
    figures = [name for name in names if name.endswith(".svg")]
    assert figures
    for name in figures:
        assert (tmp_path / name).with_suffix(".pdf").read_bytes().startswith(b"%PDF")
    # Those of an earlier report go with it.
    build_report(Results(rows.iloc[:0]), tmp_path)
    assert not list((tmp_path / "tables").glob("*.tex"))


def _drawn(values: Mapping[str, tuple[float, ...]]) -> pd.DataFrame:
    families = [name[0] for name in values]
    return pd.DataFrame({"instance": list(values), "family": families, "by_seed": values.values()})


def test_the_spread_is_that_of_means_over_the_same_instances() -> None:
    """Means 0.2 and 0.4 of two seeds: their deviation is 0.1 * sqrt(2); the third lacks a seed."""
    seeds = {"a": (0.1, 0.2), "b": (0.3, 0.6), "c": (0.9,)}
    two: object = (pytest.approx(0.1 * 2**0.5), "k = 2 seeds of the method")
    assert spread(_drawn(seeds)) == two
    assert pd.isna(spread(_drawn({"a": (0.1,), "b": (0.3,)}))[0])
    # Three of one family weigh as much as one of another: (0.1 + 0.3) / 2 and (0.2 + 0.6) / 2.
    alike = {"a1": (0.1, 0.2), "a2": (0.1, 0.2), "a3": (0.1, 0.2), "b": (0.3, 0.6)}
    assert spread(_drawn(alike)) == two
    # The draws of an instance are averaged first: the base is no pair of draw and seed.
    assert spread(_drawn({"u_seed0": (0.1, 0.2), "u_seed1": (0.3, 0.6)})) == two


def test_a_familys_seeds_have_a_spread() -> None:
    """Means 0.2 and 0.4 of the draws 0 and 1; with one that has a single draw there is none."""
    drawn = {"u_seed0": (0.1,), "u_seed1": (0.2,), "u_m_seed0": (0.3,), "u_m_seed1": (0.6,)}
    found: object = (pytest.approx(0.1 * 2**0.5), "k = 2 draws of each family (one seed)")
    assert spread(_drawn(drawn)) == found
    assert pd.isna(spread(_drawn(drawn | {"handover": (0.9,)}))[0])


def _swept(method: str, *tels: int, family: str = "uniform", **changed: object) -> list[object]:
    return [
        record(method=method, instance=family, family=family, tel=tel, seed=seed, **changed)
        for seed, tel in enumerate(tels)
    ]


def test_boards_show_means_with_their_spread() -> None:
    """Seeds at 200 and 400 over OPT 100 are gaps of 50 and 75 %; who draws nothing has no ±."""
    runs = [*_swept("a-max", 200, 400, known_optimum=100), *_swept("svf", 100, known_optimum=100)]
    report = make_report(results_of(*runs), pages=0)  # type: ignore[arg-type]
    boards = {part.slug: part for part in report.shown if isinstance(part, Table)}
    ranked = [slug for slug in boards if slug.startswith("leaderboard-")]
    main = "main-result-table"
    for slugs, key in ((ranked, "gap"), ([main], "gap"), (["gaps"], "penalised")):
        shown = []
        for table in map(boards.__getitem__, slugs):
            place = [column.key for column in table.columns].index(key)
            shown += [row[place].text for row in table.rows(9)]
        # The deviation of 0.5 and 0.75 is 0.25 / sqrt(2).
        assert sorted(text.partition(" ± ")[2] for text in shown) == ["", "17.68 %"]
        note = "is the standard deviation over k = 2 seeds of the method, no standard error."
        assert any(note in boards[slug].note for slug in slugs)
    bars: Any = ranking_figure(boards[main]).figure.axes[0].collections[0]
    assert bars.get_segments()[-1][:, 0] == pytest.approx([62.5 - 17.678, 62.5 + 17.678], abs=0.01)


def test_a_parameter_has_a_curve() -> None:
    """A panel a family; the default, which no text has, is a point; two values are none."""
    own = {"own_name": "mine", "told": "with predictions"}
    runs = []
    for beta, tels in ((0, (200, 400)), (1, (100, 100)), (2, (400, 400))):
        text = "file:mine.py" if beta == 1 else f"file:mine.py(beta={beta})"
        for family in ("uniform", "chat"):
            called = f"beta={beta},tau=0.5"
            runs += _swept(text, *tels, family=family, known_optimum=100, called=called, **own)
    runs += _swept("alpha-beta(alpha=0.1)", 100) + _swept("alpha-beta(alpha=0.2)", 100)
    found = measured_of(*runs)  # type: ignore[arg-type]
    first, second = panels(found)
    assert (first.family, first.parameter) == ("chat", "beta")
    assert (second.family, second.parameter) == ("uniform", "beta")
    assert first.points("gap_low")["mine"].to_dict() == pytest.approx({0: 0.625, 1: 0, 2: 0.75})
    assert first.spreads["spread"].tolist() == pytest.approx([0.25 / 2**0.5, 0, 0])
    drawn = parameter_figure([first, second])
    assert drawn is not None
    assert {"beta", "mine", "chat", "uniform"} <= set(texts_of(drawn.svg))


def test_policies_with_one_parameter_share_a_panel() -> None:
    """A line each over the width of the bins, a point only where all values were run."""
    runs = [
        each
        for width in (5, 10, 20)
        for policy in ("a-min", "a-max")
        for each in _swept(f"{policy} with bins(width={width})", 100 + width)
    ]
    runs += _swept("a-min with bins(width=5)", 900, family="chat")
    found = measured_of(*runs)  # type: ignore[arg-type]
    (panel,) = panels(found)
    assert (panel.family, panel.parameter) == ("uniform", "bins(width)")
    # UB is 105: gaps of 0, 5/110 and 15/120; the instance that one value was run on is in none.
    assert panel.points("gap_low")["a-max"].tolist() == pytest.approx([0, 5 / 110, 15 / 120])
    assert panel.points("gap_low").columns.tolist() == ["a-max", "a-min"]
    assert parameter_figure(panels(measured_of(record()))) is None


def test_a_picture_that_fails_leaves_the_report(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """One line on standard error; tables and all other figures are written."""

    def fails(*_: object) -> None:
        raise RuntimeError("no font")

    monkeypatch.setattr("reports.build.ranking_figure", fails)
    runs = [record(method=method, tel=tel) for method, tel in (("svf", 3), ("mc-sf", 4))]
    build_report(Results(frame(*runs)), tmp_path, pages=0)
    error = capsys.readouterr().err
    assert error == "figure main-result: could not be drawn: RuntimeError: no font\n"
    assert (tmp_path / "tables" / "leaderboard-clairvoyant.md").is_file()
    assert not (tmp_path / "figures" / "main-result.svg").exists()
    assert list((tmp_path / "figures").glob("*.svg"))
