"""The ledger: whole rows, pages that are theirs, checks that agree with verdicts."""

import ast
import re
from pathlib import Path

import pytest
from pydantic import ValidationError

from papers.__main__ import main
from papers.experiment import pages as experiments
from papers.ledger.check_results import CheckResult, refused, run_check, together
from papers.ledger.ledger_pages import errata_text, index_text, paper_text
from papers.ledger.recompute import agrees
from papers.ledger.statements import (
    LETTERS,
    VERDICTS,
    Paper,
    PaperStatement,
    StatementVerdict,
    errata,
    papers,
    statements,
)
from tests.docs.pages import ROOT, is_test

CHECKED = [name for name, each in statements().items() if each.check]
#: Checks of more than a second, or that start processes of their own.
SLOW = {"J1 Theorem 6.2", "J2 Equations 1 to 4", "NSZ Theorem 4.1", "K Theorems 3.4, 3.5"}


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=[pytest.mark.slow("repeats")] if name in SLOW else [])
        for name in CHECKED
    ],
)
def test_what_is_computed_is_the_verdict(name: str) -> None:
    """A refuted statement fails in its check, a confirmed one holds; schedules pass the checker."""
    row = statements()[name]
    shown = run_check(name.split()[0], row.check)
    assert agrees(row.verdict, shown), shown.lines
    assert shown.lines
    for drawn in shown.drawn:
        assert drawn.verdict.valid or drawn.verdict.tokens is not None


#: What the papers number, in the texts that were read.
NUMBERED = {
    "J1": {
        "Figure": "1-13",
        "Equation": "1-7",
        "Algorithm": "1 2",
        "Proposition": "4.1",
        "Theorem": "4.2 5.3 6.2 6.4",
        "Definition": "5.1 6.1",
        "Remark": "5.2 6.3",
        "Lemma": "5.4 5.5 5.6",
        "Section": "7 8",
        "Appendix": "B.1",
    },
    "J2": {
        "Figure": "1-11",
        "Equation": "1-6 9-27",
        "Algorithm": "1 2",
        "Theorem": "4.1 4.3",
        "Proposition": "4.2",
        "Lemma": "4.4 4.5 4.7 B.1 B.2",
        "Claim": "4.6 4.8",
        "Table": "1",
        "Section": "5.2",
    },
    "W": {
        "Figure": "1-10",
        "Equation": "1 3-14",
        "Algorithm": "1-7",
        "Theorem": "2.1 2.2 4.1 4.4 4.7 4.13 4.15 4.19 8.2",
        "Example": "3.1 3.2",
        "Table": "1-4",
        "Lemma": "3.3 4.10 4.11 4.18",
        "Remark": "4.2",
        "Definition": "4.3 4.6 4.8 4.12 4.16",
        "Section": "5.1 11.2",
    },
    "C": {
        "Definition": "1 EC.1-EC.5",
        "Algorithm": "1-6",
        "Example": "1 EC.1",
        "Theorem": "1-8 EC.1",
        "Corollary": "1 2",
        "Observation": "1 2",
        "Lemma": "1-3 EC.1",
        "Proposition": "1 EC.1",
        "Equation": "4 EC.7 EC.10",
        "Figure": "1-7",
        "Section": "5.1 5.3 6",
    },
    "K": {"Lemma": "A.2", "Proposition": "3.1", "Theorem": "3.2-3.5"},
    "NSZ": {"Theorem": "4.1 4.2", "Table": "1"},
}


def _spread(numbers: str) -> set[str]:
    """Return the numbers of a list such as ``1-3 EC.1``."""
    found = set()
    for part in numbers.split():
        first, _, last = part.partition("-")
        stem, start = re.fullmatch(r"(.*?)(\d+)", first).groups()  # type: ignore[union-attr]
        end = re.fullmatch(r".*?(\d+)", last or first).group(1)  # type: ignore[union-attr]
        found |= {f"{stem}{k}" for k in range(int(start), int(end) + 1)}
    return found


def _stated_items(name: str) -> set[tuple[str, str]]:
    """Return what a row's id names, as (kind, number)."""
    kind, found = "", set()
    name = re.sub(r"(\S*\d) to (\S*\d)", r"\1-\2", name.replace(",", " ").replace("and", " "))
    for word in name.split():
        if re.fullmatch(r"[A-Za-z][a-z]+", word):
            kind = word.capitalize().removesuffix("s")
        elif kind and re.fullmatch(r"(?:[A-Z]+\.|\d+\.)*\d+(?:-\S+)?", word):
            found |= {(kind, number) for number in _spread(word)}
    return found


@pytest.mark.parametrize("letter", LETTERS)
def test_every_statement_of_the_papers_has_a_row(letter: str) -> None:
    """Whatever a paper numbers is in the id of a row."""
    rows = papers()[letter].statement
    stated = set().union(*(_stated_items(each.id) for each in rows))
    kinds = NUMBERED.get(letter, {}).items()
    numbered = {(kind, n) for kind, numbers in kinds for n in _spread(numbers)}
    assert sorted(numbered - stated) == []
    assert rows


def test_rows_name_what_there_is() -> None:
    """Errata both ways, pages, test functions, checks; every check belongs to a row."""
    named = {number for each in statements().values() for number in each.errata}
    assert named == set(errata())
    for name, each in statements().items():
        assert not each.page or each.page in experiments(), name
        assert all(is_test(test) for test in each.tests), name
    assert all(is_test(test) for item in errata().values() for test in item.tests)
    for letter in LETTERS:
        source = ROOT / "papers" / "ledger" / "checks" / f"{letter.lower()}.py"
        made = {
            node.name
            for node in (ast.parse(source.read_text()).body if source.exists() else [])
            if isinstance(node, ast.FunctionDef)
            and ast.unparse(node.returns or node) == "CheckResult"
        }
        used = {each.check for each in papers()[letter].statement if each.check}
        assert used == {name for name in made if not name.startswith("_")}


WHOLE = {
    "id": "Theorem 1",
    "states": "One is two.",
    "verdict": "refuted",
    "counterexample": "1",
    "evidence": "Arithmetic.",
    "check": "theorem_1",
    "errata": ["E1"],
}


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ({"verdict": "true"}, "verdict"),
        ({"evidence": ""}, "expected evidence"),
        ({"check": ""}, "expected a check, a page or tests"),
        ({"counterexample": ""}, "expected a counterexample"),
        ({"errata": []}, "an erratum"),
        ({"proof": "none"}, "Extra inputs"),
        ({"check": "os.system"}, "pattern"),
    ],
)
def test_a_row_that_is_not_whole_is_refused(change: dict[str, object], complaint: str) -> None:
    """Each by what it lacks."""
    assert PaperStatement.model_validate(WHOLE).verdict == "refuted"
    with pytest.raises(ValidationError, match=complaint):
        PaperStatement.model_validate(WHOLE | change)


def test_a_statement_stands_once() -> None:
    """Two rows of one id are refused."""
    paper = {"letter": "C", "key": "k", "arxiv": "2508.14544", "version": "v"}
    with pytest.raises(ValidationError, match="more than one Theorem 1"):
        Paper.model_validate(paper | {"statement": [WHOLE, WHOLE]})


@pytest.mark.parametrize(
    ("verdict", "holds", "agreed"),
    [
        ("refuted", False, True),
        ("refuted", True, False),
        ("confirmed", True, True),
        ("confirmed", False, False),
        ("open", True, True),
        ("not comparable", False, True),
    ],
)
def test_agreement(verdict: StatementVerdict, holds: bool, agreed: bool) -> None:
    """Only a confirmed and a refuted row can be contradicted."""
    assert verdict in VERDICTS
    assert agrees(verdict, CheckResult(holds, ())) == agreed


def test_a_schedule_that_fits_is_no_refused_one() -> None:
    """What should exceed the memory and does not is an error of the check."""
    with pytest.raises(ValueError, match="expected more tokens than M"):
        refused(together(4, (1, 1), (1, 1)), (0, 0), "both")


def test_errata_have_the_verdicts_of_the_rows() -> None:
    """Each refuted row is named in an item, with its counterexample."""
    flat = " ".join(errata_text().split())
    for name, each in statements().items():
        if each.verdict == "refuted":
            assert f"{name} *refuted*" in flat
            assert f"| {name} " in index_text()
    assert " ".join(statements()["C Lemma EC.1"].counterexample.split()) in flat


def test_a_page_counts_and_links() -> None:
    """The page of W: its rows, checks and links."""
    text = paper_text(papers()["W"])
    assert f"Of {len(papers()['W'].statement)} rows" in text
    assert '`python -m papers "W Equation 3"`' in text
    assert "[E22](../../docs/errata.md)" in text
    assert "[Its page](../w-table-4.md)" in text
    (total,) = (line for line in index_text().splitlines() if line.startswith("| all "))
    assert sum(map(int, total.strip("|").split("|")[1:])) == len(statements())


def test_the_command_lists(capsys: pytest.CaptureFixture[str]) -> None:
    """The rows of a paper, and a name that is nearly right."""
    assert main(["J1"]) == 0
    assert "Theorem 5.3" in capsys.readouterr().out
    assert main(["J1 Theorem 5.4"]) == 2
    assert "J1 Theorem 5.3" in capsys.readouterr().err


def test_the_command_computes_and_draws(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """The row, what was computed, both schedules, and the picture of both."""
    picture = tmp_path / "both.svg"
    assert main(["j1 theorem 4.2", "--plot", str(picture)]) == 0
    out = capsys.readouterr().out
    assert "MC-SF 13, another schedule 12" in out
    assert "starts 0 1 0 3, TEL 12; valid" in out
    assert "in agreement with the verdict" in out
    assert picture.read_text().startswith("<?xml")


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["--all", "J1"], "--all: takes no statement"),
        (["--plot", "x.svg"], "--plot: expected a statement"),
        (["C Theorem 3", "--plot", "x.svg"], "has no check"),
        (["C Theorem 5, Corollary 2", "--plot", "x.svg"], "shows no schedule"),
        (["J1 Theorem 4.2", "--plot", "x.txt"], "expected a name with .svg or .png or .pdf"),
    ],
)
def test_bad_usage_is_one_line(
    arguments: list[str], complaint: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Exit code 2."""
    assert main(arguments) == 2
    error = capsys.readouterr().err
    assert complaint in error
    assert error.count("\n") == 1


def test_all_are_computed(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A line each; one whose verdict is not what is computed ends with 1."""
    right = statements()["W Algorithm 2, section 5.1"]
    rows = {"W right": right, "W wrong": right.model_copy(update={"verdict": "confirmed"})}
    monkeypatch.setattr("papers.ledger.recompute.statements", lambda: rows)
    assert main(["--all", "--quiet"]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert [("NOT" in line) for line in lines[:2]] == [False, True]
    assert lines[2] == "2 checks, 1 not in agreement with the verdict"
