"""Takes passwords out of text that is stored or shown."""

from __future__ import annotations

import re

#: ``://user:password@``, up to the last @, since a password may hold one that nobody escaped.
_IN_USER_INFO = re.compile(r"(://[^:/?#@\s]*):\S*@")
_IN_QUERY = re.compile(r"([?&](?:ssl)?password=)[^&\s]*", re.IGNORECASE)


def mask_passwords(text: str) -> str:
    """Return a text with every password inside a URL replaced by ``***``."""
    return _IN_QUERY.sub(r"\1***", _IN_USER_INFO.sub(r"\1:***@", text))
