"""The pages of the documentation, taken apart: blocks with their markers, links, headings."""

import ast
import re
import textwrap
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from markdown_it import MarkdownIt

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
_BLOCK = re.compile(
    r"(?:^ *<!-- (?P<marker>[^>]*?) -->\n)?"
    r"^(?P<indent> *)```(?P<language>\w*)\n(?P<text>.*?)^(?P=indent)```$",
    re.MULTILINE | re.DOTALL,
)
_PAIR = re.compile(r'"([^"]*)"\s+as\s+"([^"]*)"')


@dataclass(frozen=True)
class Block:
    """A fenced block of a page, and what its marker says."""

    page: Path
    line: int
    language: str
    text: str
    elsewhere: str = ""
    changes: tuple[tuple[str, str], ...] = ()
    file: str = ""
    edit: tuple[str, str] | None = None
    name: str = field(default="", compare=False)

    @property
    def is_run(self) -> bool:
        written = self.file or self.edit
        return self.language in ("sh", "python") and not self.elsewhere and not written

    def changed(self) -> str:
        """Return the text as the test runs it, or raise ValueError if a change is of nothing."""
        text = self.text
        for old, new in self.changes:
            if old not in text:
                raise ValueError(f"{self.name}: the marker changes {old!r}, which is not there")
            text = text.replace(old, new)
        return text


def shown(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


def blocks(page: Path) -> list[Block]:
    return read_blocks(page, page.read_text(encoding="utf-8"))


def read_blocks(page: Path, text: str) -> list[Block]:
    """Return the fenced blocks of a text, or raise ValueError of a marker that there is not."""
    found = []
    for match in _BLOCK.finditer(text):
        line = text.count("\n", 0, match.start("language")) + 1
        inner = textwrap.dedent(match["text"])
        name = f"{page.name}:{line}"
        told = _marker(" ".join((match["marker"] or "").split()), name)
        found.append(Block(page, line, match["language"], inner, name=name, **told))
    return found


def _marker(marker: str, name: str) -> dict[str, Any]:
    if not marker:
        return {}
    kind, _, rest = marker.partition(": ")
    if kind == "file":
        return {"file": rest}
    edit = re.fullmatch(r'(\S+), after "(.*)"', rest)
    if kind == "edit" and edit:
        return {"edit": (edit[1], edit[2])}
    if kind == "test" and rest.startswith("elsewhere, "):
        return {"elsewhere": rest.removeprefix("elsewhere, ")}
    if kind == "test" and _PAIR.findall(rest) and not _PAIR.sub("", rest).strip():
        return {"changes": tuple(_PAIR.findall(rest))}
    raise ValueError(f"{name}: no marker that CONTRIBUTING.md explains: {marker!r}")


def links(page: Path) -> list[str]:
    tokens = MarkdownIt("commonmark").enable("table").parse(page.read_text(encoding="utf-8"))
    inline = [child for token in tokens for child in token.children or ()]
    targets = [child.attrGet("href") or child.attrGet("src") for child in inline]
    return [str(target) for target in targets if target]


def code_spans(page: Path) -> list[str]:
    tokens = MarkdownIt("commonmark").enable("table").parse(page.read_text(encoding="utf-8"))
    inline = [child for token in tokens for child in token.children or ()]
    return [child.content for child in inline if child.type == "code_inline"]


def is_test(named: str) -> bool:
    """Tell whether a file has the test that ``FILE::TEST`` names; a file alone is read."""
    file, _, name = named.partition("::")
    tree = ast.parse((ROOT / file).read_text(encoding="utf-8"))
    return not name or name in {n.name for n in tree.body if isinstance(n, ast.FunctionDef)}


def anchors(page: Path) -> set[str]:
    """Return the anchors of a page's headings, as GitHub and MkDocs make them."""
    tokens = MarkdownIt("commonmark").parse(page.read_text(encoding="utf-8"))
    titles = [
        tokens[at + 1].content for at, token in enumerate(tokens) if token.type == "heading_open"
    ]
    return {
        re.sub(r"[\s-]+", "-", re.sub(r"[^\w\s-]", "", title).strip().lower()) for title in titles
    }
