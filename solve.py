"""Solve one instance with one method: an exact engine or a policy; see --help."""

import sys
import time

from kvopt.commands.interrupts import interrupt_once
from kvopt.commands.watchdog import Watchdog, under_watch
from kvopt.running.kernel import occupy_streams, process_age

# Importing is part of the time limit.
STARTED = time.monotonic() - process_age()


def _solve(watchdog: Watchdog) -> int:
    interrupt_once()
    try:
        from kvopt.commands.solve import main  # loads what the watcher does not need
    except KeyboardInterrupt:
        print("solve.py: interrupted before there was a schedule", file=sys.stderr)
        return 4
    return main(sys.argv[1:], watchdog, STARTED)


if __name__ == "__main__":
    occupy_streams()
    sys.exit(under_watch(_solve))
