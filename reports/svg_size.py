"""How large an SVG picture is on a page."""

from __future__ import annotations

import re


def size_of(svg: str) -> tuple[int, int]:
    """Return width and height of a picture in CSS pixels, of which a point has 4/3."""
    found = re.search(r'width="([\d.]+)pt" height="([\d.]+)pt"', svg)
    if found is None:
        return 800, 400
    width, height = found.groups()
    return round(float(width) * 4 / 3), round(float(height) * 4 / 3)
