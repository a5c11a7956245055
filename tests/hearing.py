"""A process that sends back, as a schedule found, what it is told beside its task."""

from __future__ import annotations

import sys
import time

from kvopt.runs.beside import BESIDE
from kvopt.runs.events import Report, event_line


def main() -> None:
    """Read a task and no methods, wait to be told of a schedule, and end."""
    report = Report(lambda event: print(event_line(event), end="", flush=True))
    assert sys.stdin.readline()
    assert sys.stdin.readline() == "[]\n"
    BESIDE.listen(sys.stdin)
    report.ready()
    while BESIDE.starts is None:
        time.sleep(0.01)
    report.schedule(BESIDE.starts)


if __name__ == "__main__":
    main()
