"""What the site does beside MkDocs: links to the sources, and the charts, without a network.

A page links to files of the repository as one that is read there does (``../kvopt/api.py``).  In
the site each such file becomes a page of its own, or is copied if it is a picture.  A chart in
Mermaid, which would load a library from elsewhere, becomes nested lists.
"""

from __future__ import annotations

import html
import posixpath
import re
from pathlib import Path
from typing import TYPE_CHECKING

from mkdocs.structure.files import File

if TYPE_CHECKING:
    from mkdocs.config.defaults import MkDocsConfig
    from mkdocs.structure.files import Files
    from mkdocs.structure.pages import Page

_ROOT = Path(__file__).resolve().parents[1]
#: Where the pages of the repository's files lie in the site.
_SHELF = "source"
_LINK = re.compile(r"(!?)\[([^\]]*)\]\(([^)\s#]+)(#[^)\s]*)?\)")
_FENCE = re.compile(r"(^```.*?^```$)", re.MULTILINE | re.DOTALL)
_CHART = re.compile(r"^```mermaid\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_LANGUAGES = {".py": "python", ".toml": "toml", ".json": "json", ".bib": "bibtex", ".yml": "yaml"}
_PICTURES = {".png", ".svg"}
#: Longest file that is shown whole, bytes.
_LONGEST = 200_000


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add a page or a copy for each file of the repository that a page links to."""
    for page in list(files.documentation_pages()):
        for target in _outside(Path(page.src_uri), page.content_string):
            _add(target, files, config)
    return files


def on_page_markdown(markdown: str, *, page: Page, files: Files, **_: object) -> str:
    """Point links to the repository's files at their pages, and write charts as lists."""
    if page.file.src_uri.startswith(f"{_SHELF}/"):
        return markdown
    here = posixpath.dirname(page.file.src_uri)
    charted = _CHART.sub(lambda found: _chart(found[1]), markdown)
    return _relinked(charted, "docs", here, files)


def _outside(page: Path, markdown: str) -> set[str]:
    """Return the files of the repository, outside docs, to which a page's links lead."""
    found = set()
    for part in _FENCE.split(markdown)[::2]:
        for link in _LINK.finditer(part):
            if "://" not in link[3]:
                target = posixpath.normpath(posixpath.join("docs", page.parent.as_posix(), link[3]))
                if (_ROOT / target).is_file() and not target.startswith("docs/"):
                    found.add(target)
    return found


def _add(target: str, files: Files, config: MkDocsConfig) -> None:
    path = _ROOT / target
    uri = _site_uri(target)
    if uri in files.src_uris:
        return
    if path.suffix in _PICTURES:
        files.append(File.generated(config, uri, abs_src_path=str(path)))
        return
    text = path.read_text(encoding="utf-8")[:_LONGEST]
    if path.suffix == ".md":
        here = posixpath.dirname(uri)
        for picture in _LINK.finditer(text):
            shown = posixpath.normpath(posixpath.join(posixpath.dirname(target), picture[3]))
            if picture[1] and (_ROOT / shown).is_file():
                _add(shown, files, config)
        body = _relinked(text, posixpath.dirname(target), here, files, known_only=True)
    else:
        fence = f"````{_LANGUAGES.get(path.suffix, 'text')}\n"
        body = f"# {path.name}\n\n`{target}`\n\n{fence}{text}\n````\n"
    front = "---\nsearch:\n  exclude: true\nhide:\n  - navigation\n---\n\n"
    files.append(File.generated(config, uri, content=front + body))


def _site_uri(target: str) -> str:
    """Return where a file of the repository lies in the site: a page, or a copy of a picture."""
    below = target.removeprefix("docs/")
    if Path(target).suffix in _PICTURES:
        return below if below != target else f"{_SHELF}/{target}"
    if below != target and target.endswith(".md"):
        return below
    return f"{_SHELF}/{target}" if target.endswith(".md") else f"{_SHELF}/{target}.md"


def _relinked(
    markdown: str, folder: str, here: str, files: Files, *, known_only: bool = False
) -> str:
    """Rewrite links relative to a folder of the repository into links between files of the site.

    ``here`` is the folder of the page in the site.  With ``known_only`` a link to what the site
    does not hold becomes its words.
    """

    def rewrite(link: re.Match[str]) -> str:
        mark, words, target, anchor = link[1], link[2], link[3], link[4] or ""
        if "://" in target:
            return link[0]
        base = posixpath.join(folder, here) if folder == "docs" else folder
        uri = _site_uri(posixpath.normpath(posixpath.join(base, target)))
        if known_only and uri not in files.src_uris:
            return words
        return f"{mark}[{words}]({posixpath.relpath(uri, here or '.')}{anchor})"

    parts = _FENCE.split(markdown)
    return "".join(
        part if number % 2 else _LINK.sub(rewrite, part) for number, part in enumerate(parts)
    )


def _chart(source: str) -> str:
    """Return a chart, whose stations follow one another, as numbered steps framed by process."""
    parts = ['<div class="chart">']
    framed, steps = False, 0
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
