"""The site: built without a complaint, and read without a network."""

import os
import re
import sys
from functools import partial
from pathlib import Path

import pytest

from docs import hooks
from kvopt.best_known import read_registry
from kvopt.commands.main import subcommand
from tests.commands import run_command, run_process
from tests.docs.followed import broken
from tests.docs.pages import PAGES, ROOT

CHROMIUM = Path("/usr/bin/chromium")

#: What loads something from an address: in pages and in style sheets.
_LOADS = re.compile(
    r'<(?:script|img|iframe|source|link(?![^>]*rel="canonical"))[^>]*(?:src|href)="(?:https?:)?//[^"]*"'
    r"|@import[^;]*//|url\([\"']?(?:https?:)?//[^)]*\)"
)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", folder]
    environment = os.environ | {"NO_MKDOCS_2_WARNING": "1", "PYTHONPATH": str(ROOT)}
    built = run_process(*command, cwd=ROOT, env=environment, timeout=300)
    assert built.returncode == 0, built.stdout + built.stderr
    return folder


@pytest.mark.slow("walks")
def test_the_site_is_whole(site: Path) -> None:
    """Pages, sources that they link, docstrings, charts as steps in order; all links lead there."""
    for page in PAGES[2:]:
        assert (site / page.relative_to(ROOT / "docs")).with_suffix(".html").is_file()
    assert "build_model" in (site / "source/formulations/mip/ilp.py.html").read_text()
    assert (site / "source/papers/ledger/index.html").is_file()
    assert broken(site) == []
    reference = (site / "api" / "kvopt.html").read_text(encoding="utf-8")
    assert 'id="kvopt.api.solve"' in reference
    assert "time_limit" in reference
    drawn = (site / "architecture.html").read_text(encoding="utf-8")
    chart = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    assert "flowchart" not in drawn
    stations = re.findall(r'\w+\["([\w.]+)<br/>', chart)
    assert re.findall(r"<li><code>([\w.]+)</code>", drawn) == stations


def test_a_page_becomes_one_of_the_site() -> None:
    """A chart becomes numbered steps, a number keeps its unit, and code stays what is copied."""
    chart = 'subgraph p ["a process"]\n  a["one<br/>does"] --> b\nend\nc["two<br/>shows"]\n'
    listed = hooks._chart(chart)
    assert [each[1] for each in re.finditer(r"<li><code>(\w+)</code>", listed)] == ["one", "two"]
    assert listed.count("<ol") == listed.count("</ol>")
    page = "<p>so 5 % of <code>5 %</code></p><pre>5 %</pre>"
    assert hooks.on_page_content(page) == page.replace("5 % of", "5\N{NO-BREAK SPACE}% of")


def test_what_is_not_a_site_s_folder_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("mine")
    told = run_command(subcommand("site"), str(tmp_path), program="kvopt site")
    assert (told.returncode, told.stdout) == (2, "")
    assert "expected an empty folder or that of an earlier site, found 'mine.txt'" in told.stderr
    assert [each.name for each in tmp_path.iterdir()] == ["mine.txt"]


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site with the results, in a folder into which another one could be built."""
    folder = tmp_path_factory.mktemp("whole")
    (folder / "site").mkdir()
    asked = partial(run_command, subcommand("site"), "site", cwd=folder, program="kvopt site")
    told = asked("--pictures", "1")
    assert told.returncode == 0, told.stderr
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("kvopt.commands.site_command._build", lambda *_: 0)
        assert asked("--pictures", "0").returncode == 0
    return folder / "site"


@pytest.mark.slow("walks")
def test_the_whole_site_has_its_results(whole: Path) -> None:
    """Every link is followed; the first page links leaderboard, library and open instances."""
    assert broken(whole) == []
    first = (whole / "index.html").read_text(encoding="utf-8")
    registry = read_registry()
    assert registry is not None
    widest = max(registry.instances, key=lambda entry: entry.gap).instance
    for link in ("leaderboard/index", "library/index", f"library/instances/{widest}"):
        assert f'href="{link}.html"' in first
    assert "Who is best" in first
    board = (whole / "leaderboard/index.html").read_text(encoding="utf-8")
    assert 'href="../library/instances/' in board
    files = [*whole.rglob("*.html"), *whole.rglob("*.css")]
    assert len(files) > 40
    assert not [each for each in files if _LOADS.search(each.read_text(encoding="utf-8"))]


@pytest.mark.slow("walks")
@pytest.mark.skipif(not CHROMIUM.exists(), reason=f"{CHROMIUM} is not installed")
def test_it_is_searched_and_read_on_a_phone_from_files(whole: Path) -> None:
    """No page is wider than the phone, none complains, and the search finds."""
    playwright = pytest.importorskip("playwright.sync_api")
    with playwright.sync_playwright() as started:
        browser = started.chromium.launch(executable_path=str(CHROMIUM), args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": 390, "height": 844}, color_scheme="dark")
        faults: list[str] = []
        page.on("pageerror", lambda error: faults.append(str(error)))
        for name in ("leaderboard", "library", "source/papers", "source/reports/nightly", "."):
            page.goto((whole / name / "index.html").as_uri())
            assert page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0, name
        page.locator("label[for=__search]").first.click()
        page.locator("input.md-search__input").press_sequentially("multipliers")
        page.wait_for_selector(".md-search-result__link", timeout=60_000)
        assert faults == []
        browser.close()
