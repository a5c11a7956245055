"""Solve one instance with one method: an exact engine or a policy; see --help."""

import sys
import time

from runs.interrupts import interrupt_once
from runs.kernel import occupy_streams, process_age
from runs.watchdog import Watchdog, under_watch

# Importing is part of the time limit.
STARTED = time.monotonic() - process_age()


def _solve(watchdog: Watchdog) -> int:
    interrupt_once()
    try:
        from runs.solve_command import main  # loads what the watcher does not need
    except KeyboardInterrupt:
        print("solve.py: interrupted before there was a schedule", file=sys.stderr)
        return 4
    return main(sys.argv[1:], watchdog, STARTED)


if __name__ == "__main__":
    occupy_streams()
    sys.exit(under_watch(_solve))
