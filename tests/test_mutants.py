"""The mutants are changes of what runs, and the nearest tests come first."""

from __future__ import annotations

import ast
import re
from dataclasses import replace

import pytest

from tests.mutants import ROWS, Row, by_distance, is_to_run, read_rows
from tests.mutated import FOLDERS, ROOT, digest_of, drawn, mutants

#: Equal changes of a file that are looked through for the one that a row is of.
MOST_EQUAL = 500


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


def _quick() -> list[list[Row]]:
    """Return the rows of the quick tier, those of a place together, the first ones first."""
    found: dict[str, list[Row]] = {}
    for row in read_rows(ROWS):
        if row.tier == "quick":
            found.setdefault(row.digest, []).append(row)
    return list(found.values())


def test_rows_are_of_places_that_were_drawn() -> None:
    """Each place once a commit; its digest is that of what was changed, by the recipe."""
    rows = read_rows(ROWS)
    assert len({(row.digest, row.tier, row.commit) for row in rows}) == len(rows)
    for row in rows:
        words = (row.file, row.before, row.after)
        digests = (digest_of(0, *words, k + 1) for k in range(MOST_EQUAL))
        assert row.digest in digests, row
        assert row.file.startswith(FOLDERS)


@pytest.mark.slow("repeats")
def test_rows_are_of_the_present_sources() -> None:
    """Where most places are other ones than those that were run, it is time to run again."""
    ran = {row.digest for row in read_rows(ROWS)}
    assert 2 * len(ran & {each.digest for each in drawn(len(ran), 0)}) > len(ran)


def test_rows_name_tests() -> None:
    """What catches a mutant is a test that there is, the end of pytest, or the limit on time."""
    for row in read_rows(ROWS):
        if not row.test or re.fullmatch(r"exit code -\d+|the limit", row.test):
            continue
        path, _, name = row.test.partition("::")
        name = re.escape(name.partition("[")[0])
        text = (ROOT / path).read_text(encoding="utf-8")
        assert re.search(rf"^ *(async )?def {name}\(", text, re.MULTILINE), row


def test_what_no_quick_test_catches_has_a_note() -> None:
    """It says why no test can, or what is not tested."""
    assert [rows[-1] for rows in _quick() if not (rows[-1].test or rows[-1].note)] == []


def test_the_page_has_the_figures() -> None:
    """CONTRIBUTING tells how many were caught before tests were added for the others, and after."""
    before, after = (sum(bool(rows[at].test) for rows in _quick()) for at in (0, -1))
    text = " ".join((ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8").split())
    assert f"of {len(_quick())} places the quick tests caught {before}, and {after} since" in text


def test_what_passes_is_run_again() -> None:
    """At another commit, and by the slow tests; what is caught or has a note is not."""
    passes = Row("", "", 1, "", "", "", "quick", "a", "", 9)
    caught, noted = replace(passes, test="tests/x.py::y"), replace(passes, note="equal")
    assert is_to_run([], "quick", "a")
    assert is_to_run([passes], "quick", "b")
    assert is_to_run([passes], "slow", "a")
    assert not is_to_run([], "slow", "a")
    for rows in ([caught], [noted], [passes, caught]):
        assert not is_to_run(rows, "quick", "b")
    assert not is_to_run([passes], "quick", "a")
    assert not is_to_run([passes, caught], "slow", "b")
