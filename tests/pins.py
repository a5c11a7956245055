"""Pinned versions, and the tests that need them."""

import re
from importlib.metadata import version
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]


def versions_of(text: str) -> list[tuple[str, str]]:
    """Return name and version of every package that a file of pins names."""
    pairs = re.findall(r"^([\w.-]+)==([\w.]+)", text, flags=re.MULTILINE)
    return [(re.sub(r"[-_.]+", "-", name).lower(), version) for name, version in pairs]


def as_pinned(*names: str) -> pytest.MarkDecorator:
    """Return the mark of a test of what is committed, which other versions make otherwise."""
    pins = dict(versions_of((ROOT / "constraints.txt").read_text(encoding="utf-8")))
    others = [name for name in names if version(name) != pins[name]]
    return pytest.mark.skipif(bool(others), reason=f"not as pinned: {', '.join(others)}")
