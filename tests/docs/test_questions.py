"""Six questions are answered by reading three places at most (docs/architecture.md)."""

from __future__ import annotations

import ast
import re

import pytest

from tests.docs.pages import ROOT

_PAGE = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
_ROWS = re.findall(
    r"^\| ([^|`]+) \| (`.+`) \|$",
    _PAGE.partition("## Six questions\n")[2].partition("\n## ")[0],
    re.MULTILINE,
)
_PLACE = re.compile(r"`([^`]+)`: `(\w+)`")


def test_six_questions_are_asked() -> None:
    """No row is lost by its spelling."""
    assert len(_ROWS) == len({question for question, _ in _ROWS}) == 6


@pytest.mark.parametrize(("question", "answer"), _ROWS)
def test_a_question_is_answered_by_three_files_at_most(question: str, answer: str) -> None:
    """Each place is a file and a name that it defines, or a text that it has."""
    places = _PLACE.findall(answer)
    assert "; ".join(f"`{file}`: `{name}`" for file, name in places) == answer, question
    assert 1 <= len({file for file, _ in places}) <= 3
    for file, name in places:
        tree = ast.parse((ROOT / file).read_text(encoding="utf-8"))
        assert name in {*_defined(tree)}, (question, file, name)


def _defined(tree: ast.Module) -> list[str]:
    """Return what a file defines, methods too, and the texts that it has."""
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            found.append(node.name)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            found.append(node.id)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            found.append(node.value)
    return found
