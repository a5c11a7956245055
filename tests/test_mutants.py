"""The mutants are changes of what runs, and the nearest tests come first."""

from __future__ import annotations

import ast

import pytest

from tests.mutants import by_distance
from tests.mutated import FOLDERS, ROOT, drawn, mutants


def _changed(text: str) -> set[str]:
    found = set()
    for each in mutants("x.py", text):
        whole = text.encode()
        found.add((whole[: each.start] + each.after.encode() + whole[each.end :]).decode())
    return found


@pytest.mark.parametrize(
    ("text", "changed"),
    [
        ("é = a * b", {"é = (a + b)"}),
        ("x = a < b <= c", {"x = (a <= b <= c)", "x = (a < b < c)"}),
        ("f(0)", {"f((1))", "f((-1))", "pass"}),
        ("x = True", {"x = (False)"}),
        ("x = not a", {"x = (a)"}),
        ("if a:\n    x += b", {"if (not a):\n    x += b", "if a:\n    x -= b", "if a:\n    pass"}),
        ("x = a and b", {"x = (a or b)"}),
        # Nothing of these runs, or is a number that decides anything.
        ('def f(a: int | 3 = b) -> 4:\n    """Return 1."""\n    return f"{a + 1}"', set()),
        ("@njit(cache=True)\ndef f(): return a", set()),
        ("if TYPE_CHECKING:\n    x = 1", set()),
    ],
)
def test_what_is_changed(text: str, changed: set[str]) -> None:
    """Operators, comparisons, numbers, truth values and statements, each alone."""
    assert _changed(text) == changed


def test_mutants_are_programs() -> None:
    """Each can be read and differs from its source in what it says."""
    file = "formulations/valid/volumes.py"
    whole = (ROOT / file).read_bytes()
    found = list(mutants(file, whole.decode()))
    assert len(found) > 20
    for each in found:
        changed = whole[: each.start] + each.after.encode() + whole[each.end :]
        assert ast.dump(ast.parse(changed)) != ast.dump(ast.parse(whole)), each


@pytest.mark.slow("repeats")
def test_a_draw_repeats() -> None:
    """The seed decides which places are drawn, from every folder."""
    some = drawn(60, 1)
    assert some == drawn(60, 1) != drawn(60, 2)
    assert {folder for folder in FOLDERS for each in some if each.file.startswith(folder)} == {
        *FOLDERS
    }


@pytest.mark.slow("repeats")
def test_the_nearest_tests_come_first() -> None:
    """Those that import a module themselves, and all others behind them."""
    files = by_distance("formulations/search/backward.py")
    assert files[0] == "tests/formulations/test_sweep.py"
    assert "tests/test_readme.py" in files
