"""The ablation page: a function of its raw rows."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from formulations.registry import formulations
from formulations.spec import format_formulation, read_formulation
from reports.ablation import measure, page

ROWS = """\
group,instance,n,formulation,status,tel,lower_bound,lp_bound,seconds,proved,nodes,columns,entries,\
peak_memory_mb,time_limit,note,solver,threads,cpu,git_commit,finished_utc
"proofs, n = 8",a,8,ilp,feasible,200,100,,30.2,0,5,10,40,100,30,,x,2,c,g,t
"proofs, n = 8",a,8,cpsat,optimal,160,160,,3.0,1,7,10,60,200,30,,x,2,c,g,t
"bounds, n = 40..60",b,45,lp,feasible,50,30,,2.0,0,0,10,20,300,20,,x,2,c,g,t
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


SWITCHES = """\
"switches of x, n = 12",d,12,x,optimal,100,100,90,4.0,1,50,1,1,100,60,,x,2,c,g,t
"switches of x, n = 12",e,12,x,optimal,100,100,80,1.0,1,100,1,1,100,60,,x,2,c,g,t
"switches of x, n = 12",d,12,"x(cut=no)",feasible,100,95,85,60.1,0,900,1,1,400,60,,x,2,c,g,t
"switches of x, n = 12",e,12,"x(cut=no)",optimal,100,100,75,15.0,1,200,1,1,100,60,,x,2,c,g,t
"switches of x, n = 12",d,12,"x(more=yes)",optimal,100,100,,2.0,1,50,1,1,100,60,,x,2,c,g,t
"switches of x, n = 12",e,12,"x(more=yes)",optimal,100,100,,2.0,1,400,1,1,100,60,,x,2,c,g,t
"""


def test_factors_by_hand(rows: Path) -> None:
    """Factors are geometric means of ratios on the same instance; open runs mark them."""
    with (rows / "rows.csv").open("a", encoding="utf-8") as file:
        file.write(SWITCHES)
    page.main([])
    lines = {
        line.split("|")[1].strip(): [cell.strip() for cell in line.split("|")[2:-1]]
        for line in (rows / "ABLATION.md").read_text(encoding="utf-8").splitlines()
        if line.startswith("| `x")
    }
    # Shifted mean of 4 and 1: sqrt(5 · 2) − 1.
    assert lines["`x`"] == ["2", "2", "2.16", "1", "1", "1", "85.0", "100.0"]
    # Seconds: 60/4 and 15/1, so 15, and at least that, since one run ended at its limit.  Nodes
    # only on e: 200/100.  Memory: sqrt(4 · 1).  Mean seconds: sqrt(61 · 16) − 1.
    assert lines["`x(cut=no)`"] == ["2", "1", "30.24", "≥ 15.00", "2.00", "2.00", "80.0", "97.5"]
    # Seconds: sqrt(2/4 · 2/1); nodes: sqrt(1 · 4).
    assert lines["`x(more=yes)`"] == ["2", "2", "2.00", "1.00", "2.00", "1.00", "–", "100.0"]
    assert b"<svg" in (rows / "switches.svg").read_bytes()


def test_open_runs_as_it_is_turn_the_sign(rows: Path) -> None:
    """Where the formulation as it is has no proof, the factor of seconds is an upper one."""
    switched = SWITCHES.replace("x,optimal,100,100,90,4.0,1", "x,feasible,100,90,90,60.0,0")
    with (rows / "rows.csv").open("a", encoding="utf-8") as file:
        file.write(switched)
    page.main([])
    text = (rows / "ABLATION.md").read_text(encoding="utf-8")
    # Both forms have open runs for the first switch; d: 60/60, e: 15/1.
    assert "| ~ 3.87 |" in text
    # d: 2/60, e: 2/1.
    assert "| ≤ 0.26 |" in text


def test_figures_are_drawn(rows: Path) -> None:
    """Both pictures are SVG files, the same ones whenever they are drawn from the same rows."""
    page.main([])
    first = {name: (rows / name).read_bytes() for name in ("bounds.svg", "proofs.svg")}
    assert all(b"<svg" in content for content in first.values())
    page.main([])
    assert {name: (rows / name).read_bytes() for name in first} == first


def test_check_finds_a_stale_page(rows: Path) -> None:
    """--check fails without the page, passes after building it, and fails when rows are added."""
    assert page.main(["--check"]) == 1
    page.main([])
    assert page.main(["--check"]) == 0
    with (rows / "rows.csv").open("a", encoding="utf-8") as file:
        file.write('"proofs, n = 8",c,8,ilp,optimal,10,10,,1,1,1,1,1,1,30,,x,2,c,g,t\n')
    assert page.main(["--check"]) == 1


def test_the_plan_names_known_formulations() -> None:
    """Every planned run has a formulation that the registry knows, and no run stands twice."""
    runs = [(group, instance.name, name) for group, instance, name, _ in measure.planned()]
    assert len(runs) == len(set(runs)) > 50
    for _, _, name in runs:
        formulation, options = read_formulation(name)
        assert format_formulation(formulation, options) == name


def test_every_switch_is_planned() -> None:
    """Each yes-or-no option of a formulation stands in a group of its own formulation, turned."""
    groups = measure.plan()
    for name, formulation in formulations().items():
        turned = [
            format_formulation(formulation, {option.name: not option.default})
            for option in formulation.options
            if isinstance(option.default, bool)
        ]
        found = [
            each
            for title, group in groups.items()
            if title.startswith(page.SWITCHES)
            for each in group.formulations
        ]
        assert set(turned) <= set(found), name
    assert "cpsat-strong(groups=no)" in found


def test_measuring_goes_on_where_it_stopped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A second call adds only what is missing, one row a run; ``--fresh`` begins anew."""
    monkeypatch.setattr(measure, "ROWS", tmp_path / "rows.csv")
    methods = ("cpsat", "cpsat(separation=no)", "ilp")

    def plan() -> dict[str, measure.Group]:
        return {"proofs, n = 3": measure.Group(measure._am1(range(1), 3), 20.0, methods)}

    monkeypatch.setattr(measure, "plan", plan)
    assert measure.main([]) == 0
    first = measure.ROWS.read_text(encoding="utf-8")
    assert measure.main([]) == 0
    assert measure.ROWS.read_text(encoding="utf-8") == first
    with measure.ROWS.open(encoding="utf-8", newline="") as file:
        found = list(csv.DictReader(file))
    assert [(row["formulation"], row["status"]) for row in found] == [
        (name, "optimal") for name in methods
    ]
    # An integer program has an LP bound, no larger than the optimum; CP-SAT has none.
    assert [row["lp_bound"] != "" for row in found] == [False, False, True]
    assert 0 < float(found[2]["lp_bound"]) <= int(found[2]["tel"])
    # A row of the same method under another limit is another run.
    methods = ("cpsat",)
    measure.ROWS.write_text(first.replace(",20.0,", ",30.0,"), encoding="utf-8")
    assert [name for _, _, name, _ in measure.missing()] == ["cpsat"]
    assert measure.main(["--fresh"]) == 0
    assert len(measure.ROWS.read_text(encoding="utf-8").splitlines()) == 2
