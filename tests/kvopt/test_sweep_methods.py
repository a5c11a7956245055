"""Methods as text: every spelling of one has one canonical text; what is none is named."""

from __future__ import annotations

from pathlib import Path

import pytest

from kvopt.methods.grammar import MethodError, read_method, read_methods, split_methods
from kvopt.methods.own import OwnMethodError, load_own

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize(
    ("text", "pieces"),
    [
        ("a,b(x=1,y=2)", ["a", "b(x=1,y=2)"]),
        (" a , b ,", ["a", "b"]),
        ("", []),
        ("a-min with interval(1,1000),svf", ["a-min with interval(1,1000)", "svf"]),
        ("file:x,y(1).py,svf", ["file:x,y(1).py", "svf"]),
        ("cpsat:cpsat-strong(groups=no,differences=no)", None),
        ("a(b,c", ["a(b,c"]),
        ("a)b,c", ["a)b", "c"]),
    ],
)
def test_commas_inside_parentheses_split_nothing(text: str, pieces: list[str] | None) -> None:
    """Neither do those of a path that ends with .py; unbalanced ones are left to the reader."""
    assert split_methods(text) == ([text] if pieces is None else pieces)


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        ("auto", "auto"),
        (" svf ", "svf"),
        ("highs", "highs"),
        ("highs:ilp-strong", "highs:ilp-strong"),
        ("cpsat:cpsat-strong( groups = no )", "cpsat:cpsat-strong(groups=no)"),
        ("bound:bound-dual", "bound:bound-dual"),
        ("search", "search"),
        # Defaults are left out, positions are spelled.
        ("alpha-beta(alpha=0.2,beta=0.1)", "alpha-beta(beta=0.1)"),
        ("a-min with interval(1,1000)", "a-min with interval"),
        ("a-min with interval(2,500)", "a-min with interval(low=2,high=500)"),
        # A policy that knows the outputs takes no prediction.
        ("svf with interval(1,10)", "svf"),
    ],
)
def test_canonical_text(text: str, canonical: str) -> None:
    """The canonical text is a fixed point, so rows of one method share one name."""
    assert read_method(text).text == canonical
    assert read_method(canonical).text == canonical


def test_a_file_has_one_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """However the path is spelled and wherever the command is called from."""
    path = tmp_path / "mine.py"
    path.write_text("def solve(instance): ...")
    monkeypatch.chdir(tmp_path)
    texts = ["file:mine.py", f"file:{path}", f"file:{tmp_path}/../{tmp_path.name}/mine.py"]
    assert {read_method(text).text for text in texts} == {f"file:{path}"}
    assert [method.text for method in read_methods([",".join(texts)])] == [f"file:{path}"]
    inside = read_method("file:tests/kvopt/bad_methods/segfault.py")
    assert inside.text == "file:tests/kvopt/bad_methods/segfault.py"


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("svg", "unknown method 'svg', expected auto, bound, cpsat, highs, search"),
        ("", "unknown method"),
        ("../../etc/passwd", "unknown method"),
        ("svf(x=1)", "svf takes no parameters"),
        ("a-min with magic", "unknown prediction 'magic'"),
        ("highs:nothing", "unknown formulation 'nothing'"),
        ("cpsat:ilp", "cpsat cannot solve 'ilp', it takes cpsat"),
        ("baron", "not installed"),
        ("file:README.md", "expected a Python file"),
    ],
)
def test_what_is_no_method(text: str, reason: str) -> None:
    """The one line names what there is."""
    with pytest.raises(MethodError) as error:
        read_method(text)
    assert reason in str(error.value)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("source", "reason"),
    [
        ("x = 1", "expected a function solve"),
        ("def solve(instance, magic): ...", "it asks for magic"),
    ],
)
def test_a_file_that_is_no_method(tmp_path: Path, source: str, reason: str) -> None:
    """It is told what a method looks like."""
    path = tmp_path / "mine.py"
    path.write_text(source)
    with pytest.raises(OwnMethodError, match=reason):
        load_own(path)
