"""The policies that the ledgers were recorded with: that of README, and one in the folder."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

LEDGERS = Path(__file__).parent / "ledgers"
_README = Path(__file__).resolve().parents[3] / "README.md"


@pytest.fixture
def own_policies(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Make a working folder with ``my_policy.py`` as README has it, and ``predicted.py``."""
    shown = re.search(
        r"<!-- file: my_policy.py -->\n```python\n(.*?)```", _README.read_text(), re.S
    )
    assert shown is not None
    (tmp_path / "my_policy.py").write_text(shown[1])
    (tmp_path / "predicted.py").write_text((LEDGERS / "predicted.py").read_text())
    monkeypatch.chdir(tmp_path)
    return tmp_path
