"""What the tests of reports share."""

from collections.abc import Callable
from pathlib import Path

import pytest

from kvopt.runs.row_columns import Record
from kvopt.store.row_files import export_rows
from reports.ablation import page
from tests.reports.synthetic import frame


@pytest.fixture
def write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Path]:
    """Writes rows of the ablation to a folder of their own, where the page is built from them."""
    for name, file in (("ROWS", "rows.csv"), ("PAGE", "ABLATION.md")):
        monkeypatch.setattr(page, name, tmp_path / file)
    monkeypatch.setattr(page, "FOLDER", tmp_path)

    def written(*records: Record) -> Path:
        export_rows(frame(*records), page.ROWS)
        return tmp_path

    return written
