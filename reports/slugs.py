"""File names from names that may hold anything: safe on every system, different for each."""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Sequence

_LONGEST = 60
#: What a file name is made of without change; no dot, so no ``..`` and no second suffix.
_PLAIN = re.compile(r"[a-z0-9][a-z0-9_-]{0,59}")
#: Names of devices on some systems, whatever the suffix.
_RESERVED = re.compile(r"con|prn|aux|nul|com\d|lpt\d|index|readme")


def slugs(names: Sequence[tuple[str, str]]) -> list[str]:
    """Return one file name (without suffix) for each pair of name and identity.

    A plain name stays as it is.  Every other one, and every one that two identities share, gets a
    part of the hash of both, so that no two pairs share a file, nor do they where case is ignored.

    Parameters
    ----------
    names
        Pairs (name, identity), each pair once.
    """
    shared = Counter(name for name, _ in names)
    return [_slug(name, identity, alone=shared[name] == 1) for name, identity in names]


def _slug(name: str, identity: str, *, alone: bool) -> str:
    if alone and _PLAIN.fullmatch(name) and not _RESERVED.fullmatch(name):
        return name
    stem = re.sub(r"[^a-z0-9_]+", "-", name.lower())[:_LONGEST].strip("-_") or "instance"
    mark = hashlib.sha256(f"{name}\0{identity}".encode("utf-8", "replace")).hexdigest()[:12]
    # Two hyphens: a plain name that looks like this one would need the same hash.
    return f"{stem}--{mark}"
