"""Every link of a folder of pages, followed: files and anchors."""

import re
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote

_AWAY = re.compile(r"[a-z]+:|//")


class _Page(HTMLParser):
    def __init__(self, text: str) -> None:
        super().__init__()
        self.links: list[str] = []
        self.ids: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Take what leads somewhere, and what can be led to."""
        del tag
        for name, value in attrs:
            if value and name in ("href", "src"):
                self.links.append(value)
            elif value and name == "id":
                self.ids.add(value)


def broken(folder: Path) -> list[str]:
    """Return each link within a folder of pages that leads to no file or anchor, with its page."""
    root = folder.resolve()
    pages = {path: _Page(path.read_text(encoding="utf-8")) for path in root.rglob("*.html")}
    found = []
    for path, page in pages.items():
        for link in dict.fromkeys(page.links):
            if _AWAY.match(link):
                continue
            address, _, anchor = link.partition("#")
            target = (path.parent / unquote(address.partition("?")[0])).resolve()
            target = target if address else path
            ids = pages[target].ids if target in pages else {unquote(anchor)}
            if not target.is_file() or (anchor and unquote(anchor) not in ids):
                found.append(f"{path.relative_to(root)}: {link}")
    return found
