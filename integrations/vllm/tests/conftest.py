"""The policies that the ledgers were recorded with, README's among them, and the requests."""

import re
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace

import pytest

LEDGERS = Path(__file__).parent / "ledgers"
_README = Path(__file__).resolve().parents[3] / "README.md"


@dataclass(eq=False)
class Seen:
    """A request as the queue reads it."""

    num_prompt_tokens: int
    max_tokens: int
    sampling_params: SimpleNamespace
    num_output_tokens: int = 0
    num_output_placeholders: int = 0
    arrival_time: float = 0.0


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
