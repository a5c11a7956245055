"""What is known of an instance, and what cannot be true."""

import pandas as pd

from kvopt.methods.witness import engine_witness
from kvopt.runs.row_columns import Record
from reports.best_references import collect_statements, find_references
from reports.pages.instance_page import facts
from reports.prepared_rows import prepare_rows
from reports.stored_results import Results
from tests.reports.synthetic import digest, frame, record


def _rows(*records: Record) -> pd.DataFrame:
    return prepare_rows(frame(*records))


def _line(*records: object, **more: object) -> pd.Series:
    return Results(frame(*records), **more).reference.iloc[0]  # type: ignore[arg-type]


def test_best_values_come_from_different_runs() -> None:
    """UB is the least TEL, LB the greatest bound; with LB < UB the optimum is open."""
    line = _line(
        record(method="svf", tel=120),
        record(method="highs:ilp", tel=130, lower_bound=100, bound_source="highs", seconds=3),
        record(method="cpsat:cpsat", tel=125, lower_bound=90),
    )
    assert (line["upper"], line["upper_by"]) == (120, "svf")
    assert (line["lower"], line["lower_by"]) == (100, "highs, highs:ilp")
    assert line["standing"] == "open"
    assert pd.isna(line["opt"])


def test_the_schedule_of_a_bound_is_a_policys() -> None:
    """What makes bounds only is named behind the policy whose schedule it has, and after it."""
    found = {"found_by": "policy svf", "lower_bound": 90, "seconds": 0.5, "key": "b"}
    bound = record(method="bound", tel=120, **found)
    assert _line(bound)["upper_by"] == "policy svf, bound"
    assert _line(bound, record(method="mc-sf", tel=120, seconds=9))["upper_by"] == "mc-sf"
    solver = record(method="cpsat:cpsat", tel=120, **found)
    assert _line(solver)["upper_by"] == "policy svf, cpsat:cpsat"


def _proof(method: str, source: str, tel: int = 100) -> Record:
    return record(method=method, tel=tel, lower_bound=tel, bound_source=source, status="optimal")


def test_one_engine_closes_two_make_it_certain() -> None:
    """LB = UB by one engine is one witness; a second one whose model shares no code makes `opt`."""
    first = _proof("highs:ilp", "HiGHS")
    other = _proof("highs:ilp-xy", "HiGHS")
    second = _proof("cpsat:cpsat", "CP-SAT")
    assert _line(first)["standing"] == "one witness"
    assert _line(first, other)["reason"].startswith("one proof only: ")
    assert _line(first, second)["reason"].startswith("solver-reported by ")
    assert _line(first, second)["standing"] == "opt"
    assert _line(first)["opt"] == _line(first, second)["opt"] == 100


def test_two_engines_with_common_code_are_one_witness() -> None:
    """The search and the integer programs have their windows from one file; or one certificate."""
    line = _line(_proof("highs:ilp", "HiGHS"), _proof("search", "search"))
    assert (line["standing"], line["opt"]) == ("one witness", 100)
    assert line["shared"] == "highs:ilp and search share code of the model"

    runs = [_proof(method, "volumes") for method in ("highs:ilp", "cpsat:cpsat")]
    assert _line(*runs)["standing"] == "one witness"


def test_a_bound_of_a_method_of_ones_own_needs_a_certificate() -> None:
    """Its word is no LB and contradicts nothing; the bound from volumes is not its own."""
    own = record(method="file:own.py", tel=100, lower_bound=101, bound_source="own method")
    assert Results(frame(own, record(tel=100))).contradictions == ()
    assert pd.isna(_line(own)["lower"])
    ours = record(method="file:own.py", tel=100, lower_bound=90, bound_source="volumes")
    assert _line(ours)["lower"] == 90


def test_a_stated_optimum_proves_nothing() -> None:
    """No gap is taken against it; the interval is what was shown."""
    line = _line(record(tel=120, lower_bound=90, bound_source="volumes", known_optimum=100))
    assert (line["lower"], line["upper"], line["standing"]) == (90, 120, "open")
    assert pd.isna(line["opt"])


def test_an_optimum_by_construction_needs_no_run() -> None:
    """Where the registry has the instance, the construction is a bound, and half of a proof."""
    told = {digest("a"): {"construction": 100}}
    line = _line(record(tel=120, known_optimum=100), best_known=told)
    assert (line["opt"], line["lower"], line["standing"]) == (100, 100, "construction")
    line = _line(_proof("search", "search"), best_known=told)
    assert line["standing"] == "opt"
    assert line["reason"] == "by construction, solver-reported by search"


def test_registry_raises_what_rows_know() -> None:
    """Better values of the registry count, worse ones do not, and so do its witnesses."""
    witnesses = [engine_witness("cpsat:cpsat", 110), engine_witness("highs:ilp", 110)]
    known = {"upper_bound": 110, "upper_by": "highs", "lower_bound": 110, "witnesses": witnesses}
    line = _line(record(tel=120, lower_bound=50), best_known={digest("a"): known})
    assert (line["upper"], line["lower"], line["standing"]) == (110, 110, "opt")
    assert line["upper_by"] == "highs (registry)"
    worse = {digest("a"): {"upper_bound": 130, "lower_bound": 40, "opt": False}}
    line = _line(record(tel=120, lower_bound=50), best_known=worse)
    assert (line["upper"], line["lower"], line["standing"]) == (120, 50, "open")


def test_a_bound_above_a_schedule_is_a_contradiction() -> None:
    """It is named with both methods, and nothing is concluded from the instance's bounds."""
    rows = frame(
        record(method="svf", tel=100),
        record(method="highs:ilp", tel=130, lower_bound=101),
        record(method="cpsat:cpsat", tel=105, lower_bound=99),
    )
    (found,) = Results(rows).contradictions
    assert (found.lower, found.lower_by) == (101, "highs:ilp")
    assert (found.upper, found.upper_by) == (100, "svf")
    line = Results(rows).reference.iloc[0]
    assert line["standing"] == "contradiction"
    assert pd.isna(line["lower"])
    assert pd.isna(line["opt"])


def test_the_registry_can_be_contradicted_and_a_statement_not() -> None:
    """A bound above the registry's schedule, and a schedule below its bound."""
    for wrong in ({"tel": 99}, {"tel": 120, "lower_bound": 101}):
        assert Results(frame(record(known_optimum=100, **wrong))).contradictions == ()
    told = {digest("a"): {"upper_bound": 100, "lower_bound": 90, "opt": False}}
    assert len(Results(frame(record(tel=120, lower_bound=105)), told).contradictions) == 1
    assert len(Results(frame(record(tel=85)), told).contradictions) == 1
    assert not Results(frame(record(tel=95, lower_bound=92)), told).contradictions


def test_bounds_of_refused_and_failed_runs_are_not_believed() -> None:
    """What was caught already is a failure, not a second time a contradiction."""
    rows = frame(
        record(method="svf", tel=100),
        record(method="cpsat:cpsat", status="error", lower_bound=500),
        record(method="highs:ilp", status="refused", lower_bound=400),
    )
    assert Results(rows).contradictions == ()
    assert pd.isna(Results(rows).reference.iloc[0]["lower"])


def test_equal_names_of_different_instances_are_kept_apart() -> None:
    """The hash says what an instance is, the name only what it is called."""
    rows = frame(
        record(instance="x", instance_sha256="1" * 64, tel=10),
        record(instance="x", instance_sha256="2" * 64, tel=20, lower_bound=15),
    )
    assert len(Results(rows).reference) == 2
    assert Results(rows).contradictions == ()


def test_engines_with_several_limits_are_several_methods() -> None:
    rows = _rows(
        record(method="cpsat:cpsat", tel=10, time_limit=5.0),
        record(method="cpsat:cpsat", tel=10, time_limit=60.0),
        record(method="svf", tel=10, time_limit=5.0),
        record(method="svf", instance="b", tel=10, time_limit=60.0),
    )
    assert set(rows["label"]) == {"cpsat:cpsat, 5 s", "cpsat:cpsat, 60 s", "svf"}


def test_the_latest_of_equal_runs_counts() -> None:
    """An earlier run of the same method, instance, seed and limits is superseded."""
    rows = _rows(
        record(tel=10, finished_utc="2026-01-02T00:00:00+00:00"),
        record(tel=12, finished_utc="2026-01-01T00:00:00+00:00"),
        record(tel=11, seed=1, finished_utc="2026-01-01T00:00:00+00:00"),
    )
    assert rows.loc[rows["superseded"], "tel"].tolist() == [12]


def test_what_integers_prove_stands_apart_from_what_a_solver_reports() -> None:
    """The best bound is CP-SAT's word, 95; the sizes prove 80; the registry's certificate 90."""
    rows = _rows(
        record(method="cpsat:cpsat", tel=100, lower_bound=95, bound_source="CP-SAT"),
        record(method="bound:bound-volume", tel=100, lower_bound=80, bound_source="volumes"),
    )
    (line,) = find_references(rows, collect_statements(rows)).to_dict("records")
    assert (line["lower"], line["lower_kind"], line["certified"]) == (95, "solver-reported", 80)
    told = {digest("a"): {"certified_bound": 90, "certified_by": "certificate: sweep"}}
    (line,) = find_references(rows, collect_statements(rows, told)).to_dict("records")
    assert (line["certified"], line["certified_by"]) == (90, "certificate: sweep (registry)")
    shown = dict(facts({str(key): value for key, value in line.items()}))
    assert shown["solver-reported LB, rounds"] == "95"
    assert shown["certified LB, rounds"] == "90"
    assert shown["gap to the solver-reported LB"] == "5.00 %"
    assert shown["gap to the certified LB"] == "10.00 %"
    others = rows[rows["method"].ne("cpsat:cpsat")]
    alone = find_references(others, collect_statements(others)).iloc[0]
    assert (alone["lower"], alone["lower_kind"]) == (80, "certified")
