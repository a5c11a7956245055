"""Solve one instance with one method: an exact engine or a policy; see --help."""

import sys
import time

from runs.kernel import process_age
from runs.watchdog import Watchdog, under_watch

# Importing is part of the time limit.
STARTED = time.monotonic() - process_age()


def _solve(watchdog: Watchdog) -> int:
    from runs.solve_command import main  # loads what the watcher does not need

    return main(sys.argv[1:], watchdog, STARTED)


if __name__ == "__main__":
    sys.exit(under_watch(_solve))
