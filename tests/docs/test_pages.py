"""What the pages name exists: links, anchors, files, modules, tests, and the works they cite."""

import re
from pathlib import Path

import pytest

from kvopt.project_paths import PACKAGES
from tests.docs.pages import PAGES, ROOT, anchors, blocks, code_spans, is_test, links, shown
from tests.test_architecture import exists

_FILE = re.compile(r"[\w.-]+(?:/[\w.*-]+)*\.(?:py|md|toml|json|bib|css|yml|cff|svg|lock|txt)")
_FOLDER = re.compile(rf"(?:{'|'.join(PACKAGES)}|docs|papers|tests)(?:/[\w-]+)*/")
_MODULE = re.compile(rf"(?:{'|'.join(PACKAGES)}|papers)(?:\.\w+)+")
#: Files that commands write, as the pages say.
_MADE = re.compile(r"results/|build/|nightly\.sqlite|schedule\.json|requirements\.lock")


@pytest.mark.parametrize("page", PAGES, ids=shown)
def test_links_lead_somewhere(page: Path) -> None:
    for link in links(page):
        if "://" in link:
            continue
        target, _, anchor = link.partition("#")
        path = (page.parent / target) if target else page
        assert path.exists(), link
        if anchor:
            assert anchor in anchors(path), link


@pytest.mark.parametrize("page", PAGES, ids=shown)
def test_files_and_modules_exist(page: Path) -> None:
    """Whatever is set as code and looks like a file, a folder or a module of the project."""
    own = {block.file for block in blocks(page)} | {Path(b.file).name for b in blocks(page)}
    told = " ".join(block.text for block in blocks(page))
    schemas = "".join(path.read_text(encoding="utf-8") for path in ROOT.glob("*/*.schema.json"))
    for span in code_spans(page):
        if _FILE.fullmatch(span) and span not in own and not _MADE.match(span):
            anywhere = list(ROOT.glob(span if "/" in span else f"**/{span}"))
            assert anywhere or span in told, span
        elif _FOLDER.fullmatch(span):
            assert (ROOT / span).is_dir(), span
        elif _MODULE.fullmatch(span) and not _FILE.fullmatch(span):
            # The architecture's test cannot read a schema's name.
            assert exists(span) or f'"{span}/1"' in schemas, span


@pytest.mark.parametrize("page", PAGES, ids=shown)
def test_tests_exist(page: Path) -> None:
    named = re.findall(r"(?:papers/)?tests/[\w/]+\.py::\w+", page.read_text(encoding="utf-8"))
    assert [each for each in named if not is_test(each)] == []


def test_every_page_is_in_the_contents() -> None:
    """A page that no table of contents has is a page that nobody finds."""
    named = re.findall(r"([\w/]+\.md)$", (ROOT / "mkdocs.yml").read_text(), re.MULTILINE)
    listed = [each for each in named if not each.startswith("source/")]
    assert all((ROOT / each.removeprefix("source/")).is_file() for each in set(named) - {*listed})
    found = [page.relative_to(ROOT / "docs").as_posix() for page in PAGES[2:]]
    assert sorted(listed) == sorted(found)


def test_references_are_those_of_the_papers_page() -> None:
    works = re.findall(r"^@\w+\{(\w+),(.*?)^\}", _read("references.bib"), re.MULTILINE | re.DOTALL)
    assert len(works) >= 6
    page = _read("docs/papers.md") + _read("notes/experiments.md")
    for key, entry in works:
        assert f"`{key}`" in page, key
        number = re.search(r"eprint\s*= \{([\d.]+)\}", entry)
        if number is None:
            continue
        (row,) = [line for line in page.splitlines() if f"| `{key}` |" in line]
        title = re.search(r"title\s*= \{(.*?)\},$", entry, re.MULTILINE | re.DOTALL)
        author = re.search(r"author\s*= \{(\w+), (\w+)", entry)
        assert title is not None
        assert author is not None
        assert " ".join(title[1].replace("{", "").replace("}", "").split()) in row
        assert f"| {author[2]} {author[1]}" in row
        assert number[1] in row


@pytest.mark.parametrize("what", ["ilp.py", "mc_sf.py", "sorted_f_exact.py", "a_min.py"])
def test_the_readme_leads_to_each_in_one_link(what: str) -> None:
    """The integer program (with its relaxation), MC-SF, Sorted-F and A_min."""
    assert [link for link in links(ROOT / "README.md") if Path(link).name == what]


def _read(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")
