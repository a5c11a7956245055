"""Pages of proofs and the sources refer to each other, and docstrings stay short enough to read."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import markdown
import pytest
from markdown_it import MarkdownIt

from kvopt.places import PACKAGES
from tests.docs.pages import ROOT, anchors, links

PROOFS = ROOT / "docs" / "proofs"
PAGES = sorted(set(PROOFS.glob("*.md")) - {PROOFS / "index.md"})
#: Lines of prose that a docstring has at most.
MOST_LINES = 25
#: Sections of NumPy's style, which go through parameters and fields one by one.
_SECTION = re.compile(r"^ *(Parameters|Attributes|Returns|Raises|Warns|Examples)\n *-+$", re.M)
_REFERENCE = re.compile(r"docs/proofs/([\w-]+\.md)(?: \(P(\d+)\))?")
_TITLE = re.compile(r"# P(\d+)\. \S")
_SHORT = re.compile(r"^\*?Proof(?:\.| that| of)", re.MULTILINE)
_HEADINGS = ("statement", "assumptions", "proof", "code-and-tests")

Documented = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef


def _docstrings(path: Path) -> Iterator[tuple[str, str]]:
    """Yield the dotted name and the docstring of all that a source documents."""
    module = ".".join(path.relative_to(ROOT).with_suffix("").parts)
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, Documented) and (text := ast.get_docstring(node)):
            yield module if isinstance(node, ast.Module) else f"{module}.{node.name}", text


def _sources() -> list[Path]:
    return [path for name in PACKAGES for path in sorted((ROOT / name).rglob("*.py"))]


def _number(page: Path) -> int:
    title = _TITLE.match(page.read_text(encoding="utf-8"))
    assert title, page
    return int(title[1])


def _prose(docstring: str) -> int:
    """Return the lines of a docstring before its first section."""
    return len(_SECTION.split(docstring)[0].strip().splitlines())


def test_pages_are_numbered_without_gaps() -> None:
    """P1, P2, ..., each once, and listed under its number."""
    numbers = {_number(page): page.name for page in PAGES}
    assert sorted(numbers) == list(range(1, len(PAGES) + 1))
    listed = re.findall(r"\| \[P(\d+)\]\(([\w-]+\.md)\)", (PROOFS / "index.md").read_text())
    assert {int(number): name for number, name in listed} == numbers


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_page_has_all_that_a_referee_asks_for(page: Path) -> None:
    """Statement, assumptions, proof, the modules that use it and that refer to it, and a test."""
    assert set(_HEADINGS) <= anchors(page)
    text = page.read_text(encoding="utf-8")
    assert re.search(r"tests/[\w/]+\.py::test_\w+", text.partition("## Code and tests")[2])
    used = {(page.parent / link).resolve() for link in links(page) if link.endswith(".py")}
    referring = {
        path
        for path in _sources()
        if any(page.name == name for name, _ in _REFERENCE.findall(path.read_text()))
    }
    assert used == referring != set()


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_page_reads_alike_on_the_site_and_in_the_repository(page: Path) -> None:
    """Python-Markdown, the site's, sees the lists and formulas that CommonMark sees."""
    text = page.read_text(encoding="utf-8")
    site = markdown.markdown(text, extensions=["tables", "pymdownx.superfences"])
    repository = MarkdownIt("commonmark").enable("table").render(text)
    for tag in ("<li", "<pre", "<td", "<em"):
        assert site.count(tag) == repository.count(tag), tag


def test_every_reference_leads_to_a_page_of_its_number() -> None:
    """In the sources: the page exists, and its number is that of its title."""
    numbers = {page.name: str(_number(page)) for page in PAGES}
    found = 0
    for path in _sources():
        for name, number in _REFERENCE.findall(path.read_text(encoding="utf-8")):
            assert numbers.get(name) == number, f"{path}: {name} (P{number})"
            found += 1
    assert found >= len(PAGES)


def test_short_proofs_are_listed() -> None:
    """All that stand in a docstring of a formulation, and no other."""
    found = {
        name
        for path in sorted((ROOT / "formulations").rglob("*.py"))
        for name, text in _docstrings(path)
        if _SHORT.search(text)
    }
    section = (PROOFS / "index.md").read_text(encoding="utf-8").partition("## Short proofs")[2]
    assert set(re.findall(r"`(formulations[\w.]+)`", section)) == found


def test_no_docstring_is_an_essay() -> None:
    """What comes before the sections of parameters and fields has 25 lines at most."""
    long = {
        name: lines
        for path in _sources()
        for name, text in _docstrings(path)
        if (lines := _prose(text)) > MOST_LINES
    }
    assert long == {}
