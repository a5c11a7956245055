"""The gap: one formula, in one place, for numbers and for columns."""

from __future__ import annotations

import re

import pandas as pd
import pytest

from kvopt.places import PACKAGES
from schedules.gap import gap, gaps
from tests.docs.pages import ROOT

#: (a - b) / a in the code, whatever a and b are.
_FORMULA = re.compile(r"\(\s*([\w.]+) - [^()]{1,40}\) / \1\b")


def test_numbers_and_columns_agree() -> None:
    """(200 − 150) / 200 = 1/4; none; −1/2 below the reference; 0 has none; what is missing, too."""
    values, references = [200, 100, 100, 0], [150, 100, 150, 0]
    assert list(map(gap, values, references)) == [0.25, 0, -0.5, 0]
    found = gaps(pd.Series(values), pd.Series(references))
    assert found[:3].tolist() == pytest.approx([0.25, 0, -0.5])
    assert found[3:].isna().all()
    assert gaps(pd.Series([None, 5], dtype="Int64"), pd.Series([1, None])).isna().all()


def test_the_formula_stands_in_one_place() -> None:
    """No other source of the project divides a difference by its first term.

    The integral of reports names its own in a docstring.
    """
    places = [
        path.relative_to(ROOT).as_posix()
        for name in PACKAGES
        for path in (ROOT / name).rglob("*.py")
        if _FORMULA.search(path.read_text(encoding="utf-8"))
    ]
    assert sorted(places) == ["reports/metrics.py", "schedules/gap.py"]
    assert _FORMULA.search("100 * (row.tel - bound) / row.tel")
