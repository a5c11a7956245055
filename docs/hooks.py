"""Hooks of MkDocs: links to sources, charts without a network, no-break spaces.

A page links to files of the repository by their paths (``../kvopt/api.py``).  In the site each such
file has a page, and so has each link of a Markdown file among them; pictures and tables are copied.
A chart in Mermaid, which would load a library from elsewhere, becomes nested lists.  ``kvopt site``
passes its results (:class:`reports.site_results.SiteResults`) as ``extra.results``.
"""

from __future__ import annotations

import html
import posixpath
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from mkdocs.structure.files import File

from support.message_text import glue_units

if TYPE_CHECKING:
    from mkdocs.config.defaults import MkDocsConfig
    from mkdocs.structure.files import Files
    from mkdocs.structure.pages import Page

    from reports.site_results import SiteResults

_ROOT = Path(__file__).resolve().parents[1]
#: Folder of the site with the pages of the repository's files.
_SHELF = "source"
_LINK = re.compile(r"(!?)\[([^\]]*)\]\(([^)\s#]+)(#[^)\s]*)?\)")
_FENCE = re.compile(r"(^```.*?^```$)", re.MULTILINE | re.DOTALL)
#: Text that stays as it is.
_CODE = re.compile(r"(<pre\b.*?</pre>|<code\b.*?</code>)", re.DOTALL)
_CHART = re.compile(r"^```mermaid\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_LANGUAGES = {".py": "python", ".toml": "toml", ".json": "json", ".bib": "bibtex", ".yml": "yaml"}
#: Suffixes of files that are copied.
_COPIED = {".png", ".svg", ".csv", ".ipynb"}
#: Tables of rows, which would fill the index of the search.
_LONG = re.compile(r"reports/nightly/(?:tables|anytime)/")
#: Longest file that is shown whole, bytes.
_LONGEST = 200_000
#: Place of the results on the first page.
_FIRST = "<!-- site: results -->"


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add a page or a copy for each file of the repository that a page leads to."""
    results = _results(config)
    for path, text in results.files.items() if results else ():
        files.append(File.generated(config, path, content=text))
    left = [
        target
        for page in list(files.documentation_pages())
        for target in _targets("docs", page.src_uri, page.content_string)
    ]
    while left:
        target = left.pop()
        if _site_uri(target, config) not in files.src_uris:
            left += _add(target, files, config)
    return files


def on_page_markdown(markdown: str, *, page: Page, files: Files, config: MkDocsConfig) -> str:
    """Point links to the repository's files at their pages, and write charts as lists."""
    uri = page.file.src_uri
    target = uri.removeprefix(f"{_SHELF}/")
    if target == uri:
        results = _results(config)
        markdown = markdown.replace(_FIRST, results.first if results else "")
        target = f"docs/{uri}"
    elif not (_ROOT / target).is_file():
        return markdown  # the page of a source: its text links nothing
    charted = _CHART.sub(lambda found: _chart(found[1]), markdown)
    return _relinked(charted, target, posixpath.dirname(uri), files, config)


def on_page_content(html: str, **_: object) -> str:
    """Keep each number on one line with its unit, but for code, which readers copy."""
    parts = _CODE.split(html)
    return "".join(code if n % 2 else glue_units(code) for n, code in enumerate(parts))


def on_post_build(config: MkDocsConfig) -> None:
    """Leave out the page for a server's errors, whose links begin at the server's root."""
    Path(config.site_dir, "404.html").unlink(missing_ok=True)


def _results(config: MkDocsConfig) -> SiteResults | None:
    found: SiteResults | None = config.extra.get("results")
    return found


def _targets(folder: str, page: str, markdown: str) -> Iterator[str]:
    """Yield the files of the repository, outside docs, that a page links to."""
    for part in _FENCE.split(markdown)[::2]:
        for link in _LINK.finditer(part):
            target = posixpath.normpath(posixpath.join(folder, posixpath.dirname(page), link[3]))
            if "://" not in link[3] and (_ROOT / target).is_file() and not _is_of_docs(target):
                yield target


def _is_of_docs(target: str) -> bool:
    """Return whether MkDocs takes a file by itself."""
    return target.startswith("docs/") and target.endswith((".md", ".svg"))


def _add(target: str, files: Files, config: MkDocsConfig) -> list[str]:
    """Add a file of the repository; return the files that it links to."""
    path = _ROOT / target
    uri = _site_uri(target, config)
    if path.suffix in _COPIED:
        files.append(File.generated(config, uri, abs_src_path=str(path)))
        return []
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".md":
        front = "search:\n  exclude: true\n" if _LONG.match(target) else "search:\n  boost: 0.5\n"
        # Their tables are as wide as the page.
        front += "hide:\n  - toc\n"
        # Data has a file for each instance; the library's page links them.
        found = [each for each in _targets("", target, text) if not each.endswith(".json")]
    else:
        front, found = "search:\n  exclude: true\nhide:\n  - navigation\n", []
        fence = f"````{_LANGUAGES.get(path.suffix, 'text')}\n"
        text = f"# {path.name}\n\n`{target}`\n\n{fence}{text[:_LONGEST]}\n````\n"
    files.append(File.generated(config, uri, content=f"---\n{front}---\n\n{text}"))
    return found


def _site_uri(target: str, config: MkDocsConfig) -> str:
    """Return the place of a file of the repository in the site: a page, or a copy."""
    results = _results(config)
    places: Mapping[str, str] = results.places if results else {}
    if target in places:
        return places[target]
    below = target.removeprefix("docs/")
    if _is_of_docs(target) or (results and below in results.files):
        return below
    plain = target.endswith((".md", *_COPIED))
    return f"{_SHELF}/{target}" if plain else f"{_SHELF}/{target}.md"


def _relinked(markdown: str, target: str, here: str, files: Files, config: MkDocsConfig) -> str:
    """Rewrite the links of a file of the repository into links between files of the site.

    ``here`` is the folder of its page in the site.  Outside docs a link to a file that the site
    lacks becomes its words; within docs MkDocs complains of it.
    """
    folder = posixpath.dirname(target)

    def rewrite(link: re.Match[str]) -> str:
        mark, words, address, anchor = link[1], link[2], link[3], link[4] or ""
        if "://" in address or address.startswith("mailto:"):
            return link[0]
        uri = _site_uri(posixpath.normpath(posixpath.join(folder, address)), config)
        if uri not in files.src_uris and not target.startswith("docs/"):
            return words
        return f"{mark}[{words}]({posixpath.relpath(uri, here or '.')}{anchor})"

    parts = _FENCE.split(markdown)
    return "".join(
        part if number % 2 else _LINK.sub(rewrite, part) for number, part in enumerate(parts)
    )


def _chart(source: str) -> str:
    """Return a chart, whose stations follow one another, as numbered steps framed by process."""
    parts, framed, steps = ['<div class="chart">'], False, 0
    for line in source.splitlines():
        frame = re.search(r'subgraph \w+ \["(.*)"\]', line)
        if frame:
            parts += [f"<section><h4>{html.escape(frame[1])}</h4>", f'<ol start="{steps + 1}">']
            framed = True
        elif line.strip() == "end":
            parts.append("</ol></section>")
            framed = False
        for name, words in re.findall(r'\["([\w.]+)<br/>(.*?)"\]', line):
            if not framed and not steps:
                parts.append("<section><ol>")
            steps += 1
            parts.append(f"<li><code>{name}</code><br>{html.escape(words)}</li>")
    if parts[1] == "<section><ol>":
        parts.append("</ol></section>")
    return "\n".join([*parts, "</div>"])
