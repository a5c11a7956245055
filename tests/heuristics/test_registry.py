"""The registry: one file, one policy, listed without touching anything else."""

from __future__ import annotations

from pathlib import Path

import pytest

import heuristics.policies
from heuristics.registry import policies


def test_every_file_is_a_policy_with_a_summary() -> None:
    """Each file of the folder is listed under its name with hyphens, with a line to print."""
    folder = Path(heuristics.policies.__path__[0])
    expected = {path.stem.replace("_", "-") for path in folder.glob("[!_]*.py")}
    assert set(policies()) == expected
    assert all(policy.summary for policy in policies().values())


def test_a_new_file_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file dropped into the folder is a policy at once; a file without one is refused."""
    monkeypatch.setattr(heuristics.policies, "__path__", [str(tmp_path)])
    policies.cache_clear()
    try:
        (tmp_path / "longest.py").write_text(
            '"""Longest first."""\n'
            "from heuristics.policy import ListPolicy\n"
            'POLICY = ListPolicy("longest", rank=lambda known: (-known.outputs,))\n'
        )
        assert policies()["longest"].summary == "Longest first."
        policies.cache_clear()
        (tmp_path / "nothing.py").write_text('"""No policy."""\n')
        with pytest.raises(TypeError, match="expected a docstring and a POLICY"):
            policies()
    finally:
        policies.cache_clear()
