"""Ranges of parameters: one method a value, exact in decimal, and only where parameters stand."""

from pathlib import Path

import pytest

from kvopt.methods.grammar import MethodError, read_methods
from kvopt.methods.option_values import format_numbers, read_numbers
from kvopt.methods.parameter_ranges import expand_ranges
from kvopt.methods.predicted_methods import read_predicted


@pytest.mark.parametrize(
    ("text", "expanded"),
    [
        ("svf", ["svf"]),
        ("p(x=1..3)", ["p(x=1)", "p(x=2)", "p(x=3)"]),
        # In floats 0.1 + 2 * 0.1 is 0.30000000000000004, and 0.7 + 0.1 is below 0.8.
        ("p(x=0.1..0.3 step 0.1)", ["p(x=0.1)", "p(x=0.2)", "p(x=0.3)"]),
        # The last that does not exceed the end; below zero; one value.
        ("p(x=0..1 step 0.4)", ["p(x=0)", "p(x=0.4)", "p(x=0.8)"]),
        ("p(x = -1 .. 0 STEP 0.50)", ["p(x =-1)", "p(x =-0.5)", "p(x =0)"]),
        ("p(x=2..2)", ["p(x=2)"]),
        # By position and of the prediction; the last changes first.
        (
            "p(1..2) with bins(5..10 step 5)",
            [f"p({x}) with bins({w})" for x in (1, 2) for w in (5, 10)],
        ),
        # A path is none.
        ("file:a(1..2)/b.py(c=1..2)", ["file:a(1..2)/b.py(c=1)", "file:a(1..2)/b.py(c=2)"]),
    ],
)
def test_a_range_is_a_method_for_each_value(text: str, expanded: list[str]) -> None:
    """Each value is written as short as it can be, all else stays as it is."""
    assert expand_ranges(text) == expanded


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("p(x=0.5..2)", "expected 0.5..2 step STEP"),
        ("p(x=2..1)", "upwards"),
        ("p(x=0..1 step -0.5)", "STEP above 0"),
        ("p(x=0..999999999999 step 0.000000000001)", "at most 1000 values"),
        ("p(x=1..100,y=1..11)", "at most 1000 methods, found 1100"),
    ],
)
def test_what_is_no_range_is_one_line(text: str, told: str) -> None:
    """Before anything is made of it, however long it would be."""
    with pytest.raises(MethodError, match=told):
        expand_ranges(text)


def test_ranges_stand_wherever_several_methods_are_named(tmp_path: Path) -> None:
    """Of published policies and one's own; equal methods once; a value out of range is told."""
    (tmp_path / "mine.py").write_text("def solve(instance, beta=1, tau=0.5):\n    return None\n")
    own = f"file:{tmp_path}/mine.py"
    found = read_methods([f"alpha-beta(beta=0.1..0.3 step 0.1),svf,{own}(beta=0..2)"])
    texts = [each.text.replace(f"{tmp_path}/", "") for each in found]
    # What is the default is not written: alpha-beta's beta, and beta = 1.
    assert texts[0].startswith("alpha-beta")
    assert len(set(texts)) == 7
    assert texts[4:] == ["file:mine.py(beta=0)", "file:mine.py", "file:mine.py(beta=2)"]
    # A row has the default too, or a curve would lack a point.
    called = [each.own and format_numbers(each.own.values) for each in found[4:]]
    assert called == ["beta=0,tau=0.5", "beta=1,tau=0.5", "beta=2,tau=0.5"]
    assert read_numbers("beta=1,tau=0.5,word=x,") == {"beta": 1.0, "tau": 0.5}
    with pytest.raises(MethodError, match=r"expected beta as a number from 0\.001 to 1, found '0'"):
        read_methods(["alpha-beta(beta=0..9)"])


def test_predictions_go_to_the_policies_that_take_them() -> None:
    """Once a value; who knows the outputs, or has a prediction, stays; some come by default."""
    named = read_predicted(["noise(0..1),rank(0.5)"], ["a-min,svf,a-max with bins(5)"])
    values = ["noise(sigma=0)", "noise(sigma=1)", "rank(accuracy=0.5)"]
    wanted = [f"a-min with {each}" for each in values]
    assert [each.text for each in named] == [*wanted, "svf", "a-max with bins(width=5)"]
    default = [each.text for each in read_predicted(["noise(0..1)"], [])]
    assert {"a-min with noise(sigma=1)", "las", "svf", "auto"} <= set(default)
    for wrong in ("nosie(1)", "noise(1..0)", "noise(9)", " "):
        with pytest.raises(MethodError):
            read_predicted([wrong], ["a-min"])
