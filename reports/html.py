"""The pages in HTML: everything is escaped, and a policy in the page forbids foreign scripts."""

from __future__ import annotations

import base64
import gzip
import hashlib
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any
from urllib.parse import quote

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup, escape

from reports.figures.slim import size_of
from reports.pages.instance import InstancePage
from reports.parts import Figure, Links, Report
from reports.table import Table
from support.text import glued

#: Lines of one table in a page.
MOST_LINES = 500
#: What needs no escape in the address of a picture.
_PLAIN = " =:;,/()'.-_*!?$&@{}[]|+~"

_TEMPLATES = Path(__file__).parent / "templates"


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=FileSystemLoader(_TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=False,
        finalize=_glued,
        auto_reload=False,
    )
    environment.policies["json.dumps_kwargs"] = {"separators": (",", ":"), "ensure_ascii": False}
    return environment


def _glued(value: Any) -> Any:
    """Keep a number on one line with its unit, but for what is no text."""
    return glued(value) if isinstance(value, str) and not isinstance(value, Markup) else value


def index_page(report: Report) -> str:
    """Return the one page: no file or address outside of it is needed to read it."""
    script = Markup(_own("spots.js") + _own("page.js"))
    parts = [_part(part, report.shelf) for part in report.parts]
    return (
        _environment()
        .get_template("index.html.j2")
        .render(
            title=report.title,
            summary=report.summary,
            origin=report.origin.marked if report.origin else [],
            verdict=[sentence.marked for sentence in report.verdict],
            words=report.words,
            contradictions=[str(each) for each in report.contradictions],
            contents=[part.get("figure") or part.get("table") for part in parts],
            parts=parts,
            most=MOST_LINES,
            shelf=report.shelf,
            above=report.above,
            lead=report.lead,
            css=Markup(_own("page.css")),
            library_css=Markup(_bundle("dt_bundle.css").decode()),
            library=Markup(_packed(_bundle("dt_bundle.js"))),
            script=script,
            script_hash=Markup(_hash(script)),
        )
    )


def instance_page(page: InstancePage, above: Links = (("All results", "../index.html"),)) -> str:
    """Return the page of one instance; only its picture is a file next to it.

    ``above`` are the pages that its bar links, as in :class:`reports.parts.Report`.
    """
    return (
        _environment()
        .get_template("instance.html.j2")
        .render(page=page, above=above, most=MOST_LINES, css=Markup(_own("page.css")))
    )


def _part(part: Table | Figure, shelf: str) -> dict[str, Any]:
    if isinstance(part, Table):
        return {"table": part, "figure": None}
    width, height = size_of(part.svg)
    return {
        "figure": part,
        "table": None,
        # What may stand in a data address and in an attribute; a third less than in base 64.
        "uri": escape(f"data:image/svg+xml,{quote(part.svg, safe=_PLAIN)}"),
        "spots": _spots(part, shelf),
        "width": width,
        "height": height,
    }


def _spots(figure: Figure, shelf: str) -> dict[str, Any] | None:
    """Return what the script tells of a figure, every text once; None for nothing to tell.

    ``at`` has six numbers a spot: x and y in thousandths of the picture's size, and the places in
    ``texts`` of method, where, value and what is opened; ``links`` has the pages of the latter.
    """
    if not figure.drawing.spots:
        return None
    texts: dict[str, int] = {}
    links: dict[int, str] = {}
    at: list[float] = []
    for spot in figure.drawing.spots:
        caption = spot.caption
        opened = f"{caption.opens} {caption.instance}".strip()
        lines = [
            texts.setdefault(x, len(texts)) for x in (caption.method, caption.where, caption.value)
        ]
        lines.append(texts.setdefault(opened, len(texts)))
        at += [round(1000 * spot.x, 1), round(1000 * spot.y, 1), *lines]
        if caption.id in figure.links:
            links[lines[-1]] = f"{shelf}{figure.links[caption.id]}.html"
    reach = [round(each, 1) for each in figure.drawing.reach]
    return {"texts": [glued(text) for text in texts], "links": links, "reach": reach, "at": at}


@cache
def _own(name: str) -> str:
    return (_TEMPLATES / name).read_text(encoding="utf-8")


@cache
def _bundle(name: str) -> bytes:
    return files("itables").joinpath("html", name).read_bytes()


def _packed(script: bytes) -> str:
    """Return a script as the page unpacks it."""
    return base64.b64encode(gzip.compress(script, 9, mtime=0)).decode()


def _hash(script: str) -> str:
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    return f"sha256-{digest}"
