"""Pages of proofs and the sources refer to each other, and docstrings stay short enough to read."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import markdown
import pytest
from markdown_it import MarkdownIt

from kvopt.project_paths import PACKAGES
from tests.docs.pages import ROOT, anchors, links

PROOFS = ROOT / "docs" / "proofs"
PAGES = sorted(set(PROOFS.glob("*.md")) - {PROOFS / "index.md"})
#: Lines of prose that a docstring has at most.
MOST_LINES = 25
#: Sections of NumPy's style, which go through parameters and fields one by one.
_SECTION = re.compile(r"^ *(Parameters|Attributes|Returns|Raises|Warns|Examples)\n *-+$", re.M)
_REFERENCE = re.compile(r"docs/proofs/([\w-]+\.md)(?: \(P(\d+)\))?")
_SHORT = re.compile(r"^\*?Proof(?:\.| that| of)", re.MULTILINE)
_HEADINGS = ("statement", "assumptions", "proof", "code-and-tests")
_TEXTS = {
    path: path.read_text(encoding="utf-8")
    for name in PACKAGES
    for path in sorted((ROOT / name).rglob("*.py"))
}


def _docstrings() -> Iterator[tuple[str, str]]:
    """Yield the dotted name and the docstring of all that the sources document."""
    for path, source in _TEXTS.items():
        module = ".".join(path.relative_to(ROOT).with_suffix("").parts)
        for node in ast.walk(ast.parse(source)):
            kinds = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef
            if isinstance(node, kinds) and (text := ast.get_docstring(node)):
                yield module if isinstance(node, ast.Module) else f"{module}.{node.name}", text


def test_pages_and_references_have_one_number_each() -> None:
    """P1, P2, ... in titles, in the list, and behind the page's name in the sources."""
    titles = {page.name: re.match(r"# P(\d+)\. \S", page.read_text("utf-8")) for page in PAGES}
    numbers = {name: title and title[1] for name, title in titles.items()}
    assert sorted(map(int, filter(None, numbers.values()))) == list(range(1, len(PAGES) + 1))
    listed = re.findall(r"\| \[P(\d+)\]\(([\w-]+\.md)\)", (PROOFS / "index.md").read_text())
    assert {name: number for number, name in listed} == numbers
    found = [each for text in _TEXTS.values() for each in _REFERENCE.findall(text)]
    assert [each for each in found if numbers.get(each[0]) != each[1]] == []
    assert {name for name, _ in found} == set(numbers)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_page_has_all_that_a_referee_asks_for(page: Path) -> None:
    """Statement, assumptions, proof, the modules that use it and that refer to it, and a test."""
    assert set(_HEADINGS) <= anchors(page)
    text = page.read_text(encoding="utf-8")
    assert re.search(r"tests/[\w/]+\.py::test_\w+", text.partition("## Code and tests")[2])
    used = {(page.parent / link).resolve() for link in links(page) if link.endswith(".py")}
    assert used == {path for path, source in _TEXTS.items() if f"docs/proofs/{page.name}" in source}
    # The site's Python-Markdown sees the lists and formulas that CommonMark sees.
    site = markdown.markdown(text, extensions=["tables", "pymdownx.superfences"])
    repository = MarkdownIt("commonmark").enable("table").render(text)
    for tag in ("<li", "<pre", "<td", "<em"):
        assert site.count(tag) == repository.count(tag), tag


def test_docstrings_have_short_prose_and_listed_proofs() -> None:
    """Lines before the sections of parameters; proofs in docstrings of formulations."""
    texts = dict(_docstrings())
    prose = {name: _SECTION.split(text)[0].strip().splitlines() for name, text in texts.items()}
    assert [name for name, lines in prose.items() if len(lines) > MOST_LINES] == []
    found = {n for n, text in texts.items() if n.startswith("formulations") and _SHORT.search(text)}
    section = (PROOFS / "index.md").read_text(encoding="utf-8").partition("## Short proofs")[2]
    assert set(re.findall(r"`(formulations[\w.]+)`", section)) == found
