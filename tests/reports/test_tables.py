"""The tables: what they count and what they keep apart."""

from typing import Any

import pandas as pd
import pytest

from reports.build import _parts, make_report
from reports.profiles import common_costs
from reports.stored_results import Results
from reports.table import Table
from reports.tables.serving_metrics import serving_table
from schedules.schedule import KEEPS_TOKENS_COVERED, KEEPS_TOKENS_NOTE
from tests.reports.synthetic import frame, measured_of, record, results_of

pytestmark = pytest.mark.usefixtures("no_figures")


def table_of(results: Results, slug: str) -> Table:
    """Return a table of the report, by its slug."""
    tables = (part for part in _parts(results) if isinstance(part, Table))
    return next(each for each in tables if each.slug == slug)


def _table(results: Results, slug: str) -> pd.DataFrame:
    return table_of(results, slug).frame


def test_gaps_to_known_optima() -> None:
    """Mean over schedules, penalty for runs without one, share optimal of all runs."""
    line = _table(
        results_of(
            record(instance="a", tel=100, known_optimum=100),
            record(instance="b", tel=200, known_optimum=100),
            record(instance="c", status="no_solution", known_optimum=100),
        ),
        "gaps",
    ).iloc[0]
    # Gaps 0 and 1/2, and 1 for the run without a schedule; one of three is optimal.
    assert [line[f"gap_opt_{take}"] for take in ("mean", "median", "max")] == [0.25, 0.25, 0.5]
    assert line["penalised"] == pytest.approx(0.5)
    assert line["optimal"] == pytest.approx(1 / 3)
    assert (line["runs"], line["unsolved"]) == (3, 1)


def test_open_and_known_instances_never_share_a_line() -> None:
    """Where OPT is open both gaps stand apart, and the known instance is not in them."""
    results = results_of(
        record(instance="a", tel=100, known_optimum=100),
        record(instance="b", tel=200),
        record(instance="b", method="cpsat:cpsat", tel=160, lower_bound=100, seconds=5),
    )
    known, unknown = _table(results, "gaps"), _table(results, "gaps-open")
    assert known["instances"].tolist() == [1]
    line = unknown[unknown["label"] == "svf"].iloc[0]
    # (200 - 100) / 200 to the bound and (200 - 160) / 200 to the best schedule.
    assert (line["gap_lower_mean"], line["gap_upper_mean"]) == (0.5, pytest.approx(0.2))


def test_competitive_ratio_is_an_interval_unless_known() -> None:
    """The worst instance has the greatest lower end; 'at most' is the greatest upper end."""
    results = results_of(
        record(instance="a", tel=150, known_optimum=100),
        record(instance="b", tel=160),
        record(instance="b", method="highs:ilp", tel=100, lower_bound=80, seconds=9),
    )
    assert table_of(results, "ratios").title == "Worst ratios"
    (line,) = _table(results, "ratios").to_dict("records")
    # 160 / 100 = 1.6 is more than 150 / 100; the bound allows 160 / 80 = 2.
    assert line["worst"] == "[1.600, 2.000]"
    assert (line["instance"], line["standing"], line["most"]) == ("b", "open", 2.0)
    # Known 1.5 and [1.6, 2.0]: the mean is in [1.55, 1.75].
    assert line["mean"] == "[1.550, 1.750]"


def test_seeds_are_averaged_for_ratios() -> None:
    results = results_of(
        record(method="a-random", tel=10000, seed=0, known_optimum=10000),
        record(method="a-random", tel=10508, seed=1, known_optimum=10000),
    )
    (line,) = table_of(results, "ratios").rows(9)
    # The worst, 1.0254, and at most 1.026: what no instance exceeds is rounded up.
    assert [line[place].text for place in (4, 6)] == ["1.025", "1.026"]


def test_solver_table() -> None:
    """Solved, shifted mean with the limit for the crash, integrals from the traces."""
    results = results_of(
        record(
            instance="a",
            method="cpsat:cpsat",
            status="optimal",
            tel=100,
            lower_bound=100,
            seconds=3.0,
            incumbents=[(1.0, 200), (2.0, 100)],
            bounds=[(3.0, 100)],
            nodes=7,
            peak_memory=5_000_000,
        ),
        record(instance="b", method="cpsat:cpsat", status="crashed", seconds=0.1),
    )
    line = _table(results, "solvers").iloc[0]
    assert (line["solved"], line["unsolved"], line["runs"]) == (1, 1, 2)
    assert line["median"] == 3.0
    # sqrt((3 + 1) · (10 + 1)) - 1.
    assert line["shifted"] == pytest.approx(44**0.5 - 1)
    # 1 s of 1, 1 s of 1/2, then 0; the crashed run's instance has no reference.
    assert line["primal"] == pytest.approx(1.5)
    # 3 s without a bound and then closed; 10 s for the crashed run.
    assert line["primal_dual"] == pytest.approx(6.5)
    assert (line["peak"], line["nodes"], line["final"]) == (5_000_000, 7, 0.5)


def test_rows_without_traces_have_no_integrals() -> None:
    """As those of the nightly tables, of which no time of a schedule is known but its last."""
    run = {"method": "cpsat:cpsat", "tel": 100, "lower_bound": 90, "incumbents": []}
    line = _table(results_of(record(instance="a", **run), record(instance="b", **run)), "solvers")
    assert line[["primal", "primal_dual"]].isna().all(axis=None)
    assert line["final"].to_list() == [pytest.approx(0.1)]


def test_what_solvers_had_themselves() -> None:
    """Begun in three of four runs, closed by itself in one; its own gaps are 0 and 1/4."""
    own = {"method": "highs", "engine_formulation": "ilp", "tel": 90, "lower_bound": 90}
    alone = record(instance="a", method="cpsat:cpsat", tel=100, lower_bound=100)
    results = results_of(
        record(instance="a", engine_tel=90, engine_bound=90, **own),
        record(instance="b", engine_tel=120, engine_bound=90, **own),
        record(instance="c", **own | {"engine_formulation": ""}),
        record(instance="d", engine_bound=80, **own),
        alone,
    )
    lines = _table(results, "solvers").set_index("label")
    line = lines.loc["highs"]
    assert (line["started"], line["own_solved"], lines.loc["cpsat:cpsat", "started"]) == (3, 1, 0)
    assert line["own_gap"] == pytest.approx((0 + 1 / 4) / 2)
    assert "seconds, at most 10 a run; threads: 1." in table_of(results, "solvers").note
    assert "itself started" in _titles(results)
    assert "itself started" not in _titles(results_of(alone))


def _titles(results: Results) -> list[str]:
    return [column.title for column in table_of(results, "solvers").columns]


def test_methods_are_compared_on_shared_instances() -> None:
    """The method with the fewest instances leaves until half of all instances are shared."""
    lines = [("a", k) for k in range(4)] + [("b", k) for k in range(4)] + [("c", 9)]
    table = pd.DataFrame(lines, columns=["label", "id"]).assign(tel=1.0)
    common = common_costs(table, "tel")
    assert list(common.costs.columns) == ["a", "b"]
    assert common.left_out == ("c",)
    assert len(common.costs) == 4


@pytest.mark.parametrize(
    "records",
    [
        [],
        [record(tel=10)],
        [record(status="crashed"), record(instance="b", status="error", detail="boom")],
        [record(instance="/x/gone.json", instance_sha256="", status="error", family="", n=0)],
        [record(method="cpsat:cpsat", status="optimal", tel=5, lower_bound=5)],
        [record(method="cpsat:cpsat", status="no_solution", seconds=float("nan"))],
    ],
    ids=["empty", "one row", "all failed", "unread", "one engine", "no seconds"],
)
def test_every_table_survives_little_data(records: list[Any]) -> None:
    parts = make_report(Results(frame(*records))).shown
    lines = [len(part.frame) for part in parts if isinstance(part, Table) and part.slug == "runs"]
    assert sum(lines) == sum(each.instance_sha256 != "" for each in records)


def test_rows_with_missing_columns_and_values() -> None:
    """None, NaN and text numbers as another program may have written them."""
    rows = pd.DataFrame(
        {
            "instance": ["a", None, "c"],
            "method": ["svf", "svf", float("nan")],
            "status": ["feasible", None, "feasible"],
            "instance_sha256": ["1" * 64, "2" * 64, "3" * 64],
            "tel": ["12", float("nan"), "oops"],
            "lower_bound": [float("inf"), 3.5, None],
            "incumbents": ["not json", None, [(1, 2, 3), "ab", (0.5, 12)]],
        }
    )
    (found,) = [part for part in make_report(Results(rows)).shown if part.slug == "runs"]
    assert isinstance(found, Table)
    # By name: the nameless one, a, c.
    assert found.frame["tel"].isna().tolist() == [True, False, True]


def test_failures_are_listed_with_their_reason() -> None:
    results = results_of(
        record(instance="a", status="refused", detail="memory exceeded at 3"),
        record(instance="b", status="no_solution"),
        record(instance="c", status="feasible", ending="memory_limit", detail="no memory"),
    )
    assert _table(results, "failures")["detail"].tolist() == ["memory exceeded at 3", "no memory"]


def test_policies_are_ranked_and_engines_stand_apart() -> None:
    """A mean over fewer instances has no rank, what keeps tokens no gap to OPT; failing is 1."""
    runs = [
        record(instance=name, method=method, tel=tel, known_optimum=100)
        for method, tels in {
            "svf": (100, 125),
            "fcfs": (200, 200),
            "mc-sf": (100, None),
            "h-sf": (100,),
            "vllm-v1": (90, 90),
            "cpsat": (100, 100),
        }.items()
        for name, tel in zip("ab", tels, strict=False)
    ]
    results = results_of(*runs)
    lines = _table(results, "gaps").set_index("label")
    # Gaps 0 and 0.2; 0 and a failure; 0.5 twice.
    assert lines["rank"].dropna().to_dict() == {"svf": 1, "mc-sf": 2, "fcfs": 2}
    assert lines.index.tolist() == ["svf", "fcfs", "mc-sf", "h-sf"]
    assert _table(results, "gaps-solvers")["label"].tolist() == ["cpsat"]
    # OPT of c is open: the best schedule is svf's.
    results = results_of(
        *[record(instance="c", method=m, tel=t) for m, t in (("svf", 90), ("fcfs", 100))],
        record(instance="c", method="cpsat", tel=95, lower_bound=60),
    )
    lines = _table(results, "gaps-open").set_index("label")
    assert lines["rank"].to_dict() == {"svf": 1, "fcfs": 2}
    (mean,) = _table(results, "gaps-open-solvers")["gap_upper_mean"]
    assert mean == pytest.approx(5 / 95)


@pytest.mark.parametrize(("why", "left"), [(KEEPS_TOKENS_COVERED, 0.25), (KEEPS_TOKENS_NOTE, None)])
def test_what_is_left_where_tokens_are_kept(why: str, left: float | None) -> None:
    told = {"batch_time": "linear", "method": "vllm-v1", "tel": 120, "lower_bound": 90}
    table = serving_table(measured_of(record(**told, detail=f"{why}; more")))
    assert table is not None
    (found,) = table.frame["gap_lower"]
    assert (None if pd.isna(found) else found) == left
