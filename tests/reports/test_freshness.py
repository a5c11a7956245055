"""What a page tells of its rows: their origin, and how many rest on sources that have changed."""

from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest

from kvopt.methods.fingerprint import fingerprint
from kvopt.methods.grammar import read_method
from reports import freshness
from reports.ablation import page
from reports.build import make_report, report_texts
from reports.freshness import age_text, origin, origin_text, stale_rows, stated, to_be_stated
from reports.nightly.night_pages import texts as nightly_texts
from reports.nightly.night_rows import COLUMNS, read_rows, rows_text, typed
from reports.stored_results import Results
from tests.reports.synthetic import frame, record

NOW = fingerprint(read_method("svf"))
MADE = {"git_commit": "abcdef0123456789", "cpu": "A chip", "cores": 2, "python": "3.12.1"}


def test_where_rows_come_from() -> None:
    """What most rows have comes first; what no row knows is not told of; hours add up."""
    rows = frame(
        record(**MADE, solver="HiGHS 1.15.1", total_seconds=1800.0, method="highs:ilp"),
        record(**MADE | {"cores": 1}, total_seconds=1800.0, seed=1, solver="mine.py"),
        record(**MADE, total_seconds=1800.0, seed=2, finished_utc="2026-02-03T00:00:00+00:00"),
    )
    # Three times half an hour.
    assert str(origin(rows)) == (
        "Rows: 3; commit abcdef012345; 2026-01-01 to 2026-02-03; A chip, 2 cores, A chip, 1 core; "
        "Python 3.12.1; HiGHS 1.15.1; 1.5 hours in all."
    )
    for seconds, told in ((0.0, "0.0 seconds"), (151.0, "2.5 minutes"), (3600.0, "1.0 hours")):
        one = frame(record(finished_utc="", total_seconds=seconds))
        assert str(origin(one)) == f"Rows: 1; {told} in all."
    partly = str(origin(frame(record(**MADE), record(seed=1))))
    assert partly.startswith("Rows: 2; 1 without a commit; commit abcdef012345; ")
    many = frame(*(record(seed=seed, git_commit=f"{seed}" * 40) for seed in range(5)))
    assert " and 2 more; 2026-01-01; " in str(origin(many))


def test_what_is_stale() -> None:
    """Another digest, none, a method that is no more; of one's own file nothing is known."""
    rows = frame(
        record(code=NOW),
        record(code="0" * 16, seed=1),
        record(code="", seed=2),
        record(code=NOW, method="gone-away", seed=3),
        record(code="0" * 16, method="file:mine.py", seed=4),
    )
    assert [stale_rows(rows[at : at + 1]) for at in range(5)] == [0, 1, 1, 1, 0]
    assert stale_rows(rows) == 3
    assert stale_rows(rows.drop(columns="code")) == 4


def test_what_a_page_states_is_read_back() -> None:
    """None of them, one, or thousands; a page that says nothing states nothing."""
    assert age_text(3568, 0) == "All 3,568 runs used the present version of their method's code."
    old = "used an older version of their method's code; new runs may differ."
    assert age_text(3568, 12) == f"12 of 3,568 runs {old}"
    for count in (0, 1, 12_345):
        assert stated(f"# Title\n\n{origin_text(frame(record()), count)}\n## More\n") == count
    assert stated("# Title\n") is None


def test_a_current_page_must_be(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """One that names stale rows stays as it is when there are more, so that no edit renews it."""
    file = tmp_path / "page.md"
    assert to_be_stated("it", file, 9, 3) == 3
    for before, now, expected in ((0, 0, 0), (2, 3, 2), (0, 3, 3)):
        assert capsys.readouterr().err == ""
        file.write_text(age_text(9, before))
        assert to_be_stated("it", file, 9, now) == expected
    assert "it calls itself current, but 3 of 9 are stale" in capsys.readouterr().err


def test_check_fails_once_sources_have_changed(
    write: Callable[..., Path], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The page is current; after an edit it is not, and says so when it is made again."""
    given = {"section": "proofs-8", "n": 8, "tel": 9, "code": "now", "total_seconds": 1.0}
    write(*(record(method=name, **given) for name in ("highs:ilp", "cpsat:cpsat")))
    monkeypatch.setattr(freshness, "_digest", lambda _: "now")
    page.main([])
    age = "\n\nAll 2 runs used the present version of their method's code.\n"
    assert age in page.PAGE.read_text()
    assert page.main(["--check"]) == 0
    monkeypatch.setattr(freshness, "_digest", lambda _: "edited")
    capsys.readouterr()
    assert page.main(["--check"]) == 1
    assert "it calls itself current, but 2 of 2 are stale" in capsys.readouterr().err
    page.main([])
    assert "\n\n2 of 2 runs used an older version of their method" in page.PAGE.read_text()
    assert page.main(["--check"]) == 0


def test_nightly_rows_without_digests_are_read(tmp_path: Path) -> None:
    """Those of before have no such column: all are stale, as the page says."""
    rows = frame(record(tel=9, lower_bound=9, code=NOW)).assign(role="", reproducible=True)
    path = tmp_path / "rows.csv"
    path.write_text(rows_text(typed(rows)))
    assert stale_rows(read_rows(path)) == 0
    path.write_text(rows_text(typed(rows, [name for name in COLUMNS if name != "code"])))
    old = read_rows(path)
    assert stale_rows(old) == 1
    assert rows_text(old) == path.read_text()
    stated_age = "\n\n1 of 1 run used an older version of its method's code; new runs may differ.\n"
    assert stated_age in nightly_texts(old, stale=1)["README.md"]


def test_a_report_tells_where_its_rows_come_from() -> None:
    """In both forms, under the title; rows that were replaced do not count."""
    old = record(tel=9, git_commit="b" * 40)
    new = record(tel=9, **MADE, finished_utc="2026-02-03T00:00:00+00:00")
    both = pd.concat([frame(old), frame(new)], ignore_index=True)
    files = report_texts(make_report(Results(both)))
    assert " Rows: 1; commit `abcdef012345`; 2026-02-03; " in files["README.md"]
    origin = "Rows: 1; commit abcdef012345; 2026-02-03; A chip, 2 cores; Python 3.12.1; "
    assert origin in files["index.html"].partition("<footer>")[2]
