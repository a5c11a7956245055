"""Names as people type them: found whatever their case and hyphens, or the nearest ones told."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

#: Least similarity of two names; swapped letters in a name of three have 0.67.
ALIKE = 0.55
_MOST = 3


def find(name: str, known: Iterable[str]) -> str | None:
    """Return the known name that is meant: exactly, or but for case and ``_`` for ``-``."""
    names = list(known)
    if name in names:
        return name
    alike = [each for each in names if _folded(each) == _folded(name)]
    return alike[0] if len(alike) == 1 else None


def did_you_mean(name: str, known: Iterable[str], alike: float = ALIKE) -> str:
    """Return ``, did you mean 'svf'?`` with up to three near names; empty if none is near.

    Parameters
    ----------
    alike
        Least similarity of near names, 0 to 1.
    """
    spelled = {_folded(each): each for each in known}
    near = difflib.get_close_matches(_folded(name), spelled, _MOST, alike)
    told = " or ".join(repr(spelled[each]) for each in near)
    return f", did you mean {told}?" if near else ""


def unknown(what: str, name: str, known: Iterable[str]) -> str:
    """Return one line on a name that there is not: the nearest ones, or else all there are."""
    names = list(known)
    near = did_you_mean(name, names) or f", expected one of {', '.join(names)}"
    return f"unknown {what} {name!r}{near}"


def _folded(name: str) -> str:
    return name.casefold().replace("_", "-")
