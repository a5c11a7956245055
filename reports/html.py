"""The pages in HTML: everything is escaped, and a policy in the page forbids foreign scripts."""

import base64
import gzip
import hashlib
from functools import cache
from importlib.resources import files
from typing import Any
from urllib.parse import quote

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup, escape

from reports.figures.figure_parts import size_of
from reports.markdown import TEMPLATES
from reports.page_parts import Links, ReportPage
from reports.pages.instance_page import InstancePage
from support.message_text import glue_units

#: Lines of one table in a page.
MOST_LINES = 500
#: Characters without an escape in the address of a picture.
_PLAIN = " =:;,/()'.-_*!?$&@{}[]|+~"


@cache
def _environment() -> Environment:
    look: dict[str, Any] = {"autoescape": True, "undefined": StrictUndefined, "finalize": _glued}
    made = Environment(loader=FileSystemLoader(TEMPLATES), auto_reload=False, **look)
    made.globals["size_of"] = size_of
    return made


def _glued(value: Any) -> Any:
    """Keep a number on one line with its unit."""
    return glue_units(value) if isinstance(value, str) and not isinstance(value, Markup) else value


def index_page(page: ReportPage) -> str:
    """Return the one page, which needs no other file or address."""
    script = _own("page.js")
    bundle = gzip.compress(_bundle("dt_bundle.js"), 9, mtime=0)
    template = _environment().get_template("index.html.j2")
    return template.render(
        page=page,
        parts=[(type(part).__name__, part) for part in page.parts],
        contents=list(page.shown),
        address=_address,
        most=MOST_LINES,
        css=_own("page.css"),
        library_css=Markup(_bundle("dt_bundle.css").decode()),
        library=Markup(base64.b64encode(bundle).decode()),
        script=script,
        script_hash=base64.b64encode(hashlib.sha256(script.encode()).digest()).decode(),
    )


def instance_page(page: InstancePage, above: Links = (("All results", "../index.html"),)) -> str:
    """Return the page of one instance, whose bar links ``above``; its pictures lie next to it."""
    template = _environment().get_template("instance.html.j2")
    return template.render(page=page, above=above, most=MOST_LINES, css=_own("page.css"))


def _address(svg: str) -> Markup:
    """Return a picture as an address, a third shorter than in base 64."""
    return escape(f"data:image/svg+xml,{quote(svg, safe=_PLAIN)}")


def _own(name: str) -> Markup:
    return Markup((TEMPLATES / name).read_text(encoding="utf-8"))


@cache
def _bundle(name: str) -> bytes:
    return files("itables").joinpath("html", name).read_bytes()
