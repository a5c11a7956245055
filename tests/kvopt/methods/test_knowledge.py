"""What methods are told, and how they are shown."""

from __future__ import annotations

import pytest

from kvopt.methods.knowledge import Knowledge, knowledge, only_bounds, shown_method


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("svf", Knowledge("outputs")),
        ("local-search", Knowledge("outputs", offline=True)),
        ("a-min", Knowledge("file")),
        ("a-min with exact", Knowledge("exact")),
        ("a-min with deciles", Knowledge("deciles")),
        ("alpha-beta(alpha=0.2)", Knowledge("nothing")),
        ("cpsat", Knowledge("unknown")),
        ("<script>", Knowledge("unknown")),
    ],
)
def test_what_a_method_knows(text: str, expected: Knowledge) -> None:
    """Of outputs and arrivals: what the policy declares, and what it is called with."""
    assert knowledge(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a-min with interval", "a-min with interval(1,1000)"),
        ("a-min(ties=permutation) with bins(width=10)", "a-min(ties=permutation) with bins(10)"),
        ("a-min with exact", "a-min with exact"),
        ("no method with interval", "no method with interval"),
    ],
)
def test_how_a_method_is_shown(text: str, expected: str) -> None:
    """A prediction's values are written out; whatever is none of ours stays as it is."""
    assert shown_method(text) == expected


@pytest.mark.parametrize(
    ("text", "name", "expected"),
    [
        ("file:mine.py(beta=2)", "mine", "mine(beta=2)"),
        ("file:age_density.py with bins(width=5)", "age-density", "age-density with bins(5)"),
        ("file:a/mine.py", "mine", "mine [a/mine.py]"),
        # Two files could claim the name, and a published policy has it.
        ("file:age-density.py", "age-density", "age-density [age-density.py]"),
        ("file:svf.py(beta=2)", "svf", "svf(beta=2) [svf.py]"),
        ("file:mine", "mine", "mine [program]"),
    ],
)
def test_a_file_stands_behind_a_name_that_is_not_its_own(
    text: str, name: str, expected: str
) -> None:
    """So that no two methods have one label, and parameters have the room."""
    assert shown_method(text, name) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("bound", True),
        ("bound:bound-lp", True),
        ("highs:ilp(relaxed=yes)", True),
        ("highs:ilp", False),
        ("auto", False),
        ("svf", False),
        ("", False),
    ],
)
def test_what_only_bounds(text: str, expected: bool) -> None:
    """Formulations that bound and relaxations have no schedule of their own."""
    assert only_bounds(text) == expected
