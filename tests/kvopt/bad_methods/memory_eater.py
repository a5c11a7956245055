"""Never has enough memory."""

import time
from typing import Any


def solve(instance: Any) -> Any:
    """Take 20 MB after another, with a breath between, until somebody stops it."""
    del instance
    taken = []
    while True:
        taken.append(bytearray(b"x" * 20_000_000))
        time.sleep(0.02)
