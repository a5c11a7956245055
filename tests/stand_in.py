"""What stands in for the process of a run: Python that the environment holds."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator

#: The variable of the environment.
PLAYED = "KVOPT_TEST_PLAYED"


def play(lines: Iterator[str], channel: socket.socket) -> None:
    """Run it; it has the lines that come, and ``send`` for a line of its own."""

    def send(line: str, end: str = "\n") -> None:
        channel.sendall(f"{line}{end}".encode())

    exec(os.environ[PLAYED], {"lines": lines, "send": send})
