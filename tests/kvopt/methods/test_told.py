"""What methods are told, and how they are shown."""

from __future__ import annotations

import pytest

from kvopt.methods.told import Told, only_bounds, shown_method, told


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("svf", Told("outputs")),
        ("local-search", Told("outputs", offline=True)),
        ("a-min", Told("file")),
        ("a-min with exact", Told("exact")),
        ("a-min with interval", Told("intervals")),
        ("alpha-beta(alpha=0.2)", Told("nothing")),
        ("vllm-v1 with interval", Told("nothing")),
        ("cpsat", Told("unknown")),
        ("file:mine.py", Told("unknown")),
        ("<script>", Told("unknown")),
    ],
)
def test_what_a_method_is_told(text: str, expected: Told) -> None:
    """Of outputs and arrivals: what the policy declares, and what it is called with."""
    assert told(text) == expected


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
        ("highs:lp-cliques", True),
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
