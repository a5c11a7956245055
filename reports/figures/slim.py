"""SVG in fewer bytes, the same to look at: styles once, hundredths of a point, no empty groups."""

from __future__ import annotations

import re
from xml.etree import ElementTree

_SVG = "http://www.w3.org/2000/svg"
_XLINK = "http://www.w3.org/1999/xlink"
#: What stands in for a font that the reader lacks; Verdana's letters are as wide.
_FONTS = ("'DejaVu Sans'", "'DejaVu Sans', Verdana, sans-serif")
_NUMBERS = ("d", "x", "y", "width", "height", "transform", "points", "x1", "x2", "y1", "y2")
_LONG = re.compile(r"-?\d+\.\d{3,}")
_AROUND = re.compile(r"\s*([MLCQzZ])\s*")
#: Scales of glyphs and of images, where every digit counts.
_EXACT = ("scale", "matrix")


def slimmed(svg: str) -> str:
    """Return an SVG drawing as another one that looks the same.

    Parameters
    ----------
    svg
        What matplotlib has written, letters as text.
    """
    ElementTree.register_namespace("", _SVG)
    ElementTree.register_namespace("xlink", _XLINK)
    root = ElementTree.fromstring(svg)
    used = _referred(root)
    classes: dict[str, str] = {}
    for element in root.iter():
        if element.get("id") not in used:
            element.attrib.pop("id", None)
        _shorten(element)
        # The root's size is what pages read.
        if element is not root and (style := element.attrib.pop("style", "")):
            element.set("class", classes.setdefault(style, f"s{len(classes)}"))
    _unwrap(root)
    sheet = ElementTree.Element(f"{{{_SVG}}}style")
    rules = [f".{name}{{{style}}}" for style, name in classes.items()]
    sheet.text = "".join(rules).replace(*_FONTS)
    root.insert(0, sheet)
    return ElementTree.tostring(root, encoding="unicode") + "\n"


def _referred(root: ElementTree.Element) -> set[str | None]:
    """Return the ids that something in the drawing refers to."""
    values = (value for element in root.iter() for value in element.attrib.values())
    return {name for value in values for name in re.findall(r"#([\w.-]+)", value)}


def _shorten(element: ElementTree.Element) -> None:
    """Round the numbers of one element and leave out what does nothing."""
    for name in _NUMBERS:
        value = element.get(name)
        if value is None or any(word in value for word in _EXACT):
            continue
        value = _LONG.sub(lambda found: f"{float(found[0]):.2f}".rstrip("0").rstrip("."), value)
        element.set(name, " ".join(_AROUND.sub(r"\1", value).split()) if name == "d" else value)
    if (element.get("transform") or "").startswith(("rotate(0 ", "rotate(-0 ")):
        del element.attrib["transform"]
    # White space between elements; that of a text is its own.
    if not (element.text or "").strip():
        element.text = None
    if not (element.tail or "").strip():
        element.tail = None


def _unwrap(element: ElementTree.Element) -> None:
    """Put the children of groups that say nothing in the place of the group."""
    children: list[ElementTree.Element] = []
    for child in list(element):
        _unwrap(child)
        plain = child.tag == f"{{{_SVG}}}g" and not child.attrib
        children += list(child) if plain else [child]
    element[:] = children


def size_of(svg: str) -> tuple[int, int]:
    """Return width and height of a picture in CSS pixels, of which a point has 4/3."""
    found = re.search(r'width="([\d.]+)pt" height="([\d.]+)pt"', svg)
    if found is None:
        return 800, 400
    width, height = found.groups()
    return round(float(width) * 4 / 3), round(float(height) * 4 / 3)
