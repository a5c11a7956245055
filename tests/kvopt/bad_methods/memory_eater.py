"""Never has enough memory."""

import time
from typing import Any


def solve(instance: Any) -> Any:
    del instance
    taken = []
    while True:
        taken.append(bytearray(b"x" * 20_000_000))
        time.sleep(0.02)
