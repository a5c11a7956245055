"""The page in a real browser: sorting, filtering, both colour schemes, a phone, no injection."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from kvopt.best_known import known_values, read_registry
from reports.build import build_report
from reports.library.library_site import library_pages
from reports.stored_results import Results
from tests.reports.folders import fill
from tests.reports.hostile import NAMES, hostile_records
from tests.reports.synthetic import frame, many

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")

CHROMIUM = Path("/usr/bin/chromium")
pytestmark = pytest.mark.skipif(not CHROMIUM.exists(), reason=f"{CHROMIUM} is not installed")


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with playwright.sync_playwright() as started:
        # No sandbox: containers and runners run tests as root.
        opened = started.chromium.launch(executable_path=str(CHROMIUM), args=["--no-sandbox"])
        yield opened
        opened.close()


@pytest.fixture(scope="module", params=[pytest.param("report", marks=pytest.mark.slow("walks"))])
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("report")
    build_report(Results(many(24, 40)), folder, pages=2)
    return folder


def _open(browser: Browser, path: Path, **options: object) -> Page:
    page = browser.new_context(**options).new_page()
    page.faults = []
    page.asked = []
    page.on("pageerror", lambda error: page.faults.append(str(error)))
    page.on("console", lambda told: page.faults.append(told.text) if told.type == "error" else None)
    page.on("dialog", lambda dialog: (page.faults.append(dialog.message), dialog.dismiss()))
    page.on("request", lambda request: page.asked.append(request.url))
    page.goto(path.as_uri())
    if path.name == "index.html":
        page.wait_for_selector("html[data-ready=yes]", timeout=60_000)
    return page


def _column(page: Page, table: str, number: int) -> list[str]:
    texts: list[str] = page.locator(f"#{table} tbody tr td:nth-child({number})").all_text_contents()
    return texts


def test_sort_and_filter(browser: Browser, folder: Path) -> None:
    """A click sorts numbers as numbers, a second one turns them; the filter keeps what matches."""
    page = _open(browser, folder / "index.html")
    for direction in ("ascending", "descending"):
        page.locator("#gaps thead th:nth-child(7)").click()
        page.wait_for_selector(f"#gaps thead th:nth-child(7)[aria-sort={direction}]")
        shares = [float(text.rstrip(" %")) for text in _column(page, "gaps", 7)]
        assert shares == sorted(shares, reverse=direction == "descending")
        assert len(set(shares)) > 3
    page.locator("#gaps input[type=search]").fill("fcfs")
    assert set(_column(page, "gaps", 3)) == {"fcfs"}
    assert page.faults == []


def test_the_library_sorts_by_its_bars(browser: Browser, tmp_path: Path) -> None:
    """Open ones first; the bars turn the order by their number, not by their letters."""
    registry = read_registry()
    assert registry is not None
    names = ("uniform_100", "total_trap_256", "am1_00", "example_3_1")
    few = replace(registry, instances=tuple(e for e in registry.instances if e.instance in names))
    fill(tmp_path, library_pages(few, known_values(), frame(), None, 0))
    page = _open(browser, tmp_path / "index.html")
    heads = page.locator("#library thead th").all_text_contents()
    gap, bar = (heads.index(next(h for h in heads if h.startswith(k))) + 1 for k in ("gap", "bar"))

    def gaps() -> list[float]:
        return [float(text.rstrip(" %")) for text in _column(page, "library", gap)]

    assert gaps() == sorted(gaps(), reverse=True)
    assert len(set(gaps())) == 4
    page.locator(f"#library thead th:nth-child({bar})").click()
    page.wait_for_selector(f"#library thead th:nth-child({bar})[aria-sort=ascending]")
    assert gaps() == sorted(gaps())
    page.locator("#library input[type=search]").fill("uniform")
    page.locator("#library tbody a").first.click()
    page.wait_for_url("**/instances/uniform_100.html")
    page.locator("header a").click()
    page.wait_for_url("**/index.html")
    assert page.faults == []


def test_the_boards_come_first(browser: Browser, folder: Path) -> None:
    """Then the map, then the sentences, as in Markdown: before any table of evidence."""
    page = _open(browser, folder / "index.html")
    told = page.locator("#verdict p:not(.note)").all_text_contents()
    markdown = (folder / "README.md").read_text(encoding="utf-8")
    assert len(told) > 2
    plain = " ".join(markdown.replace("`", "").split())
    assert [x for x in (" ".join(each.split()) for each in told) if x not in plain] == []
    order = page.evaluate("[...document.querySelectorAll('main > section')].map(each => each.id)")
    assert order[:2] == ["main-result-table", "main-result"]
    assert order[2].startswith("leaderboard-")
    best = _column(page, order[2], 2)[0]
    page.locator(f"#{order[2]} input[type=search]").fill(f'"{best}"')
    assert best in _column(page, order[2], 2)
    assert len(_column(page, order[2], 2)) < 5


def test_nothing_is_asked_of_the_network(browser: Browser, folder: Path) -> None:
    page = _open(browser, folder / "index.html")
    foreign = [url for url in page.asked if not url.startswith(("data:", "blob:"))]
    assert foreign == [(folder / "index.html").as_uri()]


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 390])
def test_no_page_is_wider_than_the_screen(
    browser: Browser, folder: Path, scheme: str, width: int, tmp_path: Path
) -> None:
    """Tables and figures scroll inside their box; text and ground differ enough to read."""
    for name in ("index.html", f"instances/{_some_page(folder)}"):
        size = {"width": width, "height": 800}
        page = _open(browser, folder / name, color_scheme=scheme, viewport=size)
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        script = "['color', 'backgroundColor'].map(k => getComputedStyle(document.body)[k])"
        colours = page.evaluate(script)
        ink, ground = (_luminance(colour) for colour in colours)
        lighter, darker = max(ink, ground), min(ink, ground)
        # WCAG 2.1, 1.4.6: 7 : 1.
        assert (lighter + 0.05) / (darker + 0.05) >= 7
        assert (ground < 0.5) == (scheme == "dark")
        picture = tmp_path / "page.png"
        page.screenshot(path=str(picture))
        assert picture.stat().st_size > 10_000
        assert page.faults == []


def test_figures_follow_the_colour_scheme(browser: Browser, folder: Path) -> None:
    """The corner of a figure is light on a light page and dark on a dark one."""
    script = """async () => {
      const image = document.querySelector('figure img');
      await image.decode();
      const canvas = document.createElement('canvas');
      canvas.width = 20; canvas.height = 20;
      const pen = canvas.getContext('2d');
      pen.drawImage(image, 0, 0);
      return pen.getImageData(1, 1, 1, 1).data[0];
    }"""
    light = _open(browser, folder / "index.html", color_scheme="light").evaluate(script)
    dark = _open(browser, folder / "index.html", color_scheme="dark").evaluate(script)
    assert light > 200 > 60 > dark


def test_headings_and_names_for_screen_readers(browser: Browser, folder: Path) -> None:
    """One h1, a main part, every link of the contents leads somewhere, every picture has a text."""
    page = _open(browser, folder / "index.html")
    assert page.locator("h1").count() == 1
    assert page.locator("main").count() == 1
    broken = page.evaluate(
        "[...document.querySelectorAll('nav a')].filter("
        "a => !document.getElementById(a.hash.slice(1))).map(a => a.hash)"
    )
    assert broken == []
    assert page.locator("img:not([alt]), img[alt='']").count() == 0
    unnamed = page.locator("input:not([aria-label]):not([id]), [role=region]:not([aria-label])")
    assert unnamed.count() == 0


@pytest.mark.slow("walks")
def test_hostile_names_run_nothing(browser: Browser, tmp_path: Path) -> None:
    """No script of a name runs, on any page, also after sorting and filtering by it."""
    build_report(Results(frame(*hostile_records())), tmp_path)
    page = _open(browser, tmp_path / "index.html")
    for section in ("runs", "failures", "instances"):
        page.locator(f"#{section} thead th:first-child").click()
        page.locator(f"#{section} input[type=search]").fill("<script>window.pwned=1</script>")
    page.locator("#runs input[type=search]").fill("")
    assert page.evaluate("window.pwned") is None
    assert page.locator("main script, main svg, main b").count() == 0
    assert page.faults == []
    shown = _column(page, "instances", 2)
    assert shown == [
        "<script>window.pwned=1</script>",
        "</script><script>window.pwned=1</script>",
    ] or (set(shown) <= set(NAMES))
    for path in sorted((tmp_path / "instances").glob("*.html")):
        page.goto(path.as_uri())
        assert page.evaluate("window.pwned") is None, path.name
    assert page.faults == []


def _some_page(folder: Path) -> str:
    return min(path.name for path in (folder / "instances").glob("*.html"))


def _luminance(colour: str) -> float:
    channels = [int(part) / 255 for part in colour.split("(")[1].rstrip(")").split(",")[:3]]
    linear = [c / 12.92 if c <= 0.03928 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
