"""Replace the process of a run by Python code from the environment."""

import json
import os
import socket
import sys
from collections.abc import Iterator

#: The variable of the environment.
PLAYED = "KVOPT_TEST_PLAYED"


def play(lines: Iterator[str], channel: socket.socket) -> None:
    """Run it; it has the lines that come, and ``send`` for a line of its own."""

    def send(line: str, end: str = "\n") -> None:
        channel.sendall(f"{line}{end}".encode())

    exec(os.environ[PLAYED], {"lines": lines, "send": send})


def execute(lines: Iterator[str], _: socket.socket) -> None:
    """Run the Python of a line with its arguments; what it prints is written to a file."""
    told = json.loads(next(lines))
    sys.argv[1:] = told["arguments"]
    with open(told["printed"], "w") as sys.stdout:
        exec(told["code"], {"__name__": "__main__"})
