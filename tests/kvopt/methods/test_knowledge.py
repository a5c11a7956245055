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
        ("a-min with interval", Knowledge("intervals")),
        ("a-min with deciles", Knowledge("deciles")),
        ("alpha-beta(alpha=0.2)", Knowledge("nothing")),
        ("vllm-v1 with interval", Knowledge("nothing")),
        ("cpsat", Knowledge("unknown")),
        ("file:mine.py", Knowledge("unknown")),
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
        ("a-max with relative(x=0.25)", "a-max with relative(0.25)"),
        ("a-min with exact", "a-min with exact"),
        ("svf", "svf"),
        ("no method with interval", "no method with interval"),
    ],
)
def test_how_a_method_is_shown(text: str, expected: str) -> None:
    """A prediction's values are written out; whatever is none of ours stays as it is."""
    assert shown_method(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("bound", True),
        ("bound:bound-lp", True),
        ("highs:ilp-sparse(groups=yes,relaxed=yes)", True),
        ("highs:ilp(relaxed=yes)", True),
        ("highs:ilp", False),
        ("highs", False),
        ("auto", False),
        ("svf", False),
        ("file:mine.py", False),
        ("", False),
    ],
)
def test_what_only_bounds(text: str, expected: bool) -> None:
    """Formulations that bound and relaxations have no schedule of their own."""
    assert only_bounds(text) == expected
