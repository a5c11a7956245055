"""Families whose instances were made or chosen against policies, recognised by their names."""

from __future__ import annotations

import re

#: Late bursts answer a policy's first move.
_ADVERSARIAL = re.compile(r".*trap.*|late-burst|worst-.*|example-3-1", re.IGNORECASE)


def is_adversarial(family: str) -> bool:
    """Whether instances of the family were made or chosen to show a policy's weakness."""
    return _ADVERSARIAL.fullmatch(family) is not None
