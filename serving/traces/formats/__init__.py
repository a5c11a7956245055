"""Readers of traces, one file each, named after its format.

The docstring's first line is the summary, ``READER`` a
:class:`serving.traces.format_reader.FormatReader`.
"""

import sys
from dataclasses import dataclass
from functools import cache
from operator import itemgetter

from serving.traces.format_reader import FormatReader
from support.module_objects import find_module_objects


@dataclass(frozen=True)
class Format:
    """A format: its name with hyphens, one line about it, and its reader."""

    name: str
    summary: str
    reader: FormatReader


@cache
def formats() -> dict[str, Format]:
    """Return all formats by name, sorted."""
    found = find_module_objects(sys.modules[__name__], "READER", FormatReader)
    return {each[0]: Format(*each) for each in sorted(found, key=itemgetter(0))}
