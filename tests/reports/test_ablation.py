"""The ablation page: a function of its raw rows."""

from __future__ import annotations

from pathlib import Path

import pytest

from reports.ablation import measure, page

ROWS = """\
group,instance,n,formulation,status,tel,lower_bound,seconds,proved,nodes,columns,entries,\
peak_memory_mb,time_limit,note,solver,threads,cpu,git_commit,finished_utc
"proofs, n = 8",a,8,ilp,feasible,200,100,30.2,0,5,10,40,100,30,,x,2,c,g,t
"proofs, n = 8",a,8,cpsat,optimal,160,160,3.0,1,7,10,60,200,30,,x,2,c,g,t
"bounds, n = 40..60",b,45,lp,feasible,50,30,2.0,0,0,10,20,300,20,,x,2,c,g,t
"""


@pytest.fixture
def rows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Three raw rows, and a folder of their own for what is built from them."""
    monkeypatch.setattr(page, "FOLDER", tmp_path)
    monkeypatch.setattr(page, "ROWS", tmp_path / "rows.csv")
    monkeypatch.setattr(page, "PAGE", tmp_path / "ABLATION.md")
    page.ROWS.write_text(ROWS, encoding="utf-8")
    return tmp_path


def test_numbers_by_hand(rows: Path) -> None:
    """Bounds are shares of the best TEL; an unproved run counts with its limit."""
    assert page.main([]) == 0
    text = (rows / "ABLATION.md").read_text(encoding="utf-8")
    # 100 of the best TEL 160 is 62.5 %; the 30.2 s without a proof count as 30.
    assert "| `ilp` | 1 | 62.5 | 0 | 30.00 |" in text
    assert "| `cpsat` | 1 | 100.0 | 1 | 3.00 |" in text
    assert "| `lp` | 1 | 60.0 | 2.00 |" in text


def test_figures_are_drawn(rows: Path) -> None:
    """Both pictures are SVG files."""
    page.main([])
    for name in ("bounds.svg", "proofs.svg"):
        assert b"<svg" in (rows / name).read_bytes()


def test_check_finds_a_stale_page(rows: Path) -> None:
    """--check fails without the page, passes after building it, and fails when rows are added."""
    assert page.main(["--check"]) == 1
    page.main([])
    assert page.main(["--check"]) == 0
    with (rows / "rows.csv").open("a", encoding="utf-8") as file:
        file.write('"proofs, n = 8",c,8,ilp,optimal,10,10,1,1,1,1,1,1,30,,x,2,c,g,t\n')
    assert page.main(["--check"]) == 1


def test_the_plan_names_known_formulations() -> None:
    """Every planned run has a formulation that the registry knows, and no run stands twice."""
    runs = [(instance.name, name) for _, instance, name, _ in measure.planned()]
    assert len(runs) == len(set(runs)) > 50


def test_measuring_goes_on_where_it_stopped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A second call adds only what is missing; rows stand one a run."""
    monkeypatch.setattr(measure, "ROWS", tmp_path / "rows.csv")
    monkeypatch.setattr(measure, "PLAN", {"proofs, n = 3": (3, range(2), 20.0, ("cpsat",))})
    assert measure.main() == 0
    first = measure.ROWS.read_text(encoding="utf-8")
    assert measure.main() == 0
    assert measure.ROWS.read_text(encoding="utf-8") == first
    # The header and two runs.
    assert len(first.splitlines()) == 3
    assert first.count("optimal") == 2
