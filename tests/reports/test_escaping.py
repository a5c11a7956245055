"""Names from rows neither break nor inject into any table, page or path."""

import re
from html.parser import HTMLParser
from pathlib import Path

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from reports.build import build_report, make_report, report_texts
from reports.markdown import table_text
from reports.pages.report_pages import slugs
from reports.stored_results import Results
from reports.table import Column, Table
from tests.reports.hostile import NAMES, hostile_records
from tests.reports.synthetic import frame, record

_MARKDOWN = MarkdownIt("gfm-like", {"linkify": False})


@pytest.fixture(scope="module")
def files() -> dict[str, str]:
    """The report of a run of every hostile method on every hostile instance and family."""
    return report_texts(make_report(Results(frame(*hostile_records("svf")))))


class _Tags(HTMLParser):
    """Collects tags and attributes that a script could hide in."""

    def __init__(self) -> None:
        super().__init__()
        self.scripts = 0
        self.bad: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note scripts, tags that the templates lack, event handlers and foreign addresses."""
        self.scripts += tag == "script"
        if tag in ("svg", "b", "iframe", "object", "form"):
            self.bad.append(tag)
        for name, value in attrs:
            if name.startswith("on") or (value or "").lower().startswith("javascript:"):
                self.bad.append(f"{tag} {name}")
            if tag == "a" and name == "href" and ".." in (value or "").replace("../index.html", ""):
                self.bad.append(value or "")


@pytest.mark.slow("walks")
def test_html_holds_no_foreign_tag(files: dict[str, str]) -> None:
    """Every page has exactly the scripts of its template, and no handler of events."""
    for name, text in files.items():
        if name.endswith(".html"):
            tags = _Tags()
            tags.feed(text)
            assert tags.bad == [], name
            assert tags.scripts == (2 if name == "index.html" else 0), name


def test_html_shows_the_names_as_they_are(files: dict[str, str]) -> None:
    assert "&lt;script&gt;window.pwned=1&lt;/script&gt;" in files["index.html"]
    assert "&amp;lt;b&amp;gt; &amp;amp; &amp;#x3c;" in files["index.html"]
    assert "{{ 7 * 7 }}" in files["index.html"]


def test_html_parts_no_number_from_its_unit(files: dict[str, str]) -> None:
    """On the page of results and on those of instances; the pictures in it are left as they are."""
    for name, text in files.items():
        if name.endswith(".html"):
            shown = re.sub(r'src="data:[^"]*"', "", text)
            assert re.findall(r".{9}\d % ", shown) == [], name
    assert "100\N{NO-BREAK SPACE}%" in files["index.html"]


def test_markdown_renders_without_html_or_links(files: dict[str, str]) -> None:
    """A Markdown parser finds no HTML, no address and no emphasis that a name made."""
    for name, text in files.items():
        if not name.endswith(".md"):
            continue
        for token in _MARKDOWN.parse(text):
            assert token.type != "html_block", name
            for child in token.children or []:
                assert child.type not in ("html_inline", "em_open", "strong_open", "s_open"), name
                if child.type == "link_open":
                    target = str(child.attrs["href"])
                    assert "://" not in target, name
                    assert target.startswith(("index.html", "tables/"))


def test_every_line_of_a_markdown_table_has_all_columns(files: dict[str, str]) -> None:
    """No pipe in a name makes another column: each line has as many cells as the head."""
    for name, text in files.items():
        if not name.endswith(".md"):
            continue
        for table in re.findall(r"(?:^\|.*\n)+", text, re.MULTILINE):
            # In a table of this dialect any pipe after a backslash is text, also in code spans.
            pipes = {len(re.findall(r"(?<!\\)\|", line)) for line in table.splitlines()}
            assert len(pipes) == 1, name


@pytest.mark.slow("walks")
def test_paths_stay_in_the_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Instances are written to plain file names below instances/, one each, whatever the case."""
    monkeypatch.setattr("reports.build._figure", lambda *_: None)
    records = [record(instance=name, tel=10) for name in NAMES]
    written = build_report(Results(frame(*records)), tmp_path / "out")
    assert all(path.resolve().is_relative_to(tmp_path / "out") for path in written)
    assert {path.name for path in tmp_path.iterdir()} == {"out"}
    pages = [path.name.lower() for path in written if path.parent.name == "instances"]
    assert len(set(pages)) == len(pages) == len(NAMES)


@settings(deadline=None, max_examples=50)
@given(st.lists(st.tuples(st.text(max_size=80), st.text(max_size=4)), unique=True, max_size=20))
def test_slugs_are_safe_and_different(names: list[tuple[str, str]]) -> None:
    """Letters, digits, - and _ only; no two alike; the same for the same names in any order."""
    found = slugs(names)
    assert len({slug.lower() for slug in found}) == len(names)
    assert all(0 < len(slug) <= 80 and slug.isascii() for slug in found)
    assert all(slug.replace("-", "").replace("_", "").isalnum() for slug in found)
    assert slugs(names[::-1]) == found[::-1]


def test_plain_names_are_their_own_slug() -> None:
    """The library's names make readable addresses; a shared name is told apart."""
    assert slugs([("am1_00", "1"), ("uniform_100", "2")]) == ["am1_00", "uniform_100"]
    first, second = slugs([("x", "1"), ("x", "2")])
    assert first != second
    assert first.startswith("x--")


@settings(deadline=None, max_examples=50)
@given(st.text(max_size=60))
def test_code_spans_survive_any_text(text: str) -> None:
    """In a table cell any text gives one code span (or a dash), and a second cell after it."""
    table = Table(
        "t",
        "t",
        "note",
        (Column("a", "a", "name"), Column("b", "b", "count")),
        pd.DataFrame({"a": [text], "b": [7]}),
    )
    tokens = _MARKDOWN.parse(table_text(table))
    cells = [token for token in tokens if token.type == "inline"][2:4]
    kinds = [child.type for child in cells[0].children or []]
    assert kinds in (["code_inline"], ["text"])
    if kinds == ["text"]:
        assert cells[0].content == "–"
    assert cells[1].content == "7"
