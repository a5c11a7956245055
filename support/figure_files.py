"""Figures as files, in a style that no setting of the user changes."""

import io
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import matplotlib
from matplotlib.figure import Figure

#: Dates, versions and names of programs that matplotlib would write into a file, by its kind.
_LEFT_OUT = {
    "svg": ("Date", "Creator", "Format", "Type"),
    "png": ("Software",),
    "pdf": ("CreationDate", "Creator", "Producer"),
}
_STYLE: dict[str, Any] = {
    "text.parse_math": False,  # Names may hold dollar signs.
    "svg.hashsalt": "kvopt",  # The same figure gives the same SVG file.
    "pdf.fonttype": 42,  # TrueType: conferences refuse Type 3.
    "font.family": "DejaVu Sans",  # Comes with matplotlib, so it is the same everywhere.
}


@contextmanager
def own_style(style: Mapping[str, Any]) -> Iterator[None]:
    """Draw from matplotlib's defaults and a style; no matplotlibrc of the user counts."""
    # A backend that is set within stays set.
    defaults = {name: v for name, v in matplotlib.rcParamsDefault.items() if name != "backend"}
    with matplotlib.rc_context(defaults | dict(style) | _STYLE), warnings.catch_warnings():
        # A letter that the font lacks becomes a box.
        warnings.filterwarnings("ignore", message="Glyph .* missing from")
        yield


def image(figure: Figure, kind: str, dpi: float | None = None) -> bytes:
    """Return a figure as ``svg``, ``png`` or ``pdf``; equal figures give equal bytes."""
    stream = io.BytesIO()
    metadata = dict.fromkeys(_LEFT_OUT[kind])
    figure.savefig(stream, format=kind, dpi=dpi or "figure", metadata=metadata)
    return stream.getvalue()
