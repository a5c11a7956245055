"""The site: built without a complaint, and read without a network."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.docs.pages import PAGES, ROOT

#: What loads something from an address: in pages and in style sheets.
_LOADS = re.compile(
    r'<(?:script|img|iframe|source|link(?![^>]*rel="canonical"))[^>]*(?:src|href)="(?:https?:)?//[^"]*"'
    r"|@import[^;]*//|url\([\"']?(?:https?:)?//[^)]*\)"
)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The built site."""
    folder = tmp_path_factory.mktemp("site")
    built = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(folder)],
        cwd=ROOT,
        env=os.environ | {"NO_MKDOCS_2_WARNING": "1", "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert built.returncode == 0, built.stdout + built.stderr
    return folder


def test_every_page_is_there(site: Path) -> None:
    """And the sources that pages link to."""
    for page in PAGES[2:]:
        assert (site / page.relative_to(ROOT / "docs")).with_suffix(".html").is_file()
    assert "build_model" in (site / "source/formulations/mip/ilp.py.html").read_text()


def test_nothing_is_loaded_from_elsewhere(site: Path) -> None:
    """No font, script, style or picture has an address."""
    files = [*site.rglob("*.html"), *site.rglob("*.css")]
    assert len(files) > 40
    for file in files:
        assert not _LOADS.search(file.read_text(encoding="utf-8")), file


@pytest.mark.parametrize(
    "text",
    [
        '<script src="https://host/a.js"></script>',
        '<link rel="stylesheet" href="//host/a.css">',
        '@import "https://host/a.css";',
        "a { background: url(https://host/a.png) }",
    ],
)
def test_what_loads_from_elsewhere_is_seen(text: str) -> None:
    """The pattern above can match."""
    assert _LOADS.search(text)


def test_the_reference_holds_the_docstrings(site: Path) -> None:
    """With parameters, units and errors."""
    page = (site / "api" / "kvopt.html").read_text(encoding="utf-8")
    assert 'id="kvopt.api.solve"' in page
    assert "time_limit" in page


def test_the_walks_are_drawn_without_a_library(site: Path) -> None:
    """Each station of the two charts is a step, in order, none left as source."""
    page = (site / "architecture.html").read_text(encoding="utf-8")
    chart = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    stations = re.findall(r'\w+\["([\w.]+)<br/>', chart)
    assert "flowchart" not in page
    assert re.findall(r"<li><code>([\w.]+)</code>", page) == stations


def test_the_triangle_is_what_its_script_draws(tmp_path: Path) -> None:
    """Renewed by ``python docs/triangle.py``."""
    drawn = tmp_path / "triangle.py"
    shutil.copy(ROOT / "docs" / "triangle.py", drawn)
    subprocess.run([sys.executable, str(drawn)], check=True, timeout=60)
    picture = drawn.with_suffix(".svg").read_text(encoding="utf-8")
    assert picture == (ROOT / "docs" / "triangle.svg").read_text(encoding="utf-8")
    # s + j tokens at times p + 1 to p + o: 4 + 5 + 6 + 7, and two in the key.
    assert len(re.findall(r'<rect class="(?:prompt|output)"', picture)) == 4 + 5 + 6 + 7 + 2
