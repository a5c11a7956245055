"""The comparison of a night with the committed rows: what fails it, what is only told."""

from contextlib import closing
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from kvopt.runs.execute import execute
from kvopt.store import Store
from kvopt.suites import Suite, read_suite
from kvopt.sweeps.plan import plan
from reports.nightly import __main__ as command
from reports.nightly.compare import Comparison, compare
from reports.nightly.night_pages import WORTH_PAGE, comparison_text, readme_text, texts, worth_pages
from reports.nightly.night_rows import FILES, RowsError, nightly_rows, read_rows, rows_text, typed
from tests.reports.synthetic import frame, record


def _row(key: str, section: str, method: str, tel: int, bound: int, status: str) -> dict[str, Any]:
    """Return a row of instance ``a`` as a night keeps it."""
    told: dict[str, Any] = {"key": key, "section": section, "method": method, "status": status}
    told |= {"tel": tel, "lower_bound": bound, "found_by": "policy svf", "bound_source": "volumes"}
    told |= {"instance_sha256": "a" * 64, "family": "am1", "time_limit": 60.0, "git_commit": "c"}
    return asdict(record(**told))


POLICY = _row("1", "policies", "svf", 100, 80, "feasible")
PROOF = _row("2", "proofs", "cpsat", 90, 90, "optimal")
BOUND = _row("3", "bounds", "bound:bound-lp", 95, 85, "feasible")
ANYTIME = _row("4", "anytime", "auto", 91, 86, "feasible")
ROLES = {"policies": "policies", "proofs": "exact", "bounds": "bounds", "anytime": "anytime"}


def _suite(tmp_path: Path) -> Suite:
    sections = "".join(
        f'[[section]]\nname = "{name}"\nrole = "{role}"\nmethods = ["svf"]\n'
        f'instances = ["tiny/handover.json"]\nreproducible = {str(name != "anytime").lower()}\n'
        for name, role in ROLES.items()
    )
    path = tmp_path / "night.toml"
    path.write_text(f'summary = "a test"\n{sections}')
    return read_suite(path)


@pytest.fixture
def suite(tmp_path: Path) -> Suite:
    return _suite(tmp_path)


def _night(suite: Suite, *rows: dict[str, Any], **change: Any) -> pd.DataFrame:
    """Return a night of the four rows; ``change`` is made to the last one given."""
    given = list(rows) or [POLICY, PROOF, BOUND, ANYTIME]
    given[-1] = given[-1] | change
    frame = pd.DataFrame(given)
    return nightly_rows(frame, suite, dict(zip(frame["key"], frame["section"], strict=True)))


def _compare(suite: Suite, row: dict[str, Any], **change: Any) -> Comparison:
    return compare(_night(suite, row), _night(suite, row, **change))


_LARGE = BOUND | {"lower_bound": 1_000_000, "tel": 2_000_000}
_OPEN = PROOF | {"status": "feasible", "tel": 95, "lower_bound": 85}


@pytest.mark.parametrize(
    ("row", "change", "part", "told"),
    [
        (POLICY, {"tel": 101}, "failures", "TEL 100 before, now 101"),
        (POLICY, {"tel": None, "status": "no_solution"}, "failures", "TEL 100 before, now none"),
        (POLICY, {"status": "refused", "detail": "at 3"}, "failures", "refused a schedule: at 3"),
        (POLICY, {"status": "crashed", "detail": "SIGSEGV"}, "failures", "now crashed: SIGSEGV"),
        (POLICY, {"lower_bound": 70}, "failures", "bound 80 before, now 70"),
        (PROOF, {"status": "feasible", "lower_bound": 89}, "failures", "the optimum 90 is lost"),
        (PROOF, {"tel": 89, "lower_bound": 89}, "failures", "two optima, 90 before and 89 now"),
        (BOUND, {"lower_bound": 83}, "failures", "bound 85 before, now 83"),
        (BOUND, {"lower_bound": None}, "failures", "bound 85 before, now none"),
        (ANYTIME, {"status": "error", "detail": "boom"}, "failures", "now error: boom"),
        (ANYTIME, {"status": "refused", "detail": "at 3"}, "failures", "refused a schedule"),
        (POLICY, {"instance_sha256": "b" * 64}, "failures", "this run is missing"),
        (POLICY, {"seed": 1}, "failures", "this run is missing"),
        # A bound may lose a ten-thousandth: 85 may become 84, 1,000,000 no less than 999,900.
        (_LARGE, {"lower_bound": 999_899}, "failures", "bound 1000000 before, now 999899"),
        (_LARGE, {"lower_bound": 999_900}, "", ""),
        (BOUND, {"lower_bound": 84}, "", ""),
        # The order of an LP's solution may be another one.
        (BOUND, {"tel": 99}, "", ""),
        (POLICY, {"tel": 99}, "better", "TEL 100 before, now 99"),
        (BOUND, {"lower_bound": 86}, "better", "bound 85 before, now 86"),
        (BOUND | {"tel": 90}, {"status": "optimal", "lower_bound": 90}, "better", "now optimal"),
        # How far an engine without a proof came depends on the machine, or a policy that stopped.
        (ANYTIME, {"tel": 99}, "changed", "TEL 91 before, now 99"),
        (ANYTIME, {"lower_bound": 81}, "changed", "bound 86 before, now 81"),
        (_OPEN, {"tel": 96}, "changed", "TEL 95 before, now 96"),
        (_OPEN, {"lower_bound": 80}, "changed", "bound 85 before, now 80"),
        (POLICY | {"ending": "time_limit"}, {"tel": 105}, "changed", "TEL 100 before, now 105"),
        (ANYTIME, {"seconds": 60.0}, "slower", "auto on a, seed 0: 1.0 s before, now 60.0 s"),
        # Twice as long, or a second longer, is what machines do.
        (POLICY, {"seconds": 2.9}, "", ""),
        (POLICY | {"seconds": 30.0}, {"seconds": 50.0}, "", ""),
    ],
)
def test_a_night_of_one_run(
    suite: Suite, row: dict[str, Any], change: dict[str, Any], part: str, told: str
) -> None:
    """Refused schedules, lost optima, missing runs and worse results fail, each in one line."""
    comparison = _compare(suite, row, **change)
    assert bool(comparison.failures) == (part == "failures")
    if not part:
        assert comparison == Comparison((), (), (), (), 1)
        return
    lines = getattr(comparison, part)
    assert any(told in line for line in lines)
    assert all("\n" not in line for line in lines)


def test_a_contradiction_fails(suite: Suite) -> None:
    """A bound of tonight above a schedule of the reference, or of the registry."""
    lying = _night(suite, POLICY, BOUND, lower_bound=101)
    comparison = compare(_night(suite, POLICY, BOUND), lying)
    assert any("CONTRADICTION" in line for line in comparison.failures)
    known = {"a" * 64: {"upper_bound": 84, "lower_bound": 80, "opt": False}}
    night = _night(suite, POLICY, BOUND)
    # Both nights contradict the registry: whoever changed the registry hears of it there.
    assert not compare(night, night, known).failures
    assert compare(_night(suite, POLICY | {"lower_bound": 70}), night, known).failures


def test_new_runs_are_told(suite: Suite) -> None:
    comparison = compare(_night(suite, POLICY), _night(suite, POLICY, PROOF))
    assert not comparison.failures
    assert comparison.changed == ("proofs: cpsat on a, seed 0: new",)


def test_rows_survive_the_file(suite: Suite, tmp_path: Path) -> None:
    """Names that hold commas, quotes and what looks like a missing value come back as they were."""
    odd = POLICY | {"instance": 'NA,"x"', "detail": "nan", "family": "null", "tel": None}
    rows = _night(suite, odd, PROOF)
    path = tmp_path / "rows.csv"
    path.write_text(rows_text(rows))
    pd.testing.assert_frame_equal(read_rows(path), rows)
    assert not compare(read_rows(path), rows).failures
    assert list(rows.columns) == list(FILES["rows.csv"])


@pytest.mark.parametrize(
    "text", ["", "a,b\n1,2\n", ",".join(FILES["rows.csv"]) + "\n" + "x," * 33 + "x\n"]
)
def test_a_damaged_file_is_one_line(tmp_path: Path, text: str) -> None:
    """No traceback for an empty file, missing columns or text where numbers belong."""
    path = tmp_path / "rows.csv"
    path.write_text(text)
    with pytest.raises(RowsError) as caught:
        read_rows(path)
    assert "\n" not in str(caught.value)


@pytest.mark.slow("walks")
def test_the_tables_are_a_function_of_the_rows(suite: Suite) -> None:
    """The same rows give the same files, reproducible sections apart from the others."""
    files = texts(_night(suite), stale=0)
    assert files == texts(_night(suite), stale=0)
    assert "tables/gaps-open.md" in files or "tables/gaps.md" in files
    assert any(name.startswith("anytime/") for name in files)
    told = files["README.md"]
    assert "`proofs` (1 run, 1 instance, 1 method)" in told
    for name in files:
        assert name == "README.md" or f"({name})" in told
    # What the machine decides stands in no reproducible table.
    assert not any("auto" in text for name, text in files.items() if name.startswith("tables/"))


def test_what_stands_in_a_name_does_nothing_in_markdown(suite: Suite) -> None:
    row = POLICY | {"instance": "a`<script>|[x](y)"}
    text = comparison_text(_compare(suite, row, tel=101))
    assert "# The night FAILED" in text
    assert "- ``policies: svf on a`<script>|[x](y), seed 0: TEL 100 before, now 101" in text


@pytest.mark.slow("walks")
def test_a_night_in_small(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Runs missing, then taken as the reference, compared, and compared with what was changed."""
    path = tmp_path / "night.toml"
    path.write_text(
        'summary = "a test"\n[[section]]\nname = "p"\nmethods = ["svf", "fcfs"]\n'
        'instances = ["tiny/handover.json", {family = "am1", set = {n = 4}}]\n'
    )
    store = Store(tmp_path / "night.sqlite")
    tasks = plan(read_suite(path).sections)
    for task in tasks[:-1]:
        store.put(execute(task))
    home = tmp_path / "home"
    monkeypatch.setattr(command, "FOLDER", home)
    monkeypatch.setattr(command, "known_values", dict)
    night = ["--suite", str(path), "--store", str(tmp_path / "night.sqlite")]
    # 2 methods on 2 instances, of which one is not stored.
    assert command.main([*night, "--update"]) == 2
    store.put(execute(tasks[-1]))
    store.close()
    assert command.main([*night, "--update"]) == 0
    assert command.main(["--check"]) == 0
    out = tmp_path / "out"
    assert command.main([*night, "--out", str(out)]) == 0
    assert "The night passed" in (out / "COMPARISON.md").read_text()
    assert (out / "rows.csv").read_bytes() == (home / "rows.csv").read_bytes()
    # A suite with the name predictions has a file and a section of its own.
    own = tmp_path / "predictions.toml"
    methods = '["srpt-predicted with noise(0..1 step 0.5)", "las"]'
    own.write_text(path.read_text().replace('["svf", "fcfs"]', methods))
    with closing(Store(tmp_path / "night.sqlite")) as store:
        for task in plan(read_suite(own).sections):
            store.put(execute(task))
    assert command.main(["--suite", str(own), *night[2:], "--update"]) == 0
    assert len(read_rows(home / "predictions.csv", FILES["predictions.csv"])) == 2 * 4
    assert f"({WORTH_PAGE})" in (home / "README.md").read_text()
    assert command.main(["--check"]) == 0
    (home / WORTH_PAGE).unlink()
    assert command.main(["--check"]) == 1
    worse = (home / "rows.csv").read_text().replace(",svf,0,", ",svf,7,")
    (home / "rows.csv").write_text(worse)
    assert command.main([*night, "--out", str(out)]) == 1
    (home / "README.md").write_text("by hand")
    assert command.main(["--check"]) == 1


def test_what_predictions_are_worth() -> None:
    """The figure, the page of tables, and the README's sentence, between its marks."""
    tels = {"las": 250, "svf": 110, "a-min with bins(width=1)": 105}
    tels |= {f"srpt-predicted with noise(sigma={k})": 100 * 2 ** (k - 1) for k in (1, 2, 3)}
    pairs = [(draw, name) for draw in "ab" for name in tels]
    given = [record(instance=a, method=b, tel=tels[b], known_optimum=100) for a, b in pairs]
    rows = typed(frame(*given).assign(role="policies", reproducible=True), FILES["predictions.csv"])
    _, files, sentence = worth = worth_pages(rows, stale=0)
    assert sorted(files) == ["figures/predictions.svg", WORTH_PAGE]
    assert "All 12 runs used the present version" in files[WORTH_PAGE]
    # The gap of las is 0.6: between 1/2 and 3/4 it is met after 0.4 of a step.
    assert sentence.endswith(" of a log-normal error: 2.4 (`uniform`).\n")
    readme = "<!-- predictions: python x -->\nold\n<!-- end -->\nrest\n"
    assert readme_text(readme, rows, None, 0, worth) == readme.replace("old\n", sentence)
    assert readme_text(readme, rows, None, 0) == readme


@pytest.mark.parametrize(
    "arguments",
    [[], ["--store", "x"], ["--out", "x"], ["--nope"], ["--store", "x", "--out", "y", "--update"]],
)
def test_bad_usage(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert command.main(arguments) == 2
    assert len(capsys.readouterr().err.splitlines()) == 1
