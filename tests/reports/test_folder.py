"""The folder of a report: nothing that kvopt did not write is written over or removed."""

from pathlib import Path

import pytest

import reports.build
import reports.nightly.__main__ as nightly
from kvopt.store import Store
from reports.build import build_report
from reports.report_folder import MARKER, REPORT, check_place, list_text, write_files
from reports.stored_results import Results
from support.output_checks import OutputError
from tests.reports.folders import fill, held
from tests.reports.synthetic import frame

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.slow("walks")
@pytest.mark.parametrize(
    "mine", ["README.md", "index.html", "tables/a.md", "instances/a.html", "notes.txt", ".git/HEAD"]
)
def test_folders_of_someone_else_are_refused(
    mine: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Whatever lies in it: exit code 2, one line, before rows are looked at, and all is left."""
    Store(tmp_path / "runs.sqlite").close()
    out = tmp_path / "out"
    fill(out, {mine: "mine"})
    assert reports.build.main(["--store", str(tmp_path / "runs.sqlite"), "--out", str(out)]) == 2
    told = capsys.readouterr().err
    assert told.count("\n") == 1
    assert f"found {mine.split('/')[0]!r} in it" in told
    with pytest.raises(OutputError, match="that of an earlier night"):
        check_place("--out", out, nightly._NIGHT)
    with pytest.raises(OutputError):
        build_report(Results(frame()), out)
    assert held(out) == {mine: "mine"}


def test_the_checkout_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """``--out .`` in it would replace README.md and remove what lies in ``instances/``."""
    Store(tmp_path / "runs.sqlite").close()
    monkeypatch.chdir(ROOT)
    readme = (ROOT / "README.md").read_bytes()
    for out in (".", "reports", "reports/nightly"):
        assert reports.build.main(["--store", str(tmp_path / "runs.sqlite"), "--out", out]) == 2
        assert "expected an empty folder" in capsys.readouterr().err
    assert (ROOT / "README.md").read_bytes() == readme


def test_a_file_of_ones_own_among_those_of_a_report(tmp_path: Path) -> None:
    """It stays; a report that needs its name is refused before any file of it is written."""
    write_files(tmp_path, {"README.md": "1", "tables/a.md": "1"})
    fill(tmp_path, {"tables/b.md": "mine"})
    write_files(tmp_path, {"README.md": "2"})
    marker = list_text(["README.md"], REPORT)
    after = {"README.md": "2", "tables/b.md": "mine", MARKER: marker}
    assert held(tmp_path) == after
    with pytest.raises(OutputError, match=r"tables/b\.md"):
        write_files(tmp_path, {"README.md": "3", "tables/b.md": "3"})
    assert held(tmp_path) == after


def test_a_list_removes_nothing_outside(tmp_path: Path) -> None:
    root = tmp_path / "out"
    names = ["../mine.md", "tables/../../mine.md", "tables/deep/a.md", "tables/old.md", "x.md"]
    fill(root, dict.fromkeys(["x.md", "tables/deep/a.md", "tables/old.md"], "mine"))
    fill(root, {MARKER: list_text(names, REPORT), "../mine.md": "mine"})
    write_files(root, {"README.md": "1"})
    assert (tmp_path / "mine.md").exists()
    assert set(held(root)) == {"x.md", "tables/deep/a.md", "README.md", MARKER}


def test_a_cut_report_is_resumed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The list is there before the first file, so the folder is known; leftovers are nobody's."""
    (tmp_path / ".kvopt-abcdefgh").touch()

    def full(*_: object) -> None:
        raise OSError("disk full")

    with monkeypatch.context() as patched:
        patched.setattr("reports.report_folder._write", full)
        with pytest.raises(OSError, match="disk full"):
            write_files(tmp_path, {"README.md": "1", "tables/a.md": "1"})
    fill(tmp_path, {"tables/a.md": "torn"})
    write_files(tmp_path, {"README.md": "2"})
    assert not (tmp_path / "tables" / "a.md").exists()
